"""
The embedded engine moves on while it is read, however fast publishes follow each other.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from adapters.edge_files import KEPT_STATES, IndexFolder
from adapters.edge_index import EdgeIndex
from adapters.edge_paths import StateFolder
from adapters.edge_state import read_heads
from adapters.edge_store import EdgeStore
from adapters.head import SETTLE_SECONDS
from adapters.records import Retention
from assembler.errors import IndexUnusable, VersionGone
from assembler.model import PointKind
from assembler.ports import SparseSearch
from assembler.scope import IndexVersion, ReadScope, Scope
from tests.contract.corpus import Source, hits_of, publish, summary

CATS = Source("cats", ("Cats sleep.",))
MANY = KEPT_STATES + 2
SEARCH = [SparseSearch("cats", PointKind.CHUNK, 50)]


def scope_at(version: IndexVersion) -> ReadScope:
    return ReadScope("docs", version, readers_required=False, asked=Scope())


def publish_many(store: EdgeStore, first: int) -> None:
    for number in range(first, first + MANY):
        publish(store, [replace(CATS, source_id=f"{number}")])


async def test_a_state_that_went_before_it_was_opened_is_read_from_a_later_one(
    tmp_path: Path,
) -> None:
    store, index = EdgeStore(tmp_path), EdgeIndex(tmp_path, is_exact=True, poll_seconds=1000.0)
    publish(store, [CATS])
    version = (await index.resolve("docs", "")).version
    publish_many(store, 0)

    (hits,) = await index.search_text(scope_at(version), SEARCH)
    (row,) = await index.rows("docs", "", "cats")

    assert [hit.chunk.provenance.source_id for hit in hits_of(hits)] == ["cats"]
    assert row.source_id == "cats"
    await index.close()


async def test_the_ledger_of_a_state_that_went_is_read_from_a_later_one(tmp_path: Path) -> None:
    store, index = EdgeStore(tmp_path), EdgeIndex(tmp_path, poll_seconds=1000.0)
    publish(store, [CATS])
    await index.resolve("docs", "")
    publish_many(store, 0)

    (row,) = await index.rows("docs", "", "0")

    assert row.from_rev == 2
    await index.close()


async def test_what_was_open_is_opened_before_a_new_state_is_served(tmp_path: Path) -> None:
    store, index = EdgeStore(tmp_path), EdgeIndex(tmp_path, poll_seconds=1000.0)
    publish(store, [CATS])
    version = (await index.resolve("docs", "")).version
    await index.search_text(scope_at(version), SEARCH)

    publish(store, [replace(CATS, source_id="more")])
    await index.resolve("docs", "", refresh=True)

    with index._states.reading("docs") as state:
        assert list(state._shards) == [version.generation]
    await index.close()


async def test_a_state_that_is_there_and_damaged_is_not_asked_again(tmp_path: Path) -> None:
    store, index = EdgeStore(tmp_path), EdgeIndex(tmp_path, poll_seconds=1000.0)
    publish(store, [CATS])
    await index.resolve("docs", "")
    (ledger,) = (IndexFolder(tmp_path, "docs").current().path / "ledgers").iterdir()
    ledger.write_text("{", encoding="utf-8")

    with pytest.raises(IndexUnusable):
        await index.rows("docs", "", "cats")
    await index.close()


async def test_a_state_that_a_purge_removed_is_read_from_the_later_one(tmp_path: Path) -> None:
    store, index = EdgeStore(tmp_path), EdgeIndex(tmp_path, poll_seconds=1000.0)
    publish(store, [CATS, replace(CATS, source_id="other")])
    await index.resolve("docs", "")
    with store.upkeep("docs", "") as upkeep:
        upkeep.purge("other", at=1e9)

    (row,) = await index.rows("docs", "", "cats")

    assert (row.source_id, row.is_purged) == ("cats", False)
    await index.close()


def test_what_is_read_of_a_state_that_goes_meanwhile_is_read_again(tmp_path: Path) -> None:
    store, folder = EdgeStore(tmp_path), IndexFolder(tmp_path, "docs")
    publish(store, [CATS])
    names: list[str] = []

    def read(state: StateFolder) -> int:
        names.append(state.name)
        if len(names) == 1:
            publish_many(store, 0)
        return len(read_heads("docs", state)[0])

    assert folder.read(read) == 1
    assert names == ["00000001", folder.current().name]

    (folder.current().heads).unlink()
    with pytest.raises(FileNotFoundError):
        folder.read(lambda state: state.heads.read_text())


def test_a_state_that_became_current_is_not_discarded(tmp_path: Path) -> None:
    store, folder = EdgeStore(tmp_path), IndexFolder(tmp_path, "docs")
    publish(store, [CATS])
    with folder.writing():
        lost, kept = folder.begin(), folder.current()

        folder.discard(lost)
        folder.discard(kept)

    assert not lost.path.exists()
    assert [one.ledger.revision for one in store.listings()] == [1]


async def found(index: EdgeIndex, version: IndexVersion) -> list[str]:
    (hits,) = await index.search_text(scope_at(version), SEARCH)
    return sorted(hit.chunk.provenance.source_id for hit in hits_of(hits))


async def test_a_request_under_way_keeps_its_version_over_a_rollback_and_the_next_publish(
    tmp_path: Path,
) -> None:
    now = [0.0]
    store, index = EdgeStore(tmp_path), EdgeIndex(tmp_path, is_exact=True, clock=lambda: now[0])
    publish(store, [CATS])
    publish(store, [replace(CATS, source_id="second")])
    version = (await index.resolve("docs", "", refresh=True)).version

    with store.upkeep("docs", "") as upkeep:
        upkeep.roll_back(None, at=1e9)
    publish(store, [replace(CATS, source_id="third")])
    later = (await index.resolve("docs", "", refresh=True)).version

    assert await found(index, version) == ["cats", "second"]
    assert await found(index, later) == ["cats", "third"]
    now[0] += SETTLE_SECONDS
    with pytest.raises(VersionGone):
        await found(index, version)
    assert await found(index, later) == ["cats", "third"]
    await index.close()


async def test_what_is_left_open_is_bounded_and_closed_at_the_end(tmp_path: Path) -> None:
    store, index = EdgeStore(tmp_path), EdgeIndex(tmp_path, is_exact=True, clock=lambda: 0.0)
    publish(store, [CATS])
    versions = []
    for number in range(10):
        publish(store, [replace(CATS, source_id=f"{number}")])
        versions.append((await index.resolve("docs", "", refresh=True)).version)
        with store.upkeep("docs", "") as upkeep:
            upkeep.roll_back(None, at=1e9)
        await index.resolve("docs", "", refresh=True)

    assert [await found(index, version) for version in versions[-8:]] == [
        [f"{number}", "cats"] for number in range(2, 10)
    ]
    for version in versions[:2]:
        with pytest.raises(VersionGone):
            await found(index, version)
    await index.close()


async def test_a_collection_leaves_a_request_under_way_what_it_reads(tmp_path: Path) -> None:
    store, index = EdgeStore(tmp_path), EdgeIndex(tmp_path, is_exact=True, clock=lambda: 0.0)
    first = publish(store, [CATS])
    with store.publication("docs", "") as publication:
        (row,) = publication.ledger.rows
        publication.end_version(row, to_rev=publication.revision)
        ended = replace(row, to_rev=publication.revision)
        publication.commit((ended,), readers_required=False, summary=summary(2, ended=1))
    publish(store, [replace(CATS, source_id="second")])
    await index.resolve("docs", "", refresh=True)

    with store.upkeep("docs", "") as upkeep:
        assert upkeep.collect(Retention(revisions=1, retired_seconds=0.0), at=1e10).points > 0
    await index.resolve("docs", "", refresh=True)

    assert await found(index, first) == ["cats"]
    await index.close()


async def test_a_purge_closes_what_was_left_open(tmp_path: Path) -> None:
    store, index = EdgeStore(tmp_path), EdgeIndex(tmp_path, is_exact=True, clock=lambda: 0.0)
    publish(store, [CATS])
    publish(store, [replace(CATS, source_id="second")])
    version = (await index.resolve("docs", "", refresh=True)).version
    with store.upkeep("docs", "") as upkeep:
        upkeep.roll_back(None, at=1e9)
    await index.resolve("docs", "", refresh=True)
    assert await found(index, version) == ["cats", "second"]

    with store.upkeep("docs", "") as upkeep:
        upkeep.purge("cats", at=1e9)
    publish(store, [replace(CATS, source_id="third")])
    later = (await index.resolve("docs", "", refresh=True)).version

    with pytest.raises(VersionGone):
        await found(index, version)
    assert await found(index, later) == ["third"]
    await index.close()
