"""
The heads that a pod reads are shown, from every backend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import structlog
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from adapters.qdrant_index import QdrantIndex
from adapters.records import Retention
from adapters.store import IndexListing
from assembler.errors import IndexUnavailable
from server.index_metrics import IndexMetrics
from server.index_watch import IndexWatch
from tests.contract.animals import CATS, DOGS, NEW_CATS, ONE
from tests.contract.conftest import Backend
from tests.contract.desired import bring_to, minutes

NAMES = ("revision", "published_timestamp_seconds", "uncollected_revisions")


class Watched:
    """
    A watch of a backend's heads at a time, and what it shows.
    """

    def __init__(self, backend: Backend, at: float, retention: Retention) -> None:
        self.registry = CollectorRegistry()
        self.backend = backend
        self.problem: Exception | None = None
        self.is_empty = False
        self.watch = IndexWatch(
            self.heads,
            "",
            retention,
            IndexMetrics(self.registry),
            structlog.get_logger(),
            now=lambda: at,
        )

    async def heads(self, tenant: str) -> Sequence[IndexListing]:
        if self.problem is not None:
            raise self.problem
        if self.is_empty:
            return []
        reading = self.backend.reading
        if isinstance(reading, QdrantIndex):
            return await reading.listings(tenant, has_rows=False)
        return self.backend.store.listings(tenant)

    def shown(self) -> list[float | None]:
        return [
            self.registry.get_sample_value(f"context_assembler_index_{name}", {"index": "docs"})
            for name in NAMES
        ]


async def test_the_head_is_shown_with_its_age_and_what_need_not_be_kept(backend: Backend) -> None:
    bring_to(backend.store, [CATS, DOGS])
    bring_to(backend.store, [NEW_CATS])
    watched = Watched(backend, minutes(200), ONE)

    await watched.watch.look()

    assert watched.shown() == [2.0, minutes(2), 1.0]


async def test_a_revision_that_was_retired_lately_has_to_be_kept(backend: Backend) -> None:
    bring_to(backend.store, [CATS, DOGS])
    bring_to(backend.store, [NEW_CATS])
    watched = Watched(backend, minutes(3), Retention(revisions=1, retired_seconds=3600.0))

    await watched.watch.look()

    assert watched.shown() == [2.0, minutes(2), 0.0]


async def test_a_rollback_is_shown(backend: Backend) -> None:
    bring_to(backend.store, [CATS, DOGS])
    bring_to(backend.store, [NEW_CATS])
    with backend.store.upkeep("docs", "") as upkeep:
        upkeep.roll_back(None, at=minutes(3))
    watched = Watched(backend, minutes(200), ONE)

    await watched.watch.look()

    assert watched.shown()[0] == 1.0


async def test_heads_that_cannot_be_read_stay_and_those_that_are_gone_go(backend: Backend) -> None:
    bring_to(backend.store, [CATS])
    watched = Watched(backend, minutes(200), ONE)
    await watched.watch.look()

    watched.problem = IndexUnavailable("nobody answers")
    with capture_logs() as logs:
        await watched.watch.look()
    assert watched.shown() == [1.0, minutes(1), 0.0]
    assert [one["problem"] for one in logs] == [str(watched.problem)]

    watched.problem, watched.is_empty = None, True
    await watched.watch.look()
    assert watched.shown() == [None, None, None]


async def test_a_bounded_number_of_indexes_is_shown(backend: Backend) -> None:
    bring_to(backend.store, [CATS])
    (one,) = backend.store.listings("")
    registry = CollectorRegistry()

    async def many(_: str) -> Sequence[IndexListing]:
        return [replace(one, name=f"docs-{number:03}") for number in reversed(range(150))]

    await IndexWatch(many, "", ONE, IndexMetrics(registry), structlog.get_logger()).look()

    (family,) = (one for one in registry.collect() if one.name.endswith("index_revision"))
    names = {sample.labels["index"] for sample in family.samples}
    assert names == {f"docs-{number:03}" for number in range(100)}
