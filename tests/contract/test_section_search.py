"""
Searches for sections by vector, and for chunks inside sections, in every backend alike.
"""

from __future__ import annotations

import pytest

from assembler.model import Hit, PointKind, SectionHit
from assembler.ports import DenseSearch, SparseSearch
from assembler.scope import ReadScope
from tests.contract.conftest import Backend
from tests.contract.corpus import (
    Source,
    hits_of,
    manifest,
    publish,
    read_scope,
    section_keys_of,
    summary,
    write,
)

CATS = Source("cats", ("Cats sleep all day. Cats hunt at night.", "A cat purrs. Cats are content."))
DOGS = Source("dogs", ("Dogs bark at cats. Dogs fetch sticks.",))
ANN = Source("ann", ("Cats of Ann sleep.",), readers=("ann",))
ALL = [CATS, DOGS, ANN]
FIRST, SECOND = (point.section.key for point in CATS.points("", 1)[1])
(BARKING,) = (point.section.key for point in DOGS.points("", 1)[1])
(ANNS,) = (point.section.key for point in ANN.points("", 1)[1])


async def inside(
    backend: Backend, scope: ReadScope, keys: tuple[str, ...] | None, limit: int = 9
) -> tuple[list[Hit], list[Hit]]:
    """
    Return what searches for chunks find in some sections, by text and by vector.
    """
    vector = CATS.points("", 1)[0][0].vector
    (text,) = await backend.reading.search_text(
        scope, [SparseSearch("cats", PointKind.CHUNK, limit, within=keys)]
    )
    (dense,) = await backend.reading.search_vectors(
        scope, [DenseSearch(vector, limit, within=keys)]
    )
    return hits_of(text), hits_of(dense)


async def test_a_section_is_found_by_the_mean_of_its_chunks(backend: Backend) -> None:
    publish(backend.store, ALL)
    scope = await read_scope(backend)
    point = CATS.points("", 1)[1][1]
    assert point.vector

    (found,) = await backend.reading.search_vectors(
        scope, [DenseSearch(point.vector, 3, PointKind.SECTION)]
    )

    assert section_keys_of(found)[0] == SECOND
    assert found[0].score == pytest.approx(1.0, abs=1e-4)
    assert all(isinstance(hit, SectionHit) for hit in found)
    assert set(section_keys_of(found)) == {FIRST, SECOND, BARKING}


async def test_searches_inside_sections_find_nothing_else(backend: Backend) -> None:
    publish(backend.store, ALL)
    scope = await read_scope(backend)

    for keys in ((FIRST,), (SECOND, BARKING), (FIRST, SECOND, BARKING)):
        text, dense = await inside(backend, scope, keys)
        assert {hit.chunk.section_key for hit in text} == set(keys)
        assert {hit.chunk.section_key for hit in dense} == set(keys)


async def test_scores_are_the_same_inside_sections(backend: Backend) -> None:
    publish(backend.store, ALL)
    scope = await read_scope(backend)

    everywhere = await inside(backend, scope, None)
    within = await inside(backend, scope, (SECOND,))

    for all_hits, some in zip(everywhere, within, strict=True):
        assert some == [hit for hit in all_hits if hit.chunk.section_key == SECOND]


async def test_the_limit_and_the_order_hold_inside_sections(backend: Backend) -> None:
    publish(backend.store, ALL)
    scope = await read_scope(backend)

    whole = await inside(backend, scope, (FIRST, BARKING))
    cut = await inside(backend, scope, (BARKING, FIRST), limit=2)

    assert [hits[:2] for hits in whole] == list(cut)


async def test_no_section_finds_nothing(backend: Backend) -> None:
    publish(backend.store, ALL)
    scope = await read_scope(backend)

    assert await inside(backend, scope, ()) == ([], [])
    assert await inside(backend, scope, ("missing",)) == ([], [])


async def test_naming_a_section_opens_nothing_that_the_scope_closes(backend: Backend) -> None:
    publish(backend.store, ALL)
    publish(backend.store, [CATS], tenant="b")
    closed = await read_scope(backend)
    other = await read_scope(backend, tenant="b")
    opened = await read_scope(backend, principals=("ann",))

    assert await inside(backend, closed, (ANNS,)) == ([], [])
    assert await inside(backend, other, (FIRST, ANNS)) == ([], [])
    text, dense = await inside(backend, opened, (ANNS,))
    assert {hit.chunk.provenance.source_id for hit in (*text, *dense)} == {"ann"}


async def test_sections_can_be_narrowed_to_some_too(backend: Backend) -> None:
    publish(backend.store, ALL)
    scope = await read_scope(backend)
    vector = CATS.points("", 1)[0][0].vector

    (text,) = await backend.reading.search_text(
        scope, [SparseSearch("cats", PointKind.SECTION, 9, within=(SECOND,))]
    )
    (dense,) = await backend.reading.search_vectors(
        scope, [DenseSearch(vector, 9, PointKind.SECTION, (SECOND,))]
    )

    assert section_keys_of(text) == section_keys_of(dense) == [SECOND]


async def test_a_generation_of_before_serves_all_but_section_vectors(backend: Backend) -> None:
    old = manifest(section_vectors=False)
    with backend.store.publication("docs", "") as publication:
        publication.open_generation(old)
        rows = write(publication, "", ALL)
        version = publication.commit(rows, readers_required=False, summary=summary(1, added=3))
    scope = await read_scope(backend)

    text, dense = await inside(backend, scope, None)

    assert version.generation == old.generation != manifest().generation
    assert text
    assert dense
    assert not (await backend.reading.resolve("docs", "")).has_section_vectors
    publish(backend.store, ALL)
    assert (await backend.reading.resolve("docs", "")).has_section_vectors
