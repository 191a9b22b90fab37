"""
Backends whose store ignores every filter: nothing out of the scope gets through, all is counted.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from adapters.decoded import Decode, Record, ScoredRecord
from adapters.edge_index import EdgeIndex
from adapters.edge_store import EdgeStore
from adapters.payload_values import Payload
from adapters.qdrant_connection import QdrantServer
from adapters.qdrant_index import QdrantIndex
from adapters.qdrant_store import QdrantStore
from adapters.searches import PointQuery
from adapters.store import IndexStore
from assembler.errors import SourceUnknown
from assembler.filters import AnyString, Condition, Filter
from assembler.model import PointKind
from assembler.ports import DenseSearch, SparseSearch
from assembler.scope import IndexVersion, ReadScope, Scope, VersionPolicy
from assembler.source_text import SourceRequest, read_source
from assembler.span import Span
from tests.contract.corpus import (
    DIMENSION,
    Source,
    hits_of,
    manifest,
    publish,
    section_keys_of,
    summary,
    write,
)
from tests.fakes import hash_vector
from tests.qdrant_server.server import TestServer

TEXT = ("Cats sleep here. They purr.",)
MINE = Source("mine", TEXT, fields={"team": "red"})
OTHERS = Source("others", TEXT)
HIDDEN = Source("hidden", TEXT, readers=("ann",), fields={"team": "red"})
BLUE = Source("blue", TEXT, fields={"team": "blue"})
LATER = Source("later", TEXT, fields={"team": "red"})
EVERYTHING = Filter()
Item = TypeVar("Item")


class LeakingEdge(EdgeIndex):
    async def _query(
        self, scope: ReadScope, queries: Sequence[PointQuery]
    ) -> Sequence[Sequence[ScoredRecord]]:
        return await super()._query(scope, [_open(query) for query in queries])

    async def _records(
        self,
        scope: ReadScope,
        wanted: Filter,
        kind: PointKind,
        decode: Decode[Item],
        keys: tuple[str, ...] | None,
        page: int,
    ) -> Sequence[Record[Item] | None]:
        return await super()._records(scope, EVERYTHING, kind, decode, keys, page)


class LeakingQdrant(QdrantIndex):
    async def _query(
        self, scope: ReadScope, queries: Sequence[PointQuery]
    ) -> Sequence[Sequence[ScoredRecord]]:
        return await super()._query(scope, [_open(query) for query in queries])

    async def _scroll(
        self, scope: ReadScope, wanted: Filter, keys: tuple[str, ...] | None, page: int
    ) -> Sequence[Payload]:
        return await super()._scroll(scope, EVERYTHING, keys, page)


def _open(query: PointQuery) -> PointQuery:
    return replace(query, wanted=EVERYTHING)


@dataclass
class Leaking:
    store: IndexStore
    reading: LeakingEdge | LeakingQdrant


@pytest.fixture(params=["edge", "qdrant"])
async def leaking(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Leaking]:
    if request.param == "edge":
        edge = LeakingEdge(tmp_path, is_exact=True)
        yield Leaking(EdgeStore(tmp_path), edge)
        await edge.close()
        return
    with TestServer() as server:
        address = QdrantServer("127.0.0.1", grpc_port=server.port)
        store, qdrant = QdrantStore(address), LeakingQdrant(address, is_exact=True)
        yield Leaking(store, qdrant)
        await qdrant.close()
        store.close()


def publish_all(store: IndexStore) -> IndexVersion:
    """
    Fill an index and return the version at which only one source is in the scope.
    """
    publish(store, [replace(OTHERS, source_id="mine"), OTHERS], tenant="b")
    version = publish(store, [MINE, HIDDEN, BLUE], tenant="a")
    with store.publication("docs", "a") as publication:
        publication.open_generation(manifest())
        rows = write(publication, "a", [LATER])
        publication.commit(
            (*publication.ledger.rows, *rows), readers_required=False, summary=summary(2)
        )
    return version


def asked(**more: Any) -> Scope:
    red = Filter(all_of=(Condition("fields.team", AnyString(("red",))),))
    return Scope(tenant="a", filter=red, **more)


async def test_a_store_that_ignores_filters_leaks_nothing(leaking: Leaking) -> None:
    version = publish_all(leaking.store)
    scope = ReadScope("docs", version, readers_required=False, asked=asked())
    points = [source.points("a", 1) for source in (MINE, HIDDEN, BLUE, LATER)]
    points += [source.points("b", 1) for source in (OTHERS, replace(OTHERS, source_id="mine"))]
    chunk_keys = [p.chunk.key for chunks, _ in points for p in chunks]
    section_keys = [p.section.key for _, sections in points for p in sections]
    own_chunks = {p.chunk.key for p in points[0][0]}
    (own_section,) = (p.section.key for p in points[0][1])
    reading, vector = leaking.reading, hash_vector("Cats sleep here.", DIMENSION)

    texts = await reading.search_text(
        scope,
        [SparseSearch("cats purr", kind, 20) for kind in PointKind],
    )
    vectors = await reading.search_vectors(
        scope, [DenseSearch(vector, 20, kind) for kind in PointKind]
    )

    for chunks, sections in (texts, vectors):
        assert {hit.chunk.key for hit in hits_of(chunks)} == own_chunks
        assert section_keys_of(sections) == [own_section]
    assert {one.key for one in await reading.chunks(scope, chunk_keys)} == own_chunks
    assert [one.key for one in await reading.sections(scope, section_keys)] == [own_section]
    assert (await reading.chunk_texts(scope, chunk_keys)).keys() == own_chunks
    covering = await reading.sections_covering(scope, "mine", MINE.sha256, Span(0, 5))
    assert [one.key for one in covering] == [own_section]
    assert reading.denied["scope"] > 0
    assert reading.denied_in["docs", "scope"] == reading.denied["scope"]
    # asked for chunks and sections by key, such a store returns points of the other kind too
    assert reading.denied["damaged"] > 0


async def test_keys_that_were_not_asked_for_are_dropped(leaking: Leaking) -> None:
    version = publish_all(leaking.store)
    scope = ReadScope("docs", version, readers_required=False, asked=Scope(tenant="a"))
    first = MINE.points("a", 1)[0][0].chunk.key

    (chunk,) = await leaking.reading.chunks(scope, [first])

    assert chunk.key == first
    assert leaking.reading.denied["key"] == 3  # the other chunk of `mine`, and both of `blue`


async def test_no_source_text_is_read_that_the_scope_hides(leaking: Leaking) -> None:
    publish_all(leaking.store)

    def request(source_id: str, scope: Scope) -> SourceRequest:
        return SourceRequest("docs", scope, source_id, None, None, 0, None)

    async def text(source_id: str, scope: Scope) -> str:
        return (await read_source(request(source_id, scope), leaking.reading, leaking.reading)).text

    assert await text("mine", asked()) == TEXT[0]
    assert await text("hidden", asked(principals=("ann",))) == TEXT[0]
    for source_id, scope in (
        ("hidden", asked()),
        ("hidden", asked(principals=("bob",))),
        ("blue", asked()),
        ("others", Scope(tenant="a")),
        ("mine", Scope(tenant="c")),
        ("mine", asked(source_ids=("later",))),
    ):
        with pytest.raises(SourceUnknown):
            await text(source_id, scope)


async def test_readers_hold_for_a_request_that_is_under_way(leaking: Leaking) -> None:
    version = publish_all(leaking.store)
    scope = ReadScope(
        "docs", version, readers_required=False, asked=asked(versions=VersionPolicy.ALL)
    )
    (key,) = (p.section.key for p in MINE.points("a", 1)[1])
    assert await leaking.reading.sections(scope, [key])

    with leaking.store.publication("docs", "a") as publication:
        publication.open_generation(manifest())
        publication.set_readers("mine", ("ann",))
        rows = [
            replace(row, readers=("ann",)) if row.source_id == "mine" else row
            for row in publication.ledger.rows
        ]
        publication.commit(rows, readers_required=False, summary=summary(3))
    # the embedded engine looks for a change each second, a server has it at once
    await leaking.reading.resolve("docs", "a", refresh=isinstance(leaking.reading, LeakingEdge))

    assert not await leaking.reading.sections(scope, [key])
    ann = replace(scope, asked=replace(scope.asked, principals=("ann",)))
    assert await leaking.reading.sections(ann, [key])
