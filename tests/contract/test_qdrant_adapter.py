"""
What is special about a Qdrant server: it can be away, refuse, be slow, and be written by two.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import grpc
import pytest

from adapters.qdrant_connection import QdrantServer
from adapters.qdrant_index import QdrantIndex
from adapters.qdrant_ledger_writer import QdrantLedgerWriter
from adapters.qdrant_store import QdrantStore
from adapters.records import Retention
from assembler.errors import (
    ContextAssemblerError,
    DeadlineExceeded,
    IndexUnavailable,
    IndexUnusable,
)
from assembler.model import PointKind
from assembler.ports import SparseSearch
from assembler.scope import ReadScope, Scope
from tests.contract.corpus import Source, manifest, publish, summary, write
from tests.contract.desired import OTHER, bring_to
from tests.contract.hand_clock import HandClock
from tests.qdrant_server.fields import IMPLEMENTED
from tests.qdrant_server.server import TestServer

CATS = Source("cats", ("Cats sleep. Cats hunt.",))
DOGS = Source("dogs", ("Dogs bark.",))
SEARCH = [SparseSearch("cats", PointKind.CHUNK, 5)]


@pytest.fixture
def clock() -> HandClock:
    return HandClock(1_000_000.0)


@pytest.fixture
def store(server: TestServer, clock: HandClock) -> Iterator[QdrantStore]:
    address = QdrantServer("127.0.0.1", grpc_port=server.port)
    made = QdrantStore(address, wall_clock=clock, settle_seconds=0.0)
    yield made
    made.close()


@pytest.fixture
async def index(server: TestServer, clock: HandClock) -> AsyncIterator[QdrantIndex]:
    made = QdrantIndex(QdrantServer("127.0.0.1", grpc_port=server.port), clock=clock)
    yield made
    await made.close()


async def test_the_head_is_cached_for_a_second(
    store: QdrantStore, index: QdrantIndex, clock: HandClock
) -> None:
    publish(store, [CATS])
    assert (await index.resolve("docs", "")).version.revision == 1
    publish(store, [DOGS])

    assert (await index.resolve("docs", "")).version.revision == 1
    assert (await index.resolve("docs", "", refresh=True)).version.revision == 2
    publish(store, [Source("birds", ("Birds sing.",))])
    clock.seconds += 1.0
    assert (await index.resolve("docs", "")).version.revision == 3


async def test_a_search_is_one_call(
    server: TestServer, store: QdrantStore, index: QdrantIndex
) -> None:
    version = publish(store, [CATS])
    await index.resolve("docs", "")
    server.forget()

    scope = ReadScope("docs", version, readers_required=False, asked=Scope())
    await index.search_text(scope, [SparseSearch("cats", kind, 5) for kind in PointKind])

    assert server.calls == ["QueryBatch"]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (grpc.StatusCode.UNAVAILABLE, IndexUnavailable),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, IndexUnavailable),
        (grpc.StatusCode.INTERNAL, IndexUnavailable),
        (grpc.StatusCode.DEADLINE_EXCEEDED, IndexUnavailable),
        (grpc.StatusCode.UNAUTHENTICATED, IndexUnavailable),
        (grpc.StatusCode.INVALID_ARGUMENT, IndexUnusable),
    ],
)
async def test_refusals_are_translated(
    server: TestServer,
    store: QdrantStore,
    index: QdrantIndex,
    code: grpc.StatusCode,
    error: type[ContextAssemblerError],
) -> None:
    version = publish(store, [CATS])
    await index.resolve("docs", "")
    server.refuse = code

    scope = ReadScope("docs", version, readers_required=False, asked=Scope())
    with pytest.raises(error):
        await index.search_text(scope, SEARCH)
    with pytest.raises(error):
        await index.resolve("docs", "", refresh=True)
    with pytest.raises(error), store.publication("docs", ""):
        pass


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    index = QdrantIndex(QdrantServer("127.0.0.1", grpc_port=1, timeout_seconds=2.0))

    with pytest.raises(IndexUnavailable):
        await index.resolve("docs", "")

    await index.close()


async def test_a_deadline_that_has_passed_is_not_spent_on_a_call(server: TestServer) -> None:
    address = QdrantServer("127.0.0.1", grpc_port=server.port)
    index = QdrantIndex(address, time_left=lambda: -0.1)

    with pytest.raises(DeadlineExceeded):
        await index.resolve("docs", "")

    assert server.calls == []
    await index.close()


async def test_an_api_key_is_sent() -> None:
    with TestServer(api_key="right") as server:
        for key in ("right", "wrong"):
            address = QdrantServer("127.0.0.1", grpc_port=server.port, api_key=key)
            assert key not in repr(address)
            store = QdrantStore(address)
            if key == "right":
                publish(store, [CATS])
            else:
                with pytest.raises(IndexUnavailable, match="API key"):
                    publish(store, [DOGS])
            store.close()


async def test_a_writer_that_died_is_followed_after_its_lease(
    server: TestServer, store: QdrantStore, clock: HandClock
) -> None:
    publish(store, [CATS])
    address = QdrantServer("127.0.0.1", grpc_port=server.port)
    other = QdrantStore(address, wall_clock=clock)
    with other.publication("docs", "") as died:
        died.open_generation(manifest())
        write(died, "", [DOGS])
        with pytest.raises(IndexUnavailable, match="being written by"):
            publish(store, [DOGS])
        clock.seconds += 301.0

        publish(store, [Source("birds", ("Birds sing.",))])

        rows = (*died.ledger.rows, DOGS.row(2))
        with pytest.raises(IndexUnavailable):
            died.commit(rows, readers_required=False, summary=summary(2))
    other.close()

    (listed,) = store.listings()
    assert [row.source_id for row in listed.ledger.rows] == ["birds", "cats"]
    assert listed.ledger.revision == 2


async def test_what_is_written_before_the_head_moves_is_not_seen(
    server: TestServer, store: QdrantStore, index: QdrantIndex
) -> None:
    version = publish(store, [CATS])
    scope = ReadScope("docs", version, readers_required=False, asked=Scope())
    before = await index.search_text(scope, SEARCH)
    with store.publication("docs", "") as publication:
        publication.open_generation(manifest())
        write(publication, "", [Source("more", ("Cats and cats.",))])
        publication.end_version(publication.ledger.rows[0], to_rev=2)

        assert await index.search_text(scope, SEARCH) == before
        assert (await index.resolve("docs", "", refresh=True)).version == version

    assert "ctx__docs__ledger" in server.collections()


async def test_two_tenants_are_written_at_the_same_time(store: QdrantStore) -> None:
    with store.publication("docs", "a") as one, store.publication("docs", "b") as two:
        for tenant, publication in (("a", one), ("b", two)):
            publication.open_generation(manifest())
            rows = write(publication, tenant, [CATS])
            publication.commit(rows, readers_required=False, summary=summary(1))

    assert [entry.tenant for entry in store.listings()] == ["a", "b"]


def test_the_test_server_refuses_what_it_does_not_have() -> None:
    assert "score_threshold" not in IMPLEMENTED["QueryPoints"].split()
    assert "min_should" not in IMPLEMENTED["Filter"].split()


async def test_what_a_reader_may_still_see_is_swept_after_its_time(
    server: TestServer, clock: HandClock
) -> None:
    slept: list[float] = []
    address = QdrantServer("127.0.0.1", grpc_port=server.port)
    store = QdrantStore(address, wall_clock=clock, settle_seconds=31.0, sleep=slept.append)
    publish(store, [CATS])
    publish(store, [DOGS])
    with store.upkeep("docs", "") as upkeep:
        upkeep.roll_back(None, at=clock.seconds)
    assert slept == []
    clock.seconds += 11.0

    publish(store, [DOGS])
    assert slept == [20.0]

    with store.upkeep("docs", "") as upkeep:
        upkeep.roll_back(None, at=clock.seconds + 1e6)  # by a machine whose clock is ahead
    publish(store, [DOGS])
    assert slept == [20.0, 31.0]

    with store.upkeep("docs", "") as upkeep:
        upkeep.collect(Retention(1, 0.0), at=clock.seconds)
    assert slept == [20.0, 31.0, 31.0]
    store.close()


async def test_a_generation_is_not_removed_while_another_tenant_writes(
    server: TestServer, store: QdrantStore
) -> None:
    old = bring_to(store, [CATS], tenant="a")
    bring_to(store, [], tenant="a", into=OTHER)
    one = Retention(1, 0.0)

    with store.publication("docs", "b") as publication:
        with store.upkeep("docs", "a") as upkeep:
            assert upkeep.collect(one, at=2e9).generations == ()
        publication.open_generation(manifest())
        rows = write(publication, "b", [DOGS])
        publication.commit(rows, readers_required=False, summary=summary(1))
    with store.upkeep("docs", "a") as upkeep:
        assert upkeep.collect(one, at=2e9).generations == ()
    bring_to(store, [], tenant="b", into=OTHER)
    with store.upkeep("docs", "b") as upkeep:
        assert upkeep.collect(one, at=2e9).generations == (old.generation,)

    assert f"ctx__docs__{old.generation}" not in server.collections()


async def test_a_generation_that_is_being_removed_is_not_written(
    server: TestServer, store: QdrantStore
) -> None:
    old = bring_to(store, [CATS])
    bring_to(store, [], into=OTHER)
    writer = QdrantLedgerWriter(
        QdrantServer("127.0.0.1", grpc_port=server.port).writer(), "docs", 5.0
    )
    writer.mark_retiring(old.generation, is_retiring=True)

    with (
        store.publication("docs", "") as publication,
        pytest.raises(IndexUnavailable, match=r"is being removed.*gc"),
    ):
        publication.open_generation(manifest())

    with store.upkeep("docs", "") as upkeep:
        assert upkeep.collect(Retention(1, 0.0), at=2e9).generations == (old.generation,)
    bring_to(store, [CATS], into=manifest())
