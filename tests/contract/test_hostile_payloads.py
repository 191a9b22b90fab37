"""
Stored points that do not hold what was written: they are not returned, and counted.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import qdrant_edge as edge

from adapters.edge_files import IndexFolder
from adapters.edge_index import EdgeIndex
from adapters.edge_store import EdgeStore
from adapters.payload import point_id
from adapters.qdrant_connection import QdrantServer
from adapters.qdrant_index import QdrantIndex
from adapters.qdrant_store import QdrantStore
from adapters.store import IndexStore
from assembler.model import PointKind
from assembler.ports import DenseSearch, SparseSearch
from assembler.scope import IndexVersion, ReadScope, Scope
from tests.contract.corpus import DIMENSION, Source, hits_of, manifest, publish
from tests.fakes import hash_vector
from tests.qdrant_server.server import TestServer

CATS = Source("cats", ("Cats sleep. Cats hunt.",))
Change = Callable[[edge.EdgeShard], None]


class Stored:
    """
    A backend whose stored points can be changed behind its back.
    """

    def __init__(
        self, store: IndexStore, reading: EdgeIndex | QdrantIndex, change: Callable[[Change], None]
    ) -> None:
        self.store = store
        self.reading = reading
        self.change = change


@pytest.fixture(params=["edge", "qdrant"])
async def stored(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stored]:
    generation = manifest().generation
    if request.param == "edge":

        def change_files(change: Change) -> None:
            path = IndexFolder(tmp_path, "docs").current().shard(generation)
            shard = edge.EdgeShard.load(str(path))
            change(shard)
            shard.flush()
            shard.close()

        index = EdgeIndex(tmp_path)
        yield Stored(EdgeStore(tmp_path), index, change_files)
        await index.close()
        return
    with TestServer() as server:
        address = QdrantServer("127.0.0.1", grpc_port=server.port)
        store, reader = QdrantStore(address), QdrantIndex(address)
        yield Stored(store, reader, lambda change: change(server.shard(f"ctx__docs__{generation}")))
        await reader.close()
        store.close()


BROKEN: list[dict[str, object]] = [
    {"key": None},
    {"key": 7},
    {"section_key": ["a"], "text": 1},
    {"start": -1},
    {"start": 9, "end": 9},
    {"ordinal": "0"},
    {"ordinal": 1.5},
    {"readers": "ann"},
    {"fields": [1]},
    {"fields": {"team": {"a": 1}}},
    {"fields": {"year": 1.5}},
    {"from_rev": True},
    {"content_sha256": None},
]


@pytest.mark.parametrize("broken", BROKEN, ids=str)
async def test_a_damaged_point_is_not_returned_but_counted(
    stored: Stored, broken: dict[str, object]
) -> None:
    publish(stored.store, [CATS])
    chunks, sections = CATS.points("", 1)
    whole, damaged = chunks
    ids: list[edge.PointId] = [
        point_id(PointKind.CHUNK, "", damaged.chunk.key, 1),
        point_id(PointKind.SECTION, "", sections[0].section.key, 1),
    ]
    stored.change(lambda shard: shard.update(edge.UpdateOperation.set_payload(ids, broken)))

    scope = ReadScope("docs", (await resolved(stored)), readers_required=False, asked=Scope())
    (text,) = await stored.reading.search_text(scope, [SparseSearch("cats", PointKind.CHUNK, 9)])
    (dense,) = await stored.reading.search_vectors(
        scope, [DenseSearch(hash_vector("cats", DIMENSION), 9)]
    )
    read = await stored.reading.sections(scope, [sections[0].section.key])
    texts = await stored.reading.chunk_texts(scope, [p.chunk.key for p in chunks])

    assert [hit.chunk for hit in hits_of(text)] == [whole.chunk]
    assert [hit.chunk for hit in hits_of(dense)] == [whole.chunk]
    if "section_key" not in broken:
        assert read == [] or "ordinal" not in broken
    assert whole.chunk.key in texts
    is_filtered_out = "from_rev" in broken or broken.get("readers") == "ann"
    assert stored.reading.denied["damaged"] > 0 or is_filtered_out


async def test_a_text_of_another_length_than_its_span_is_damaged(stored: Stored) -> None:
    publish(stored.store, [CATS])
    (section,) = CATS.points("", 1)[1]
    ids: list[edge.PointId] = [point_id(PointKind.SECTION, "", section.section.key, 1)]
    stored.change(lambda shard: shard.update(edge.UpdateOperation.set_payload(ids, {"text": "x"})))

    scope = ReadScope("docs", (await resolved(stored)), readers_required=False, asked=Scope())

    assert await stored.reading.sections(scope, [section.section.key]) == []
    assert stored.reading.denied == {"damaged": 1}


async def test_damaged_points_do_not_starve_a_search(stored: Stored) -> None:
    copies = [Source(f"{n}", ("Cats sleep.",)) for n in range(60)]
    publish(stored.store, copies)
    keys = sorted(source.points("", 1)[0][0].chunk.key for source in copies)
    ids: list[edge.PointId] = [point_id(PointKind.CHUNK, "", key, 1) for key in keys[:55]]
    stored.change(
        lambda shard: shard.update(edge.UpdateOperation.set_payload(ids, {"ordinal": "no"}))
    )

    scope = ReadScope("docs", (await resolved(stored)), readers_required=False, asked=Scope())
    (hits,) = await stored.reading.search_text(scope, [SparseSearch("cats", PointKind.CHUNK, 3)])

    assert [hit.chunk.key for hit in hits_of(hits)] == keys[55:58]
    assert stored.reading.denied == {"damaged": 55}


async def resolved(stored: Stored) -> IndexVersion:
    return (await stored.reading.resolve("docs", "")).version
