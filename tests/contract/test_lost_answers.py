"""
Answers of a Qdrant server that are lost while the head is moved: what was done is said to be done,
what was not is not, and nobody is kept out for longer than it has to be.
"""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest

from adapters.qdrant_connection import QdrantServer
from adapters.qdrant_store import QdrantStore
from assembler.errors import IndexUnavailable
from tests.contract.corpus import Source, manifest
from tests.contract.desired import bring_to, minutes, prepare, summary_of
from tests.qdrant_server.server import TestServer

CUT = grpc.StatusCode.UNAVAILABLE
CATS = Source("cats", ("Cats sleep. They purr.",))
DOGS = Source("dogs", ("Dogs bark. They run.",))
BIRDS = Source("birds", ("Birds sing. They fly.",))


@pytest.fixture
def store(server: TestServer) -> Iterator[QdrantStore]:
    made = QdrantStore(QdrantServer("127.0.0.1", grpc_port=server.port), settle_seconds=0.0)
    yield made
    made.close()


def head_of(store: QdrantStore) -> int:
    (listing,) = store.listings()
    return listing.ledger.revision


def test_a_rollback_whose_answer_is_lost_is_done_and_said_to_be(
    server: TestServer, store: QdrantStore
) -> None:
    for one in (CATS, DOGS, BIRDS):
        bring_to(store, [one])

    with store.upkeep("docs", "") as upkeep:
        server.lost["SetPayload"] = [CUT]
        assert upkeep.roll_back(None, at=minutes(4)).revision == 2
    assert head_of(store) == 2

    with store.upkeep("docs", "") as upkeep:
        server.fail["Scroll"] = [CUT]  # the head has moved; reading it back fails
        assert upkeep.roll_back(None, at=minutes(4)).revision == 1
    assert head_of(store) == 1
    bring_to(store, [DOGS])  # nobody holds the lock


def test_a_rollback_that_did_not_arrive_is_not_done(server: TestServer, store: QdrantStore) -> None:
    bring_to(store, [CATS])
    bring_to(store, [DOGS])

    def roll_back() -> None:
        with store.upkeep("docs", "") as upkeep:
            server.fail["SetPayload"] = [CUT]
            upkeep.roll_back(None, at=minutes(4))

    with pytest.raises(IndexUnavailable, match="refused by the test"):
        roll_back()

    assert head_of(store) == 2
    with store.upkeep("docs", "") as upkeep:
        assert upkeep.roll_back(None, at=minutes(4), head=2).revision == 1


def test_where_nobody_answers_any_more_it_is_said_that_the_head_may_have_moved(
    server: TestServer, store: QdrantStore
) -> None:
    bring_to(store, [CATS])
    second = bring_to(store, [DOGS])

    def roll_back() -> None:
        with store.upkeep("docs", "") as upkeep:
            server.lost["SetPayload"] = [CUT] * 2
            server.fail["Scroll"] = [CUT]
            upkeep.roll_back(None, at=minutes(4), head=2)

    with pytest.raises(IndexUnavailable, match=f"{second.generation}.1: it may have moved"):
        roll_back()

    server.lost, server.fail = {}, {}
    assert head_of(store) == 1
    with store.upkeep("docs", "") as upkeep:
        assert upkeep.roll_back(None, at=minutes(4), head=2).revision == 1
    assert head_of(store) == 1


def test_a_publish_whose_answer_is_lost_is_done_and_said_to_be(
    server: TestServer, store: QdrantStore
) -> None:
    bring_to(store, [CATS])

    with store.publication("docs", "") as publication:
        rows = prepare(publication, [DOGS], into=manifest())
        server.lost["SetPayload"] = [CUT]
        publication.commit(rows, readers_required=False, summary=summary_of(2))

    assert server.lost["SetPayload"] == []
    assert head_of(store) == 2


def test_a_build_that_is_published_is_so_whatever_becomes_of_its_record(
    server: TestServer, store: QdrantStore
) -> None:
    bring_to(store, [CATS])
    with store.publication("docs", "") as publication:
        rows = prepare(publication, [DOGS], into=manifest())
        publication.stage(rows, readers_required=False, summary=summary_of(2))

    server.fail["Delete"] = [CUT]
    assert store.publish_build("docs", "").revision == 2

    assert head_of(store) == 2
    assert bring_to(store, [BIRDS]).revision == 3


def test_a_lock_whose_taking_or_leaving_is_not_answered_keeps_nobody_out(
    server: TestServer, store: QdrantStore
) -> None:
    bring_to(store, [CATS])

    server.lost["SetPayload"] = [CUT]
    with pytest.raises(IndexUnavailable, match="lost by the test"), store.upkeep("docs", ""):
        pass
    with store.upkeep("docs", "") as upkeep:
        server.fail["SetPayload"] = [CUT]
        assert upkeep.ledger.revision == 1

    assert bring_to(store, [DOGS]).revision == 2
