"""
How every backend is rolled back, collected and purged.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.records import Retention
from assembler.errors import (
    IndexUnknown,
    InvalidRequest,
    SourceUnknown,
    VersionGone,
    VersionUnknown,
)
from assembler.resolve import check_pins
from assembler.scope import IndexVersion, Pin, Scope
from assembler.source_text import SourceRequest, read_source
from tests.contract.conftest import Backend
from tests.contract.corpus import Source, manifest, read_scope
from tests.contract.desired import OTHER, bring_to, minutes, prepare, readable, summary_of

CATS = Source("cats", ("Cats sleep all day. Cats hunt at night.", "A cat purrs."))
NEW_CATS = replace(CATS, sections=("Cats sleep at night. Cats eat.",), version="v2")
DOGS = Source("dogs", ("Dogs bark at cats.",))
BIRDS = Source("birds", ("Birds sing.",))
ALL = (CATS, NEW_CATS, DOGS, BIRDS)
ONE = Retention(revisions=1, retired_seconds=0.0)


def names(*sources: Source) -> set[tuple[str, str]]:
    return {(source.source_id, source.version) for source in sources}


async def text_of(backend: Backend, source: Source) -> str:
    asked = SourceRequest("docs", Scope(), source.source_id, source.version, None, 0, None)
    return (await read_source(asked, backend.reading, backend.reading)).text


async def test_a_rollback_restores_what_was_replaced_and_ended(backend: Backend) -> None:
    first = bring_to(backend.store, [CATS, DOGS])
    second = bring_to(backend.store, [NEW_CATS])

    with backend.store.upkeep("docs", "") as upkeep:
        assert upkeep.roll_back(None, at=minutes(3)) == first

    assert (await backend.reading.resolve("docs", "", refresh=True)).version == first
    assert await readable(backend, ALL) == names(CATS, DOGS)
    assert await readable(backend, ALL, second) is None
    assert [row.source_id for row in backend.store.listings()[0].ledger.rows] == ["cats", "dogs"]
    assert all(row.to_rev > 2 for row in backend.store.listings()[0].ledger.rows)


async def test_a_rolled_back_revision_never_comes_back_and_its_number_is_not_used_again(
    backend: Backend,
) -> None:
    bring_to(backend.store, [CATS, DOGS])
    second = bring_to(backend.store, [NEW_CATS])
    with backend.store.upkeep("docs", "") as upkeep:
        upkeep.roll_back(1, at=minutes(3))

    third = bring_to(backend.store, [CATS, DOGS, BIRDS])

    assert third == IndexVersion(second.generation, 3)
    assert await readable(backend, ALL) == names(CATS, DOGS, BIRDS)
    assert await readable(backend, ALL, second) is None
    assert await readable(backend, ALL, replace(third, revision=1)) == names(CATS, DOGS)
    revisions = backend.store.listings()[0].ledger.revisions
    assert [one.revision for one in revisions] == [1, 3]


async def test_a_rollback_leads_back_to_another_generation(backend: Backend) -> None:
    first = bring_to(backend.store, [CATS, DOGS])
    second = bring_to(backend.store, [NEW_CATS], into=OTHER)
    assert await readable(backend, ALL) == names(NEW_CATS)

    with backend.store.upkeep("docs", "") as upkeep:
        assert upkeep.roll_back(None, at=minutes(3)) == first
    assert await readable(backend, ALL) == names(CATS, DOGS)

    third = bring_to(backend.store, [CATS])
    assert await readable(backend, ALL) == names(CATS)
    fourth = bring_to(backend.store, [BIRDS], into=OTHER)
    assert (third.generation, fourth.generation) == (first.generation, second.generation)
    assert await readable(backend, ALL) == names(BIRDS)

    with backend.store.upkeep("docs", "") as upkeep:
        assert upkeep.roll_back(3, at=minutes(5)) == third
    assert await readable(backend, ALL) == names(CATS)
    assert await readable(backend, ALL, first) == names(CATS, DOGS)


async def test_a_return_to_a_generation_shows_nothing_of_the_stay_before(backend: Backend) -> None:
    bring_to(backend.store, [CATS, DOGS])
    bring_to(backend.store, [CATS], into=OTHER)

    third = bring_to(backend.store, [BIRDS], into=manifest())

    assert await readable(backend, ALL) == names(BIRDS)
    with backend.store.upkeep("docs", "") as upkeep:
        upkeep.roll_back(1, at=minutes(4))
    assert await readable(backend, ALL) == names(CATS, DOGS)
    assert await readable(backend, ALL, third) is None


async def test_there_is_no_way_back_to_what_is_not_kept(backend: Backend) -> None:
    bring_to(backend.store, [CATS])
    bring_to(backend.store, [DOGS])

    with backend.store.upkeep("docs", "") as upkeep:
        for wrong in (0, 7):
            with pytest.raises(InvalidRequest, match="kept before it: 1"):
                upkeep.roll_back(wrong, at=minutes(3))
        upkeep.roll_back(None, at=minutes(3))
    with (
        backend.store.upkeep("docs", "") as upkeep,
        pytest.raises(InvalidRequest, match="kept before it: none"),
    ):
        upkeep.roll_back(None, at=minutes(3))
    with pytest.raises(IndexUnknown), backend.store.upkeep("other", ""):
        pass


async def test_a_rollback_that_is_asked_again_is_not_done_twice(backend: Backend) -> None:
    first, second, third = (bring_to(backend.store, [one]) for one in (CATS, DOGS, BIRDS))

    for _ in range(2):
        with backend.store.upkeep("docs", "") as upkeep:
            assert upkeep.roll_back(None, at=minutes(4), head=third.revision) == second
    assert await readable(backend, ALL) == names(DOGS)

    for _ in range(2):
        with backend.store.upkeep("docs", "") as upkeep:
            assert upkeep.roll_back(1, at=minutes(4), head=second.revision) == first
    with backend.store.upkeep("docs", "") as upkeep:
        assert upkeep.roll_back(1, at=minutes(4)) == first
    assert await readable(backend, ALL) == names(CATS)


@pytest.mark.parametrize("at", [1790042587.1329303, 1790079900.5595841, 1790079900.0])
async def test_a_rollback_at_any_fraction_of_a_second_is_done_and_said_to_be(
    backend: Backend, at: float
) -> None:
    first = bring_to(backend.store, [CATS])
    bring_to(backend.store, [DOGS])

    # An engine gives the first two back with another last bit.
    with backend.store.upkeep("docs", "") as upkeep:
        assert upkeep.roll_back(None, at=at) == first
    assert await readable(backend, ALL) == names(CATS)


async def test_a_rollback_from_a_head_that_is_not_there_does_nothing(backend: Backend) -> None:
    for one in (CATS, DOGS, BIRDS):
        bring_to(backend.store, [one])
    with backend.store.upkeep("docs", "") as upkeep:
        upkeep.roll_back(None, at=minutes(4))
    with backend.store.upkeep("docs", "") as upkeep:
        upkeep.collect(Retention(9, 0.0), at=minutes(4))  # remembers where the rollback began

    for revision, head in ((None, 1), (1, 3), (None, 9)):
        with (
            backend.store.upkeep("docs", "") as upkeep,
            pytest.raises(InvalidRequest, match=f"at revision 2, not at {head}"),
        ):
            upkeep.roll_back(revision, at=minutes(5), head=head)
    with backend.store.upkeep("docs", "") as upkeep:
        assert upkeep.roll_back(None, at=minutes(5), head=3).revision == 2

    bring_to(backend.store, [CATS])
    with (
        backend.store.upkeep("docs", "") as upkeep,
        pytest.raises(InvalidRequest, match="at revision 4, not at 3"),
    ):
        upkeep.roll_back(None, at=minutes(6), head=3)


async def test_a_collection_keeps_what_a_kept_revision_sees(backend: Backend) -> None:
    versions = [
        bring_to(backend.store, wanted)
        for wanted in ([CATS, DOGS], [NEW_CATS, DOGS], [NEW_CATS, BIRDS])
    ]

    with backend.store.upkeep("docs", "") as upkeep:
        done = upkeep.collect(Retention(revisions=2, retired_seconds=0.0), at=minutes(100))

    assert (done.kept, done.revisions, done.generations) == ((2, 3), 1, ())
    assert done.points == 5  # the old cats: two sections of three chunks
    assert await readable(backend, ALL, versions[0]) is None
    assert await readable(backend, ALL, versions[1]) == names(NEW_CATS, DOGS)
    assert await readable(backend, ALL) == names(NEW_CATS, BIRDS)


async def test_a_revision_that_was_retired_lately_is_kept(backend: Backend) -> None:
    for wanted in ([CATS], [DOGS], [BIRDS]):
        bring_to(backend.store, wanted)

    with backend.store.upkeep("docs", "") as upkeep:
        # Revision 1 ceased to be the head at minute 2, revision 2 at minute 3.
        early = upkeep.collect(Retention(1, retired_seconds=120.0), at=minutes(3.9))
        late = upkeep.collect(Retention(1, retired_seconds=120.0), at=minutes(4.5))

    assert (early.kept, late.kept) == ((1, 2, 3), (2, 3))


async def test_a_collected_version_is_gone_not_unknown(backend: Backend) -> None:
    bring_to(backend.store, [CATS])
    bring_to(backend.store, [NEW_CATS])
    assert await text_of(backend, CATS) == CATS.text

    with backend.store.upkeep("docs", "") as upkeep:
        upkeep.collect(ONE, at=minutes(100))

    assert await text_of(backend, NEW_CATS) == NEW_CATS.text
    with pytest.raises(VersionGone):
        await text_of(backend, CATS)
    with pytest.raises(VersionUnknown):
        await text_of(backend, replace(CATS, version="v7"))
    rows = await backend.reading.rows("docs", "", "cats")
    with pytest.raises(VersionGone):
        check_pins(Pin("cats", "v1"), rows, await read_scope(backend))


async def test_a_generation_goes_when_no_tenant_needs_it(backend: Backend) -> None:
    old = bring_to(backend.store, [CATS], tenant="a")
    bring_to(backend.store, [DOGS], tenant="b")
    for tenant in ("a", "b"):
        bring_to(backend.store, [BIRDS], tenant=tenant, into=OTHER)

    with backend.store.upkeep("docs", "a") as upkeep:
        assert upkeep.collect(ONE, at=minutes(100)).generations == ()
    with backend.store.upkeep("docs", "b") as upkeep:
        assert upkeep.collect(ONE, at=minutes(100)).generations == (old.generation,)

    for tenant in ("a", "b"):
        assert await readable(backend, ALL, tenant=tenant) == names(BIRDS)
    with backend.store.publication("docs", "a") as publication:
        assert publication.manifest_of(old.generation) is None
    bring_to(backend.store, [CATS], tenant="a", into=manifest())
    assert await readable(backend, ALL, tenant="a") == names(CATS)


async def test_a_collection_touches_no_other_tenant(backend: Backend) -> None:
    for tenant in ("a", "b"):
        bring_to(backend.store, [CATS], tenant=tenant)
    first = bring_to(backend.store, [DOGS], tenant="b")

    with backend.store.upkeep("docs", "a") as upkeep:
        upkeep.collect(ONE, at=minutes(100))

    before = replace(first, revision=1)
    assert await readable(backend, ALL, before, tenant="b") == names(CATS)


async def test_a_rolled_back_revision_is_collected_with_its_time(backend: Backend) -> None:
    bring_to(backend.store, [CATS])
    bring_to(backend.store, [DOGS])
    with backend.store.upkeep("docs", "") as upkeep:
        upkeep.roll_back(None, at=minutes(3))
    hour = Retention(1, retired_seconds=3600.0)

    with backend.store.upkeep("docs", "") as upkeep:
        early = upkeep.collect(hour, at=minutes(4))
    with backend.store.upkeep("docs", "") as upkeep:
        late = upkeep.collect(hour, at=minutes(100))

    if backend.kind != "fake":
        assert (early.points, late.points) == (0, 2)
    assert await readable(backend, ALL) == names(CATS)
    assert bring_to(backend.store, [BIRDS]).revision == 3
    assert await readable(backend, ALL) == names(BIRDS)


async def test_a_purged_source_is_gone_from_every_revision_and_generation(
    backend: Backend,
) -> None:
    first = bring_to(backend.store, [CATS, DOGS])
    second = bring_to(backend.store, [NEW_CATS, DOGS])
    bring_to(backend.store, [CATS, BIRDS], into=OTHER)

    with backend.store.upkeep("docs", "") as upkeep:
        done = upkeep.purge("cats", at=minutes(4))

    assert (done.points, done.rows) == (5 + 3 + 5, 3)
    assert await readable(backend, ALL) == names(BIRDS)
    with backend.store.upkeep("docs", "") as upkeep:
        assert upkeep.roll_back(None, at=minutes(5)) == second
    assert await readable(backend, ALL, first) == names(DOGS)
    assert await readable(backend, ALL, second) == names(DOGS)
    ledger = backend.store.listings()[0].ledger
    assert "cats" not in {row.source_id for row in (*ledger.rows, *ledger.earlier)}
    (tombstone,) = ledger.tombstones
    assert (tombstone.source_id, tombstone.purged_at) == ("cats", "2026-01-01T00:04:00+00:00")


async def test_a_purged_source_is_gone_not_unknown_to_those_who_could_read_it(
    backend: Backend,
) -> None:
    bring_to(backend.store, [CATS, replace(DOGS, readers=("ann",))])
    with backend.store.upkeep("docs", "") as upkeep:
        upkeep.purge("cats", at=minutes(2))
        upkeep.purge("dogs", at=minutes(2))

    for source in (CATS, NEW_CATS):
        with pytest.raises(VersionGone):
            await text_of(backend, source)
    with pytest.raises(SourceUnknown):
        await text_of(backend, DOGS)
    rows = await backend.reading.rows("docs", "", "cats")
    with pytest.raises(VersionGone):
        check_pins(Pin("cats", "v1"), rows, await read_scope(backend))


async def test_the_tombstone_outlives_everything_but_its_own_lifting(backend: Backend) -> None:
    bring_to(backend.store, [CATS, DOGS])
    bring_to(backend.store, [DOGS])
    with backend.store.upkeep("docs", "") as upkeep:
        upkeep.purge("cats", at=minutes(3))
        upkeep.purge("cats", at=minutes(4))  # once more harms nothing
        with pytest.raises(SourceUnknown):
            upkeep.purge("mice", at=minutes(3))
        upkeep.roll_back(1, at=minutes(3))
        upkeep.collect(ONE, at=minutes(100))
    bring_to(backend.store, [DOGS], into=OTHER)
    assert [one.source_id for one in backend.store.listings()[0].ledger.tombstones] == ["cats"]

    with backend.store.upkeep("docs", "") as upkeep:
        upkeep.lift_purge("cats")
        with pytest.raises(SourceUnknown):
            upkeep.lift_purge("cats")

    assert backend.store.listings()[0].ledger.tombstones == ()
    bring_to(backend.store, [CATS, DOGS])
    assert await readable(backend, ALL) == names(CATS, DOGS)
    assert await text_of(backend, CATS) == CATS.text


async def test_a_run_that_was_broken_off_is_never_seen_and_its_vectors_are_used_again(
    backend: Backend,
) -> None:
    bring_to(backend.store, [CATS, DOGS])
    with backend.store.publication("docs", "") as publication:
        prepare(publication, [BIRDS], into=manifest())

    assert await readable(backend, ALL) == names(CATS, DOGS)
    with backend.store.publication("docs", "") as publication:
        publication.open_generation(manifest())
        found = publication.reusable_vectors("birds")
        expected = {point.input_sha256 for point in BIRDS.points("", 2)[0]}
        assert set(found) == (expected if backend.kind == "qdrant" else set())
        rows = prepare(publication, [CATS], into=manifest())
        publication.commit(rows, readers_required=False, summary=summary_of(2))
    assert await readable(backend, ALL) == names(CATS)
    with backend.store.publication("docs", "") as publication:
        assert publication.reusable_vectors("birds") == {}


async def test_the_vectors_of_a_text_are_used_again_under_another_name(backend: Backend) -> None:
    bring_to(backend.store, [CATS])
    moved = replace(CATS, source_id="felines")

    with backend.store.publication("docs", "") as publication:
        found = publication.reusable_vectors("felines", moved.sha256)
        assert found.keys() == {point.input_sha256 for point in CATS.points("", 1)[0]}
        assert publication.reusable_vectors("felines", DOGS.sha256) == {}
