"""
How every backend is collected and purged.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.records import Retention
from assembler.errors import SourceUnknown, VersionGone, VersionUnknown
from assembler.resolve import check_pins
from assembler.scope import Pin
from tests.contract.animals import ALL, BIRDS, CATS, DOGS, NEW_CATS, ONE, names, text_of
from tests.contract.conftest import Backend
from tests.contract.corpus import manifest, read_scope
from tests.contract.desired import OTHER, bring_to, minutes, readable


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
