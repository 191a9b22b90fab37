"""
The backends and the reranking model that the contract suites run against.

With `QDRANT_URL` set, the Qdrant server there stands for the one of `tests/qdrant_server`. Its
collections named `ctx__…` are deleted.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

import pytest
from qdrant_client import grpc as wire

from adapters.collection_settings import CollectionSettings
from adapters.cross_encoder import CrossEncoderReranker
from adapters.edge_index import EdgeIndex
from adapters.edge_store import EdgeStore
from adapters.qdrant_connection import QdrantServer
from adapters.qdrant_index import QdrantIndex
from adapters.qdrant_search import SearchSettings
from adapters.qdrant_store import QdrantStore
from adapters.store import IndexStore
from assembler.ports import ChunkIndex, IndexCatalog
from server.qdrant_backend import qdrant_server
from server.settings import Settings
from tests.contract.hand_clock import HandClock
from tests.fake_index import FakeIndex
from tests.qdrant_server.process import ServerProcess
from tests.qdrant_server.server import TestServer
from tests.tiny_model import tiny_cross_encoder

KINDS = ("fake", "edge", "qdrant")
URL = os.environ.get("QDRANT_URL")

EmptyQdrant: TypeAlias = Callable[[], QdrantServer]
"""Removes every index of a Qdrant server, and returns its address."""


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


@pytest.fixture(scope="session")
def qdrant() -> Iterator[EmptyQdrant]:
    if URL is not None:
        place = qdrant_server(Settings(qdrant_url=URL))
        yield lambda: _emptied(place)
        return
    with ServerProcess() as process:
        yield lambda: _emptied(QdrantServer("127.0.0.1", grpc_port=process.port))


def _emptied(place: QdrantServer) -> QdrantServer:
    client = place.writer()
    collections = client.grpc_collections
    for entry in collections.List(wire.ListCollectionsRequest()).collections:
        if entry.name.startswith("ctx__"):
            collections.Delete(wire.DeleteCollection(collection_name=entry.name))
    client.close()
    return place


@asynccontextmanager
async def opened(
    kind: str,
    folder: Path,
    qdrant: EmptyQdrant | None = None,
    *,
    collections: CollectionSettings = CollectionSettings(),  # noqa: B008 - frozen
    search: SearchSettings = SearchSettings(),  # noqa: B008 - frozen
) -> AsyncIterator[Backend]:
    """
    Run one backend, empty, with exact searches.

    Args:
        kind: Which one.
        folder: Where the embedded engine keeps its files.
        qdrant: Gives the server of the session; None starts one in this process.
        collections: How the server's collections are made.
        search: How they are read.
    """
    if kind == "fake":
        fake = FakeIndex()
        yield Backend(kind, fake, fake)
    elif kind == "edge":
        index = EdgeIndex(folder, is_exact=True, poll_seconds=0.0)
        yield Backend(kind, EdgeStore(folder), index)
        await index.close()
    elif qdrant is None:
        with TestServer() as server:
            place = QdrantServer("127.0.0.1", grpc_port=server.port)
            async with opened(
                kind, folder, lambda: place, collections=collections, search=search
            ) as running:
                yield running
    else:
        place = qdrant()
        store = QdrantStore(place, settings=collections, settle_seconds=0.0)
        reader = QdrantIndex(place, is_exact=True, settings=search, head_seconds=0.0)
        yield Backend(kind, store, reader)
        await reader.close()
        store.close()


@pytest.fixture(params=KINDS)
async def backend(
    request: pytest.FixtureRequest, tmp_path: Path, qdrant: EmptyQdrant
) -> AsyncIterator[Backend]:
    async with opened(request.param, tmp_path, qdrant) as running:
        yield running


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def edge_index(tmp_path: Path, clock: HandClock) -> AsyncIterator[EdgeIndex]:
    made = EdgeIndex(tmp_path, clock=clock)
    yield made
    await made.close()


@pytest.fixture
def server() -> Iterator[TestServer]:
    with TestServer() as running:
        yield running


@pytest.fixture(scope="module")
def cross_encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    Return the folder of a random model.
    """
    return tiny_cross_encoder(tmp_path_factory.mktemp("cross-encoder"), labels=1)


@pytest.fixture(scope="module")
def cross_encoder(cross_encoder_folder: Path) -> CrossEncoderReranker:
    return CrossEncoderReranker(str(cross_encoder_folder))
