"""
What is chosen of collections, searches and consistency reaches the server, and does what it says.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from qdrant_client import grpc as wire

from adapters.collection_settings import CollectionSettings, Quantization
from adapters.qdrant_connection import QdrantServer
from adapters.qdrant_index import QdrantIndex
from adapters.qdrant_search import SearchSettings
from adapters.qdrant_store import QdrantStore
from assembler.model import PointKind
from assembler.ports import DenseSearch, SparseSearch
from assembler.scope import IndexVersion, ReadScope, Scope
from tests.contract.corpus import DIMENSION, Source, hits_of, manifest, publish
from tests.fakes import hash_vector
from tests.qdrant_server.server import TestServer

SOURCES = [Source(f"s{n}", (f"Cats number {n}. They sleep in tree {n}.",)) for n in range(30)]
VECTOR = hash_vector("cats", DIMENSION)
GENERATION = f"ctx__docs__{manifest().generation}"


@dataclass
class Opened:
    """
    An index that was written and is read with choices of the test's own.
    """

    server: TestServer
    store: QdrantStore
    index: QdrantIndex
    version: IndexVersion

    async def found(self) -> list[tuple[str, float]]:
        """
        Return the ten nearest chunks.
        """
        (hits,) = await self.index.search_vectors(self.scope, [DenseSearch(VECTOR, 10)])
        return [(hit.chunk.key, round(hit.score, 4)) for hit in hits_of(hits)]

    @property
    def scope(self) -> ReadScope:
        return ReadScope("docs", self.version, readers_required=False, asked=Scope())


@asynccontextmanager
async def opened(
    collections: CollectionSettings = CollectionSettings(),  # noqa: B008 - frozen
    search: SearchSettings = SearchSettings(),  # noqa: B008 - frozen
    *,
    is_exact: bool = False,
) -> AsyncIterator[Opened]:
    with TestServer() as server:
        place = QdrantServer("127.0.0.1", grpc_port=server.port)
        store = QdrantStore(place, settings=collections)
        index = QdrantIndex(place, settings=search, is_exact=is_exact)
        version = publish(store, SOURCES)
        yield Opened(server, store, index, version)
        await index.close()
        store.close()


async def test_collections_are_made_as_chosen() -> None:
    chosen = CollectionSettings(
        shards=2,
        replicas=3,
        write_consistency=2,
        hnsw_m=0,
        hnsw_payload_m=24,
        hnsw_ef_construct=200,
        quantization=Quantization.SCALAR,
        vectors_on_disk=True,
        payload_on_disk=True,
    )
    async with opened(chosen) as it:
        made = {
            request.collection_name: request
            for request in it.server.requests
            if isinstance(request, wire.CreateCollection)
        }

    assert set(made) == {"ctx__docs__ledger", GENERATION}
    for request in made.values():
        spread = (request.shard_number, request.replication_factor)
        assert (*spread, request.write_consistency_factor) == (2, 3, 2)
    points = made[GENERATION]
    links = points.hnsw_config
    assert (links.m, links.HasField("m"), links.payload_m, links.ef_construct) == (0, True, 24, 200)
    assert points.quantization_config.scalar == wire.ScalarQuantization(
        type=wire.Int8, always_ram=True
    )
    assert points.on_disk_payload
    assert {params.on_disk for params in points.vectors_config.params_map.map.values()} == {True}
    assert not made["ctx__docs__ledger"].HasField("quantization_config")


async def test_what_is_not_chosen_is_left_to_the_server() -> None:
    async with opened() as it:
        (points,) = [
            request
            for request in it.server.requests
            if isinstance(request, wire.CreateCollection) and request.collection_name == GENERATION
        ]

    for name in ("hnsw_config", "quantization_config", "on_disk_payload"):
        assert not points.HasField(name)
    spread = (points.shard_number, points.replication_factor, points.write_consistency_factor)
    assert spread == (1, 1, 1)


async def test_searches_are_run_as_chosen() -> None:
    chosen = SearchSettings(ef=64, oversampling=3.0, consistency="quorum")
    async with opened(search=chosen) as it:
        await it.index.resolve("docs", "")
        it.server.forget()

        await it.found()
        await it.index.search_text(it.scope, [SparseSearch("cats", PointKind.CHUNK, 3)])
        await it.index.sections(it.scope, ["a"])
        await it.index.resolve("docs", "", refresh=True)

        dense, sparse, *repeated, sections, head = it.server.requests
        assert all(isinstance(request, wire.QueryBatchPoints) for request in repeated)
        assert isinstance(dense, wire.QueryBatchPoints)
        assert isinstance(sparse, wire.QueryBatchPoints)
        assert isinstance(sections, wire.ScrollPoints)
        assert isinstance(head, wire.ScrollPoints)
        assert dense.query_points[0].params == wire.SearchParams(
            hnsw_ef=64,
            quantization=wire.QuantizationSearchParams(rescore=True, oversampling=3.0),
        )
        assert [one.name for one, _ in sparse.query_points[0].params.ListFields()] == ["idf"]
        for request in (dense, sparse, sections):
            assert request.read_consistency.type == wire.Quorum
            assert request.timeout == 5
        assert head.read_consistency.type == wire.Majority


async def test_exact_searches_leave_quantised_vectors_alone() -> None:
    async with opened(search=SearchSettings(ef=64, oversampling=3.0), is_exact=True) as it:
        await it.found()

        (dense,) = [one for one in it.server.requests if isinstance(one, wire.QueryBatchPoints)]

    assert dense.query_points[0].params == wire.SearchParams(
        exact=True, quantization=wire.QuantizationSearchParams(ignore=True)
    )


async def test_document_frequencies_are_those_of_the_tenants_part_of_the_revision() -> None:
    async with opened() as it:
        await it.index.search_text(it.scope, [SparseSearch("cats", PointKind.CHUNK, 3)])

        sparse = next(one for one in it.server.requests if isinstance(one, wire.QueryBatchPoints))
        corpus = sparse.query_points[0].params.idf.corpus

    keys = sorted(
        part.field.key for group in corpus.must for part in (*group.filter.must, group) if part
    )
    assert [key for key in keys if key] == ["from_rev", "tenant", "to_rev"]


@pytest.mark.parametrize(
    "collections",
    [
        CollectionSettings(quantization=Quantization.SCALAR, vectors_on_disk=True),
        CollectionSettings(quantization=Quantization.BINARY, payload_on_disk=True),
        CollectionSettings(hnsw_m=0, hnsw_payload_m=16),
        CollectionSettings(shards=2, replicas=2),
    ],
    ids=["scalar", "binary", "tenants", "cluster"],
)
async def test_every_choice_finds_the_same_of_little_with_the_same_scores(
    collections: CollectionSettings,
) -> None:
    async with opened(is_exact=True) as it:
        expected = await it.found()
    for is_exact in (True, False):
        search = SearchSettings(ef=128, oversampling=6.0)
        async with opened(collections, search, is_exact=is_exact) as it:
            assert await it.found() == expected


@pytest.mark.parametrize(("waited", "is_seen"), [(None, {60}), (2, {60, 0})])
async def test_a_replica_that_lags_is_not_read_where_writes_wait_for_all(
    waited: int | None, is_seen: set[int]
) -> None:
    collections = CollectionSettings(replicas=3, write_consistency=waited)
    async with opened(collections) as it:
        keys = [point.chunk.key for source in SOURCES for point in source.points("", 1)[0]]
        found = {len(await it.index.chunks(it.scope, keys)) for _ in range(12)}

        assert found == is_seen


async def test_reads_by_majority_see_what_a_majority_has() -> None:
    collections = CollectionSettings(replicas=3, write_consistency=2)
    async with opened(collections, SearchSettings(consistency="majority")) as it:
        keys = [point.chunk.key for source in SOURCES for point in source.points("", 1)[0]]

        for _ in range(8):
            assert len(await it.index.chunks(it.scope, keys)) == 60
            assert len(await it.found()) == 10


def test_what_cannot_work_is_refused() -> None:
    with pytest.raises(ValueError, match="2 of 1 replicas"):
        CollectionSettings(write_consistency=2)
    with pytest.raises(ValueError, match="hnsw_payload_m"):
        CollectionSettings(hnsw_m=0)


async def test_a_number_of_replicas_is_sent_as_one() -> None:
    consistency = SearchSettings(consistency=2).read_consistency

    assert consistency == wire.ReadConsistency(factor=2)
