"""
What every backend of an index does alike.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.store import Publication
from assembler.errors import VersionGone
from assembler.model import PointKind
from assembler.ports import DenseSearch, SparseSearch
from assembler.scope import IndexVersion
from assembler.span import Span
from tests.contract.conftest import Backend
from tests.contract.corpus import (
    DIMENSION,
    Source,
    hits_of,
    manifest,
    publish,
    read_scope,
    section_keys_of,
    sources_in,
    summary,
    write,
)
from tests.fakes import hash_vector

CATS = Source("cats", ("Cats sleep all day. Cats hunt at night.", "A cat purrs. It is content."))
DOGS = Source("dogs", ("Dogs bark at cats. Dogs fetch sticks.",))
NEWER_CATS = replace(CATS, sections=("Cats sleep all night.",), version="v2")


def replace_cats(backend: Backend, *, is_removed: bool = False) -> IndexVersion:
    """
    Publish a newer version of the cats; the old one stays readable unless it is removed.
    """
    with backend.store.publication("docs", "") as publication:
        publication.open_generation(manifest())
        revision = publication.ledger.next_revision
        (old,) = [row for row in publication.ledger.rows if row.source_id == "cats"]
        ended = replace(
            old,
            active_to_rev=old.active_to_rev if is_removed else revision,
            to_rev=revision if is_removed else old.to_rev,
        )
        publication.end_version(old, active_to_rev=ended.active_to_rev, to_rev=ended.to_rev)
        kept = [row for row in publication.ledger.rows if row != old]
        new = write(publication, "", [NEWER_CATS])
        return publication.commit(
            [*kept, ended, *new],
            readers_required=False,
            summary=summary(revision, added=1, ended=1),
        )


async def test_what_was_published_is_read_back_equal(backend: Backend) -> None:
    publish(backend.store, [CATS, DOGS])
    scope = await read_scope(backend)
    chunks, sections = CATS.points("", 1)

    read = await backend.reading.sections(scope, [point.section.key for point in sections])
    found = await backend.reading.chunks(scope, [point.chunk.key for point in chunks])
    texts = await backend.reading.chunk_texts(scope, [point.chunk.key for point in chunks])

    assert sorted(read, key=lambda section: section.ordinal) == [p.section for p in sections]
    assert sorted(found, key=lambda chunk: chunk.ordinal) == [p.chunk for p in chunks]
    assert texts == {point.chunk.key: point.text for point in chunks}


async def test_sections_are_found_by_the_range_they_cover(backend: Backend) -> None:
    publish(backend.store, [CATS, DOGS])
    scope = await read_scope(backend)
    first, second = (point.section for point in CATS.points("", 1)[1])

    async def covering(start: int, end: int) -> list[int]:
        found = await backend.reading.sections_covering(
            scope, "cats", CATS.sha256, Span(start, end)
        )
        return [section.ordinal for section in found]

    assert await covering(0, 1) == [0]
    assert await covering(first.span.end - 1, first.span.end) == [0]
    assert await covering(second.span.start, second.span.start + 1) == [1]
    assert await covering(0, second.span.end) == [0, 1]
    assert await covering(second.span.end, second.span.end + 5) == []


async def test_text_searches_find_chunks_and_sections(backend: Backend) -> None:
    publish(backend.store, [CATS, DOGS])
    scope = await read_scope(backend)

    sticks, purrs, nothing = await backend.reading.search_text(
        scope,
        [
            SparseSearch("sticks", PointKind.CHUNK, 5),
            SparseSearch("purrs", PointKind.SECTION, 5),
            SparseSearch("zebra", PointKind.CHUNK, 5),
        ],
    )

    assert [hit.chunk for hit in hits_of(sticks)] == [DOGS.points("", 1)[0][1].chunk]
    assert section_keys_of(purrs) == [CATS.points("", 1)[1][1].section.key]
    assert sticks[0].score > 0
    assert list(nothing) == []


async def test_a_search_for_a_stored_vector_finds_its_chunk_first(backend: Backend) -> None:
    publish(backend.store, [CATS, DOGS])
    scope = await read_scope(backend)
    point = DOGS.points("", 1)[0][1]

    (found,) = await backend.reading.search_vectors(scope, [DenseSearch(point.vector, 3)])

    hits = hits_of(found)
    assert hits[0].chunk == point.chunk
    assert hits[0].score == pytest.approx(1.0, abs=1e-4)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


async def test_ties_at_the_cut_are_decided_by_key(backend: Backend) -> None:
    same = [Source(f"copy-{number}", ("The very same words.",)) for number in range(60)]
    publish(backend.store, same)
    scope = await read_scope(backend)
    keys = sorted(source.points("", 1)[0][0].chunk.key for source in same)
    vector = hash_vector("The very same words.", DIMENSION)

    (dense,) = await backend.reading.search_vectors(scope, [DenseSearch(vector, 7)])
    (sparse,) = await backend.reading.search_text(
        scope, [SparseSearch("same words", PointKind.CHUNK, 7)]
    )

    assert [hit.chunk.key for hit in hits_of(dense)] == keys[:7]
    assert [hit.chunk.key for hit in hits_of(sparse)] == keys[:7]


async def test_a_revision_reads_the_same_after_the_next_one(backend: Backend) -> None:
    one = publish(backend.store, [CATS, DOGS])
    before = await read_scope(backend, exactly=one)
    search = [SparseSearch("cats", kind, 9) for kind in PointKind]
    found = await backend.reading.search_text(before, search)
    two = replace_cats(backend)
    everything = [DOGS, CATS, NEWER_CATS]

    after = await read_scope(backend, exactly=two)

    assert await backend.reading.search_text(before, search) == found
    assert await sources_in(backend, before, everything) == {("cats", "v1"), ("dogs", "v1")}
    assert await sources_in(backend, after, everything) == {("cats", "v2"), ("dogs", "v1")}
    assert (one.revision, two.revision) == (1, 2)
    assert one.generation == two.generation


async def test_a_removed_version_is_gone_for_every_policy_but_retained(backend: Backend) -> None:
    publish(backend.store, [CATS])
    replace_cats(backend, is_removed=True)
    everything = [CATS, NEWER_CATS]

    for policy, versions in {
        "ACTIVE": {"v2"},
        "ALL": {"v2"},
        "RETAINED": {"v1", "v2"},
    }.items():
        scope = await read_scope(backend, policy=policy)
        found = await sources_in(backend, scope, everything)
        assert {version for _, version in found} == versions


async def test_a_change_without_commit_leaves_the_state_as_it_was(backend: Backend) -> None:
    publish(backend.store, [CATS])

    with pytest.raises(ZeroDivisionError), backend.store.publication("docs", "") as publication:
        abandon(publication, fails=True)

    scope = await read_scope(backend)
    assert scope.version.revision == 1
    assert await sources_in(backend, scope, [CATS, NEWER_CATS, DOGS]) == {("cats", "v1")}


async def test_an_abandoned_change_never_comes_back(backend: Backend) -> None:
    publish(backend.store, [CATS])
    with backend.store.publication("docs", "") as publication:
        abandon(publication)

    publish(backend.store, [DOGS])

    scope = await read_scope(backend)
    assert scope.version.revision == 2
    found = await sources_in(backend, scope, [CATS, NEWER_CATS, DOGS])
    assert found == {("cats", "v1"), ("dogs", "v1")}
    rows = await backend.reading.rows("docs", "", "cats")
    assert [(row.version, row.from_rev, row.active_to_rev) for row in rows] == [("v1", 1, 2**53)]


def abandon(publication: Publication, *, fails: bool = False) -> None:
    publication.open_generation(manifest())
    publication.end_version(publication.ledger.rows[0], active_to_rev=2, to_rev=2)
    write(publication, "", [NEWER_CATS])
    if fails:
        raise ZeroDivisionError


async def test_a_text_that_returns_is_read_once(backend: Backend) -> None:
    publish(backend.store, [CATS])
    with backend.store.publication("docs", "") as publication:
        publication.open_generation(manifest())
        (old,) = publication.ledger.rows
        publication.end_version(old, to_rev=2)
        ended = replace(old, to_rev=2)
        publication.commit([ended], readers_required=False, summary=summary(2, ended=1))
    publish(backend.store, [CATS])
    keys = [point.section.key for point in CATS.points("", 3)[1]]

    for policy in ("ACTIVE", "RETAINED"):
        scope = await read_scope(backend, policy=policy)
        read = await backend.reading.sections(scope, keys)
        assert sorted(section.ordinal for section in read) == [0, 1]
        assert {section.provenance.from_rev for section in read} == {3}

    rows = await backend.reading.rows("docs", "", "cats")
    assert [(row.from_rev, row.to_rev) for row in rows] == [(1, 2), (3, 2**53)]


async def test_another_generation_starts_empty_and_the_old_one_stays(backend: Backend) -> None:
    everything = [CATS, DOGS]
    old = publish(backend.store, [CATS])
    under_way = await read_scope(backend)
    assert await sources_in(backend, under_way, everything) == {("cats", "v1")}
    with backend.store.publication("docs", "") as publication:
        publication.open_generation(manifest(chunker="2"))
        rows = write(publication, "", [DOGS])
        new = publication.commit(rows, readers_required=False, summary=summary(2, added=1))

    assert new.generation != old.generation
    assert new.revision == 2
    state = await backend.reading.resolve("docs", "")
    assert (state.version, state.oldest_revision) == (new, 2)
    assert await sources_in(backend, await read_scope(backend), everything) == {("dogs", "v1")}
    assert await sources_in(backend, under_way, everything) == {("cats", "v1")}


async def test_a_generation_that_is_not_there_is_gone(backend: Backend) -> None:
    publish(backend.store, [CATS])
    scope = await read_scope(backend, exactly=IndexVersion("g0000000000", 1))

    with pytest.raises(VersionGone):
        await backend.reading.search_text(scope, [SparseSearch("cats", PointKind.CHUNK, 1)])
    with pytest.raises(VersionGone):
        await backend.reading.sections(scope, ["a"])


async def test_what_does_not_exist_is_not_returned(backend: Backend) -> None:
    publish(backend.store, [CATS])
    scope = await read_scope(backend)
    key = CATS.points("", 1)[1][0].section.key

    assert [s.key for s in await backend.reading.sections(scope, [key, "missing"])] == [key]
    assert await backend.reading.sections(scope, []) == []
    assert await backend.reading.chunk_texts(scope, [key, "missing"]) == {}
    assert await backend.reading.search_text(scope, []) == []
    assert await backend.reading.search_vectors(scope, []) == []


async def test_an_index_without_sources_answers_with_nothing(backend: Backend) -> None:
    publish(backend.store, [])
    scope = await read_scope(backend)
    vector = hash_vector("anything", DIMENSION)

    text = await backend.reading.search_text(scope, [SparseSearch("cats", PointKind.CHUNK, 3)])
    dense = await backend.reading.search_vectors(scope, [DenseSearch(vector, 3)])

    assert [list(found) for found in (*text, *dense)] == [[], []]


async def test_a_tenant_that_never_published_has_an_empty_part(backend: Backend) -> None:
    version = publish(backend.store, [CATS], tenant="a")

    state = await backend.reading.resolve("docs", "b")

    assert state.version == IndexVersion(version.generation, 0)
    scope = await read_scope(backend, tenant="b")
    assert await sources_in(backend, scope, [CATS], tenant="a") == set()
    assert await backend.reading.rows("docs", "b", "cats") == []
