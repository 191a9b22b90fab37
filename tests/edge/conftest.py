"""
What several modules of these tests share.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from server.settings import Settings
from tests.edge.attached_service import Attached, attached_service


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def attached(
    settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Attached]:
    path = tmp_path_factory.mktemp("attached") / "attached.toml"
    async with attached_service(settings, path) as service:
        yield service
