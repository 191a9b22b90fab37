"""
A chat endpoint on loopback, and who asks it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.answers.chat import Chat, Replies
from tests.unit.bench.chat_endpoint import Endpoint


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def chat(endpoint: Endpoint, waits: list[float], tmp_path: Path) -> Iterator[Chat]:
    made = Chat(
        f"{endpoint.url}/v1/",
        api_key="secret",
        replies=Replies(tmp_path / "kept" / "replies.jsonl"),
        sleep=waits.append,
    )
    yield made
    made.close()
