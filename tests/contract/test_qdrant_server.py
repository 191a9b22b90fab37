"""
The test server is at least as strict as a cluster: it refuses what it does not have, and does all that
makes a cluster differ from one engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import grpc
import pytest
from qdrant_client import QdrantClient
from qdrant_client import grpc as wire

from adapters.qdrant_connection import QdrantServer
from tests.qdrant_server.process import ServerProcess
from tests.qdrant_server.server import TestServer

POINTS = 40


@pytest.fixture
def client(server: TestServer) -> Iterator[QdrantClient]:
    made = QdrantServer("127.0.0.1", grpc_port=server.port).writer()
    yield made
    made.close()


def create(client: QdrantClient, *, shards: int = 1, replicas: int = 1, waited: int = 1) -> None:
    """
    Make a collection of points that are all as near to anything.
    """
    request = wire.CreateCollection(
        collection_name="c",
        shard_number=shards,
        replication_factor=replicas,
        write_consistency_factor=waited,
    )
    params = wire.VectorParams(size=2, distance=wire.Cosine)
    request.vectors_config.params_map.map["dense"].CopyFrom(params)
    client.grpc_collections.Create(request)
    client.grpc_points.Upsert(
        wire.UpsertPoints(collection_name="c", wait=True, points=[point(n) for n in range(POINTS)])
    )


def point(number: int) -> wire.PointStruct:
    dense = wire.Vector(dense=wire.DenseVector(data=[1.0, 0.0]))
    return wire.PointStruct(
        id=wire.PointId(uuid=str(UUID(int=number))),
        vectors=wire.Vectors(vectors=wire.NamedVectors(vectors={"dense": dense})),
    )


def query(collection: str = "c", limit: int = 5, **more: object) -> wire.QueryPoints:
    nearest = wire.VectorInput(dense=wire.DenseVector(data=[1.0, 0.0]))
    return wire.QueryPoints(
        collection_name=collection,
        query=wire.Query(nearest=nearest),
        using="dense",
        limit=limit,
        **more,  # type: ignore[arg-type]
    )


def ids(client: QdrantClient, limit: int = 5) -> list[int]:
    batch = wire.QueryBatchPoints(collection_name="c", query_points=[query(limit=limit)])
    (found,) = client.grpc_points.QueryBatch(batch).result
    return [UUID(hit.id.uuid).int for hit in found.result]


def scrolled(client: QdrantClient, consistency: wire.ReadConsistency | None = None) -> list[int]:
    found: list[int] = []
    offset = None
    while True:
        answer = client.grpc_points.Scroll(
            wire.ScrollPoints(
                collection_name="c", limit=7, offset=offset, read_consistency=consistency
            )
        )
        found.extend(UUID(one.id.uuid).int for one in answer.result)
        if not answer.HasField("next_page_offset"):
            return found
        offset = answer.next_page_offset


@pytest.mark.parametrize(
    "request_",
    [
        wire.QueryBatchPoints(collection_name="c", query_points=[query(score_threshold=0.5)]),
        wire.QueryBatchPoints(collection_name="c", query_points=[query(offset=3)]),
        wire.QueryBatchPoints(collection_name="c", query_points=[query("another")]),
        wire.QueryBatchPoints(
            collection_name="c",
            query_points=[query(params=wire.SearchParams(indexed_only=True))],
        ),
    ],
    ids=["threshold", "offset", "two collections", "search parameter"],
)
def test_what_it_does_not_have_is_refused(
    client: QdrantClient, request_: wire.QueryBatchPoints
) -> None:
    create(client)

    with pytest.raises(grpc.RpcError) as caught:
        client.grpc_points.QueryBatch(request_)

    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_a_write_that_is_not_waited_for_is_refused(client: QdrantClient) -> None:
    create(client)

    with pytest.raises(grpc.RpcError, match="not waited for"):
        client.grpc_points.Upsert(wire.UpsertPoints(collection_name="c", points=[point(1)]))


def test_equal_scores_come_in_any_order_and_are_cut_anywhere(client: QdrantClient) -> None:
    create(client)

    found = [tuple(ids(client)) for _ in range(20)]

    assert len(set(found)) > 10
    assert len({number for answer in found for number in answer}) > POINTS // 2


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_pages_over_all_shards_hold_every_point_once_in_order(
    client: QdrantClient, server: TestServer, shards: int
) -> None:
    create(client, shards=shards)

    assert scrolled(client) == list(range(POINTS))
    assert sorted(ids(client, POINTS)) == list(range(POINTS))
    held = [replica.engine.info().points_count for (replica,) in server.collection("c").shards]
    assert len(held) == shards
    assert sum(held) == POINTS
    assert all(held)


def test_a_replica_that_is_not_waited_for_is_late(client: QdrantClient, server: TestServer) -> None:
    create(client, replicas=2, waited=1)
    every = wire.ReadConsistency(type=wire.All)

    assert scrolled(client, every) == []
    assert {len(ids(client)) for _ in range(6)} == {0, 5}

    server.collection("c").settle()
    assert scrolled(client, every) == list(range(POINTS))


def test_writes_that_are_waited_for_are_everywhere(client: QdrantClient) -> None:
    create(client, replicas=2, waited=2)

    assert scrolled(client, wire.ReadConsistency(type=wire.All)) == list(range(POINTS))
    assert {len(ids(client)) for _ in range(6)} == {5}


def test_a_server_that_crashed_has_what_it_had_said_was_done() -> None:
    with ServerProcess() as process:
        client = QdrantServer("127.0.0.1", grpc_port=process.port).writer()
        create(client, shards=2, replicas=2, waited=2)
        client.close()
        process.kill()
        process.start()

        client = QdrantServer("127.0.0.1", grpc_port=process.port).writer()
        assert scrolled(client) == list(range(POINTS))
        assert process.tell("collections") == ["c"]
        process.tell("lose", "c")
        with pytest.raises(grpc.RpcError) as caught:
            scrolled(client)
        client.close()

    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
