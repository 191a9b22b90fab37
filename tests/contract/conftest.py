"""
The backends that the contract suites run against.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from adapters.edge_index import EdgeIndex
from adapters.edge_store import EdgeStore
from adapters.qdrant_connection import QdrantServer
from adapters.qdrant_index import QdrantIndex
from adapters.qdrant_store import QdrantStore
from adapters.store import IndexStore
from assembler.ports import ChunkIndex, IndexCatalog
from tests.fakes import FakeIndex
from tests.qdrant_server.server import TestServer

KINDS = ("fake", "edge", "qdrant")


class Reading(IndexCatalog, ChunkIndex, Protocol):
    """
    Both reading ports in one object, as every backend has them.
    """


@dataclass
class Backend:
    """
    One backend: where it is written, and how it is read.
    """

    kind: str
    store: IndexStore
    reading: Reading


@asynccontextmanager
async def opened(kind: str, folder: Path) -> AsyncIterator[Backend]:
    """
    Run one backend, empty.
    """
    if kind == "fake":
        fake = FakeIndex()
        yield Backend(kind, fake, fake)
    elif kind == "edge":
        index = EdgeIndex(folder, is_exact=True, poll_seconds=0.0)
        yield Backend(kind, EdgeStore(folder), index)
        await index.close()
    else:
        with TestServer() as server:
            address = QdrantServer("127.0.0.1", grpc_port=server.port)
            store = QdrantStore(address, settle_seconds=0.0)
            reader = QdrantIndex(address, is_exact=True, head_seconds=0.0)
            yield Backend(kind, store, reader)
            await reader.close()
            store.close()


@pytest.fixture(params=KINDS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async with opened(request.param, tmp_path) as running:
        yield running


@pytest.fixture
def server() -> Iterator[TestServer]:
    with TestServer() as running:
        yield running
