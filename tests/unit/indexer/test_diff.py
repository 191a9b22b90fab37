from __future__ import annotations

import pytest

from assembler.errors import VersionGone
from indexer.diff import Change, SourceChange, diff_revisions
from tests.contract.corpus import Source, manifest
from tests.contract.desired import OTHER, bring_to
from tests.fake_index import FakeIndex

CATS = Source("cats", ("Cats sleep.",))
NEW_CATS = Source("cats", ("Cats hunt.",), version="v2")
DOGS = Source("dogs", ("Dogs bark.",))
BIRDS = Source("birds", ("Birds sing.",))


def test_sources_are_added_changed_and_ended() -> None:
    store = FakeIndex()
    for wanted in ([CATS, DOGS], [NEW_CATS, DOGS], [NEW_CATS, BIRDS]):
        bring_to(store, wanted)
    ledger = store.listings()[0].ledger

    assert diff_revisions(ledger, 1, 3) == (
        SourceChange("birds", Change.ADDED, (), ("v1",)),
        SourceChange("cats", Change.CHANGED, ("v1",), ("v2",)),
        SourceChange("dogs", Change.ENDED, ("v1",), ()),
    )
    assert [one.source_id for one in diff_revisions(ledger, 1, 2)] == ["cats"]
    assert [one.change for one in diff_revisions(ledger, 3, 2)] == [Change.ENDED, Change.ADDED]
    assert diff_revisions(ledger, 2, 2) == ()


def test_revisions_of_two_generations_are_compared_by_their_sources() -> None:
    store = FakeIndex()
    bring_to(store, [CATS, DOGS])
    bring_to(store, [CATS], into=OTHER)
    bring_to(store, [CATS, BIRDS], into=manifest())
    ledger = store.listings()[0].ledger

    assert [one.source_id for one in diff_revisions(ledger, 1, 2)] == ["dogs"]
    assert [one.source_id for one in diff_revisions(ledger, 2, 3)] == ["birds"]
    assert [one.source_id for one in diff_revisions(ledger, 1, 3)] == ["birds", "dogs"]


def test_a_revision_that_is_not_kept_is_gone() -> None:
    store = FakeIndex()
    bring_to(store, [CATS])

    with pytest.raises(VersionGone, match="there are: 1"):
        diff_revisions(store.listings()[0].ledger, 1, 2)
