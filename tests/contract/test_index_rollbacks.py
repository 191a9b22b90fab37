"""
How every backend is rolled back.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.records import Retention
from assembler.errors import IndexUnknown, InvalidRequest
from assembler.resolve import read_scope
from assembler.scope import IndexVersion, Scope
from tests.contract.animals import ALL, BIRDS, CATS, DOGS, NEW_CATS, names
from tests.contract.conftest import Backend
from tests.contract.corpus import manifest
from tests.contract.desired import OTHER, bring_to, minutes, readable


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


async def test_every_version_that_was_published_will_do_and_one_that_never_was_will_not(
    backend: Backend,
) -> None:
    async def taken(least: IndexVersion) -> bool:
        state = await backend.reading.resolve("docs", "", refresh=True)
        try:
            return bool(read_scope(state, Scope(at_least=least), "").version)
        except InvalidRequest:
            return False

    async def check(*published: IndexVersion) -> None:
        assert [one for one in published if not await taken(one)] == []
        newest = published[-1]
        assert not await taken(IndexVersion("never", newest.revision))

    first = bring_to(backend.store, [CATS])
    await check(first)
    second = bring_to(backend.store, [CATS, DOGS], into=OTHER)
    await check(first, second)
    assert not await taken(replace(second, generation=first.generation))
    with backend.store.upkeep("docs", "") as upkeep:
        upkeep.roll_back(None, at=minutes(3))
    third = bring_to(backend.store, [NEW_CATS])
    await check(first, second, third)
    assert not await taken(replace(first, generation=second.generation))
    fourth = bring_to(backend.store, [NEW_CATS], into=OTHER)
    await check(first, second, third, fourth)


async def test_a_tenant_that_has_published_nothing_takes_what_it_was_told(
    backend: Backend,
) -> None:
    bring_to(backend.store, [CATS])
    told = (await backend.reading.resolve("docs", "nobody", refresh=True)).version
    bring_to(backend.store, [CATS], into=OTHER)
    state = await backend.reading.resolve("docs", "nobody", refresh=True)

    assert told.revision == 0
    assert state.version != told
    assert read_scope(state, Scope(tenant="nobody", at_least=told), "").version == state.version
