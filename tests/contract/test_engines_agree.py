"""
The fake, the embedded engine and the server give the same answers, and all filters mean the same
everywhere.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import qdrant_edge as edge
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.edge_filter import edge_filter
from adapters.payload_keys import IndexKind, indexed_paths
from adapters.qdrant_filter import qdrant_filter
from assembler.filters import (
    AnyInt,
    AnyString,
    Condition,
    FieldValue,
    Filter,
    IntRange,
    IsBool,
    IsMissing,
)
from assembler.model import FieldType, Hit, PointKind, SectionHit
from assembler.ports import DenseSearch, SparseSearch
from tests.contract.conftest import KINDS, Backend, EmptyQdrant, opened
from tests.contract.corpus import DIMENSION, Source, hits_of, publish, read_scope
from tests.fakes import hash_vector
from tests.qdrant_server.translation import edge_filter as served_filter

WORDS = ("cat", "dog", "runs", "sleeps", "house", "tree", "blue", "red", "green", "river", "light")
REQUESTS = 240


@pytest.fixture
async def all_three(tmp_path: Path, qdrant: EmptyQdrant) -> AsyncIterator[list[Backend]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(opened(kind, tmp_path, qdrant)) for kind in KINDS]


async def test_random_requests_are_answered_alike(all_three: list[Backend]) -> None:
    rng = random.Random(7)
    sources = [_source(rng, number) for number in range(60)]
    for backend in all_three:
        publish(backend.store, sources[:40])
        publish(backend.store, sources[40:], tenant="t")
        publish(backend.store, sources[40:50])

    for _ in range(REQUESTS):
        text = " ".join(rng.choices(WORDS, k=rng.randint(1, 4)))
        limit = rng.choice([1, 3, 10, 40])
        asked: dict[str, Any] = {
            "tenant": rng.choice(["", "", "t"]),
            "principals": rng.choice([None, ("ann",), ("bob", "ann")]),
            "filter": rng.choice([Filter(), _random_filter(rng), _random_filter(rng)]),
        }
        answers = [await _answers(backend, text, limit, asked) for backend in all_three]
        keys, scores = zip(*answers, strict=True)
        assert keys[0] == keys[1] == keys[2]
        for one, other, third in zip(*scores, strict=True):
            assert one == pytest.approx(other, abs=1e-4)
            assert one == pytest.approx(third, abs=1e-4)


async def _answers(
    backend: Backend, text: str, limit: int, asked: dict[str, Any]
) -> tuple[list[list[str]], list[list[float]]]:
    scope = await read_scope(backend, **asked)
    found = await backend.reading.search_text(
        scope, [SparseSearch(text, kind, limit) for kind in PointKind]
    )
    vector = hash_vector(text, DIMENSION)
    dense = await backend.reading.search_vectors(
        scope, [DenseSearch(vector, limit, kind) for kind in PointKind]
    )
    within = tuple(hit.section_key for hit in dense[1][:3] if isinstance(hit, SectionHit))
    inside = await backend.reading.search_text(
        scope, [SparseSearch(text, PointKind.CHUNK, limit, within=within)]
    )
    dense_inside = await backend.reading.search_vectors(
        scope, [DenseSearch(vector, limit, within=within)]
    )
    for hits in (*inside, *dense_inside):
        assert {hit.chunk.section_key for hit in hits_of(hits)} <= set(within)
    batches = [*found, *dense, *inside, *dense_inside]
    keys = [[h.chunk.key if isinstance(h, Hit) else h.section_key for h in b] for b in batches]
    return keys, [[hit.score for hit in batch] for batch in batches]


def _source(rng: random.Random, number: int) -> Source:
    sections = tuple(
        " ".join(rng.choices(WORDS, k=6)) + ". " + " ".join(rng.choices(WORDS, k=4)) + "."
        for _ in range(rng.randint(1, 3))
    )
    return Source(
        f"s{number}",
        sections,
        language=rng.choice(["en", "de", "pl"]),
        readers=rng.choice([None, None, ("ann",), ("bob",)]),
        fields={"team": rng.choice(["red", "blue"]), "year": rng.randint(2000, 2003)},
    )


def _random_filter(rng: random.Random) -> Filter:
    team = Condition("fields.team", AnyString((rng.choice(["red", "blue", "none"]),)))
    year = Condition("fields.year", IntRange(rng.randint(1999, 2003), rng.randint(2000, 2005)))
    parts = {"all_of": (), "any_of": (), "none_of": ()} | {
        rng.choice(["all_of", "any_of", "none_of"]): (part,) for part in (team, year)
    }
    return Filter(**parts)


FIELDS = {
    "word": FieldType.KEYWORD,
    "words": FieldType.KEYWORD_LIST,
    "flag": FieldType.BOOL,
    "number": FieldType.INT64,
    "a b.c": FieldType.KEYWORD,
}
SMALL = st.sampled_from(["", "a", "b", "ä", "ä", "true", "1"])
NUMBERS = st.sampled_from([-(2**53), -1, 0, 1, 2, 2**53 - 1, 2**53])
VALUES: dict[str, st.SearchStrategy[FieldValue]] = {
    "word": st.none() | SMALL,
    "words": st.none() | st.lists(SMALL, max_size=3).map(tuple),
    "flag": st.none() | st.booleans(),
    "number": st.none() | NUMBERS,
    "a b.c": st.none() | SMALL,
}
RECORDS = st.fixed_dictionaries({}, optional=VALUES)
TESTS = st.one_of(
    st.lists(SMALL, max_size=3).map(lambda values: AnyString(tuple(values))),
    st.lists(NUMBERS, max_size=3).map(lambda values: AnyInt(tuple(values))),
    st.booleans().map(lambda value: IsBool(value=value)),
    st.builds(IntRange, st.none() | NUMBERS, st.none() | NUMBERS),
    st.just(IsMissing()),
)
CONDITIONS = st.builds(
    Condition, st.sampled_from([f"fields.{name}" for name in (*FIELDS, "absent")]), TESTS
)


def _filters(parts: st.SearchStrategy[Condition | Filter]) -> st.SearchStrategy[Filter]:
    some = st.lists(parts, max_size=3).map(tuple)
    return st.builds(Filter, all_of=some, any_of=some, none_of=some)


FILTERS = _filters(CONDITIONS | _filters(CONDITIONS))


@pytest.fixture(scope="module")
def shard() -> Iterator[edge.EdgeShard]:
    folder = tempfile.mkdtemp()
    config = edge.EdgeConfig(
        sparse_vectors={"unused": edge.EdgeSparseVectorParams()}, wal_enabled=False
    )
    made = edge.EdgeShard.create(folder, config)
    schemas = {
        IndexKind.BOOL: edge.PayloadSchemaType.Bool,
        IndexKind.INTEGER: edge.PayloadSchemaType.Integer,
    }
    for path, kind in indexed_paths(FIELDS).items():
        schema = schemas.get(kind, edge.PayloadSchemaType.Keyword)
        made.update(edge.UpdateOperation.create_field_index(path, schema))
    yield made
    made.close()
    shutil.rmtree(folder)


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(records=st.lists(RECORDS, min_size=1, max_size=6), wanted=FILTERS)
def test_a_filter_means_the_same_here_and_in_both_engines(
    shard: edge.EdgeShard, records: list[dict[str, FieldValue]], wanted: Filter
) -> None:
    shard.update(edge.UpdateOperation.delete_points_by_filter(edge.Filter()))
    points = [
        edge.Point(
            UUID(int=number + 1),
            {},
            {"fields": {k: list(v) if isinstance(v, tuple) else v for k, v in record.items()}},
        )
        for number, record in enumerate(records)
    ]
    shard.update(edge.UpdateOperation.upsert_points(points))

    expected = {number for number, record in enumerate(records) if wanted.accepts(_look_up(record))}

    assert _passing(shard, edge_filter(wanted)) == expected
    assert _passing(shard, served_filter(qdrant_filter(wanted))) == expected


def _look_up(record: dict[str, FieldValue]) -> Callable[[str], FieldValue]:
    return lambda key: record.get(key.removeprefix("fields."))


def _passing(shard: edge.EdgeShard, wanted: edge.Filter) -> set[int]:
    records, _ = shard.scroll(edge.ScrollRequest(limit=100, filter=wanted))
    return {UUID(str(record.id)).int - 1 for record in records}
