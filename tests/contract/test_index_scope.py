"""
What a scope lets through, in every backend alike.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from assembler.filters import (
    AnyInt,
    AnyString,
    Condition,
    Filter,
    IntRange,
    IsBool,
    IsMissing,
    Test,
)
from assembler.model import PointKind
from assembler.ports import DenseSearch, SparseSearch
from assembler.scope import Pin
from tests.contract.conftest import Backend
from tests.contract.corpus import (
    DIMENSION,
    Source,
    hits_of,
    manifest,
    publish,
    read_scope,
    section_keys_of,
    summary,
    write,
)
from tests.fakes import hash_vector

BODY = ("Cats sleep here. They purr.",)
OPEN = Source("open", BODY, fields={"team": "red", "tags": ("x", "y"), "public": True})
ANN = Source(
    "ann",
    BODY,
    readers=("ann", "group"),
    fields={"team": "blue", "public": False, "year": 2020, "changed": 1_600_000_000_000_000},
)
NOBODY = Source("nobody", BODY, readers=(), fields={"tags": (), "year": 2024, "odd name": "z"})
ALL = [OPEN, ANN, NOBODY]


async def seen(backend: Backend, **asked: Any) -> set[str]:
    """
    Return the sources that every kind of read sees, which have to agree.
    """
    scope = await read_scope(backend, **asked)
    vector = hash_vector("Cats sleep here.", DIMENSION)
    chunks, sections = await backend.reading.search_text(
        scope,
        [SparseSearch("cats", PointKind.CHUNK, 50), SparseSearch("cats", PointKind.SECTION, 50)],
    )
    dense, dense_sections = await backend.reading.search_vectors(
        scope, [DenseSearch(vector, 50), DenseSearch(vector, 50, PointKind.SECTION)]
    )
    points = [source.points(scope.tenant, 1) for source in ALL]
    section_keys = {p.section.key: p.section.provenance.source_id for _, s in points for p in s}
    chunk_keys = {p.chunk.key: p.chunk.provenance.source_id for c, _ in points for p in c}
    read = await backend.reading.sections(scope, list(section_keys))
    found = await backend.reading.chunks(scope, list(chunk_keys))
    texts = await backend.reading.chunk_texts(scope, list(chunk_keys))
    everywhere = tuple(section_keys)
    (inside,) = await backend.reading.search_text(
        scope, [SparseSearch("cats", PointKind.CHUNK, 50, within=everywhere)]
    )
    (dense_inside,) = await backend.reading.search_vectors(
        scope, [DenseSearch(vector, 50, within=everywhere)]
    )
    views = [
        {hit.chunk.provenance.source_id for hit in hits_of(chunks)},
        {section_keys[key] for key in section_keys_of(sections)},
        {hit.chunk.provenance.source_id for hit in hits_of(dense)},
        {section_keys[key] for key in section_keys_of(dense_sections)},
        {hit.chunk.provenance.source_id for hit in hits_of(inside)},
        {hit.chunk.provenance.source_id for hit in hits_of(dense_inside)},
        {section.provenance.source_id for section in read},
        {chunk.provenance.source_id for chunk in found},
        {chunk_keys[key] for key in texts},
    ]
    assert all(view == views[0] for view in views), views
    return views[0]


@pytest.mark.parametrize(
    ("is_required", "principals", "expected"),
    [
        (False, None, {"open", "nobody"}),
        (False, (), {"open", "nobody"}),
        (False, ("ann",), {"open", "ann", "nobody"}),
        (False, ("bob", "group"), {"open", "ann", "nobody"}),
        (False, ("bob",), {"open", "nobody"}),
        (True, None, set()),
        (True, (), set()),
        (True, ("ann",), {"ann"}),
        (True, ("bob",), set()),
    ],
)
async def test_readers(
    backend: Backend,
    is_required: bool,
    principals: tuple[str, ...] | None,
    expected: set[str],
) -> None:
    publish(backend.store, ALL, readers_required=is_required)

    assert await seen(backend, principals=principals) == expected


@pytest.mark.parametrize(
    ("field", "test", "expected"),
    [
        ("team", AnyString(("red", "green")), {"open"}),
        ("team", AnyString(()), set()),
        ("tags", AnyString(("y",)), {"open"}),
        ("tags", IsMissing(), {"ann", "nobody"}),
        ("public", IsBool(value=True), {"open"}),
        ("public", IsBool(value=False), {"ann"}),
        ("year", AnyInt((2024, 1)), {"nobody"}),
        ("year", IntRange(2020, 2024), {"ann"}),
        ("year", IntRange(), {"ann", "nobody"}),
        ("changed", IntRange(at_least=1_600_000_000_000_000, is_time=True), {"ann"}),
        ("changed", IntRange(at_least=1_600_000_000_000_001, is_time=True), set()),
        ("odd name", AnyString(("z",)), {"nobody"}),
    ],
)
async def test_filters(backend: Backend, field: str, test: Test, expected: set[str]) -> None:
    publish(backend.store, ALL)
    condition = Condition(f"fields.{field}", test)
    everyone = {"open", "ann", "nobody"}
    asked: dict[str, Any] = {"principals": ("ann",)}

    assert await seen(backend, filter=Filter(all_of=(condition,)), **asked) == expected
    assert await seen(backend, filter=Filter(any_of=(condition,)), **asked) == expected
    refused = await seen(backend, filter=Filter(none_of=(condition,)), **asked)
    assert refused == everyone - expected


async def test_source_ids(backend: Backend) -> None:
    publish(backend.store, ALL)

    assert await seen(backend, source_ids=("open", "ann")) == {"open"}
    assert await seen(backend, source_ids=("missing",)) == set()


async def test_a_tenant_sees_its_own_part_alone(backend: Backend) -> None:
    publish(backend.store, [OPEN], tenant="a")
    publish(backend.store, [OPEN, NOBODY], tenant="b")
    publish(backend.store, [NOBODY], tenant="")

    assert await seen(backend, tenant="a") == {"open"}
    assert await seen(backend, tenant="b") == {"open", "nobody"}
    assert await seen(backend, tenant="") == {"nobody"}
    assert await seen(backend, tenant="c") == set()


async def test_another_tenants_texts_do_not_change_a_score(backend: Backend) -> None:
    publish(backend.store, ALL, tenant="a")
    asked = [SparseSearch("cats purr", kind, 9) for kind in PointKind]
    scope = await read_scope(backend, tenant="a")
    before = await backend.reading.search_text(scope, asked)

    publish(backend.store, [replace(OPEN, source_id=f"{n}") for n in range(9)], tenant="b")

    assert await backend.reading.search_text(scope, asked) == before


async def test_readers_change_in_all_revisions(backend: Backend) -> None:
    one = publish(backend.store, [OPEN, NOBODY])
    with backend.store.publication("docs", "") as publication:
        publication.open_generation(manifest())
        publication.set_readers("open", ("ann",))
        rows = [
            replace(row, readers=("ann",)) if row.source_id == "open" else row
            for row in publication.ledger.rows
        ]
        publication.commit(rows, readers_required=False, summary=summary(2))

    assert await seen(backend) == {"nobody"}
    assert await seen(backend, exactly=one) == {"nobody"}
    assert await seen(backend, exactly=one, principals=("ann",)) == {"open", "nobody"}
    (row,) = await backend.reading.rows("docs", "", "open")
    assert row.readers == ("ann",)

    with backend.store.publication("docs", "") as publication:
        publication.open_generation(manifest())
        publication.set_readers("open", None)
        publication.commit(rows, readers_required=False, summary=summary(3))

    assert await seen(backend) == {"open", "nobody"}


async def test_pinned_versions_are_read_whether_active_or_not(backend: Backend) -> None:
    publish(backend.store, [OPEN])
    newer = replace(OPEN, version="v2", sections=("Cats are awake.",))
    with backend.store.publication("docs", "") as publication:
        publication.open_generation(manifest())
        (old,) = publication.ledger.rows
        publication.end_version(old, active_to_rev=2)
        rows = write(publication, "", [newer])
        ended = replace(old, active_to_rev=2)
        publication.commit([ended, *rows], readers_required=False, summary=summary(2))

    async def versions(policy: str, *pins: Pin) -> set[str]:
        scope = await read_scope(backend, policy=policy, pins=pins)
        (hits,) = await backend.reading.search_text(
            scope, [SparseSearch("cats", PointKind.CHUNK, 9)]
        )
        return {hit.chunk.provenance.version for hit in hits_of(hits)}

    assert await versions("ACTIVE") == {"v2"}
    assert await versions("ALL") == {"v1", "v2"}
    assert await versions("PINNED", Pin("open", "v1")) == {"v1"}
    assert await versions("PINNED", Pin("open", "v1"), Pin("open", "v2")) == {"v1", "v2"}
    assert await versions("PINNED", Pin("other", "v1")) == set()
