"""
A running service moves to what is published or rolled back, while it is asked: no request fails,
and every context and every source text is of one revision.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.embedder import OnnxEmbedder
from adapters.qdrant_store import QdrantStore
from adapters.store import IndexStore
from server.backend import make_store
from server.qdrant_backend import collection_settings, qdrant_server
from server.settings import Settings
from tests.edge.askers import Asked, ask_on, moved
from tests.edge.in_process import running_service
from tests.edge.publishers import PUBLISHES, TENANTS, History, Publisher, UnderWay
from tests.qdrant_server.server import TestServer

ASKERS = 6
WITHDRAWN_VERSIONS = 2 * (1 + 2 + 1 + 2)


@pytest.fixture(params=["edge", "qdrant"])
def place(request: pytest.FixtureRequest, settings: Settings, tmp_path: Path) -> Iterator[Settings]:
    """
    Return settings of a backend of its own.
    """
    if request.param == "edge":
        yield settings.model_copy(update={"data_dir": tmp_path / "data"})
        return
    with TestServer() as server:
        url = f"http://127.0.0.1:{server.port}"
        yield settings.model_copy(update={"qdrant_url": url})


def store_of(place: Settings, under_way: UnderWay) -> IndexStore:
    """
    Return where indexes are written, where what readers may see is left until they are done.
    """
    if place.qdrant_url is None:
        return make_store(place)
    return QdrantStore(
        qdrant_server(place), settings=collection_settings(place), sleep=under_way.outlast
    )


async def test_fifty_publishes_and_rollbacks_of_two_tenants_under_load(
    place: Settings, tmp_path: Path
) -> None:
    history, asked, under_way, ended = History(), Asked(), UnderWay(), threading.Event()
    embedder = OnnxEmbedder(place.model_dir, threads=1)
    publishers = [
        Publisher(tenant, store_of(place, under_way), embedder, tmp_path, history)
        for tenant in TENANTS
    ]
    for publisher in publishers:
        await asyncio.to_thread(publisher.publish)

    async with running_service(place) as running:
        askers = [
            asyncio.create_task(
                ask_on(running, history, asked, random.Random(seed), under_way, ended)
            )
            for seed in range(ASKERS)
        ]
        await asyncio.gather(*(asyncio.to_thread(one.publish_and_roll_back) for one in publishers))
        for tenant in TENANTS:
            await moved(running, history, tenant)
        ended.set()
        await asyncio.gather(*askers)

    assert asked.failed(history) == []
    assert asked.mixed(history) == []
    assert len(history.states) == PUBLISHES + len(TENANTS)
    assert len(history.withdrawn) == WITHDRAWN_VERSIONS
    seen = {(t, v) for ts, c in asked.contexts for t, v in zip(ts, c.index_versions, strict=True)}
    assert len(seen) > PUBLISHES // 2
    assert len(asked.contexts) > 2 * PUBLISHES
    assert len(asked.texts) > 2 * PUBLISHES
