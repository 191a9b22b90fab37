"""
A chat server that gives the first of the answers a test has set.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chat_server import ChatServer, Said, chat_server


@pytest.fixture
def said() -> list[Said]:
    return []


@pytest.fixture
def server(said: list[Said]) -> Iterator[ChatServer]:
    with chat_server(lambda _: said[0]) as running:
        yield running
