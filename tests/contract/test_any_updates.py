"""
Any sequence of updates equals a plain list of snapshots, on every backend.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.collection_settings import CollectionSettings
from adapters.qdrant_search import SearchSettings
from adapters.records import Retention
from assembler.errors import InvalidRequest, SourceUnknown
from assembler.scope import IndexVersion
from tests.contract.conftest import Backend, opened
from tests.contract.corpus import Source, manifest
from tests.contract.desired import OTHER, bring_to, minutes, prepare, readable, summary_of

UNIVERSE = tuple(
    Source(name, (f"{name.title()} {verb}. More of {name}.", f"The end of {verb}."), version=verb)
    for name in ("cats", "dogs", "birds")
    for verb in ("sleep", "hunt")
)
CONFIGURATIONS = (manifest(), OTHER)
NOW = minutes(1e6)
PLAIN = CollectionSettings()
COPIED = CollectionSettings(replicas=2)
LAGGING = CollectionSettings(replicas=5, write_consistency=3)
"""Two replicas of five have each write late, out of step with each other."""

states = st.tuples(
    st.lists(st.sampled_from(UNIVERSE), max_size=3, unique_by=lambda source: source.source_id),
    st.sampled_from((None, None, *CONFIGURATIONS)),
)
steps = st.one_of(
    st.tuples(st.just("publish"), states),
    st.tuples(st.just("publish"), states),
    st.tuples(st.just("crash"), states),
    st.tuples(st.just("build"), states),
    st.tuples(st.just("publish build"), st.none()),
    st.tuples(st.just("roll back"), st.integers(0, 3)),
    st.tuples(st.just("collect"), st.integers(1, 3)),
    st.tuples(st.just("purge"), st.sampled_from(("cats", "dogs", "birds"))),
    st.tuples(st.just("lift purge"), st.sampled_from(("cats", "dogs", "birds"))),
)


@dataclass
class Snapshot:
    """
    One kept revision: its version, and what can be read at it.
    """

    version: IndexVersion
    names: frozenset[tuple[str, str]]


@dataclass
class Snapshots:
    """
    The plain list that every backend has to equal; the head is the last.
    """

    kept: list[Snapshot] = field(default_factory=list)
    build: Snapshot | None = None
    ever: dict[int, IndexVersion] = field(default_factory=dict)
    purged: set[str] = field(default_factory=set)

    def expected(self, version: IndexVersion) -> set[tuple[str, str]] | None:
        """
        Return what can be read at a version: the kept ones since the generation was entered.
        """
        head = self.kept[-1].version
        stay = itertools.takewhile(
            lambda one: one.version.generation == head.generation, reversed(self.kept)
        )
        found = [set(one.names) for one in stay if one.version == version]
        return found[0] if found else None

    def made(self, version: IndexVersion, wanted: Sequence[Source]) -> Snapshot:
        assert version.revision not in self.ever
        return Snapshot(version, frozenset((one.source_id, one.version) for one in wanted))

    def publish(self, snapshot: Snapshot) -> None:
        self.kept.append(snapshot)
        self.ever[snapshot.version.revision] = snapshot.version
        self.build = None


def take(backend: Backend, snapshots: Snapshots, step: str, given_: Any) -> None:
    """
    Take one step, on the backend and on the list.
    """
    store = backend.store
    if step in ("publish", "crash", "build"):
        wanted = [one for one in given_[0] if one.source_id not in snapshots.purged]
        snapshots.build = None
        if step == "publish":
            version = bring_to(store, wanted, into=given_[1])
            snapshots.publish(snapshots.made(version, wanted))
            return
        with store.publication("docs", "") as publication:
            target = given_[1] or publication.manifest or manifest()
            rows = prepare(publication, wanted, into=target)
            if step == "build":
                revision = summary_of(publication.ledger.next_revision)
                version = publication.stage(rows, readers_required=False, summary=revision)
                snapshots.build = snapshots.made(version, wanted)
    elif step == "publish build":
        if snapshots.build is None:
            with pytest.raises(InvalidRequest, match="no build"):
                store.publish_build("docs", "")
        else:
            assert store.publish_build("docs", "") == snapshots.build.version
            snapshots.publish(snapshots.build)
    elif snapshots.kept and (keep_up(backend, snapshots, step, given_) or backend.kind == "edge"):
        # A writer discards a build that waits; of an embedded index, by opening it.
        snapshots.build = None


def keep_up(backend: Backend, snapshots: Snapshots, step: str, given_: Any) -> bool:
    """
    Take a step of upkeep; return whether it did anything.
    """
    with backend.store.upkeep("docs", "") as upkeep:
        if step == "roll back":
            earlier = snapshots.kept[:-1]
            if not earlier:
                with pytest.raises(InvalidRequest, match="none"):
                    upkeep.roll_back(None, at=NOW)
                return False
            back = earlier[-1 - given_ % len(earlier)].version
            assert upkeep.roll_back(back.revision, at=NOW) == back
            snapshots.kept = [one for one in earlier if one.version.revision <= back.revision]
        elif step == "collect":
            done = upkeep.collect(Retention(given_, 0.0), at=2 * NOW)
            snapshots.kept = snapshots.kept[-given_:]
            assert done.kept == tuple(one.version.revision for one in snapshots.kept)
        elif step == "purge":
            is_known = given_ in {row.source_id for row in rows_of(backend)}
            if not is_known and given_ not in snapshots.purged:
                with pytest.raises(SourceUnknown):
                    upkeep.purge(given_, at=NOW)
                return False
            upkeep.purge(given_, at=NOW)
            snapshots.purged.add(given_)
            for one in snapshots.kept:
                one.names = frozenset(name for name in one.names if name[0] != given_)
        elif given_ in snapshots.purged:
            upkeep.lift_purge(given_)
            snapshots.purged.remove(given_)
        else:
            return False
    return True


def rows_of(backend: Backend) -> Sequence[Any]:
    ledger = backend.store.listings()[0].ledger
    return (*ledger.rows, *ledger.earlier)


async def compare(backend: Backend, snapshots: Snapshots) -> None:
    if not snapshots.kept:
        return
    head = snapshots.kept[-1]
    state = await backend.reading.resolve("docs", "", refresh=True)
    assert state.version == head.version
    for version in snapshots.ever.values():
        found = await readable(backend, UNIVERSE, version)
        assert found == snapshots.expected(version), version
    ledger = backend.store.listings()[0].ledger
    live = [row for row in ledger.rows if ledger.revision < min(row.to_rev, row.active_to_rev)]
    assert {(row.source_id, row.version) for row in live} == head.names
    assert [one.revision for one in ledger.revisions] == [
        one.version.revision for one in snapshots.kept
    ]
    assert {one.source_id for one in ledger.tombstones} == snapshots.purged


async def follow(kind: str, made: CollectionSettings, taken: Sequence[tuple[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        search = SearchSettings(consistency="majority" if made is LAGGING else None)
        async with opened(kind, Path(folder), collections=made, search=search) as backend:
            snapshots = Snapshots()
            for step, given_ in taken:
                take(backend, snapshots, step, given_)
                await compare(backend, snapshots)


@pytest.mark.parametrize(
    ("kind", "made", "examples"),
    [
        ("fake", PLAIN, 200),
        ("edge", PLAIN, 6),
        ("qdrant", PLAIN, 8),
        ("qdrant", COPIED, 4),
        ("qdrant", LAGGING, 8),
    ],
    ids=["fake", "edge", "qdrant", "copies", "lagging"],
)
def test_any_sequence_of_updates_equals_plain_snapshots(
    kind: str, made: CollectionSettings, examples: int
) -> None:
    @settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(st.lists(steps, min_size=2, max_size=10))
    def check(taken: list[tuple[str, Any]]) -> None:
        asyncio.run(follow(kind, made, taken))

    check()
