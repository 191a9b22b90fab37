"""
What is said of an index's folder that cannot be read, or not be written.
"""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adapters.edge_files import IndexFolder
from adapters.edge_index import EdgeIndex
from adapters.edge_store import EdgeStore
from assembler.errors import IndexUnavailable, IndexUnknown, IndexUnusable
from assembler.scope import ReadScope, Scope
from tests.contract.animals import CATS, SEARCH
from tests.contract.corpus import publish
from tests.contract.hand_clock import HandClock


async def test_a_newer_format_is_refused_with_what_to_do(
    tmp_path: Path, edge_index: EdgeIndex
) -> None:
    publish(EdgeStore(tmp_path), [CATS])
    path = IndexFolder(tmp_path, "docs").current().heads
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 2}))

    with pytest.raises(IndexUnusable, match=r"newer format 2.*update"):
        await edge_index.resolve("docs", "")


@pytest.mark.parametrize(
    "broken", ["CURRENT", "tenants.json", "manifest.json", "ledger", "segment.json"]
)
async def test_damaged_files_are_said_to_be_damaged(
    tmp_path: Path, edge_index: EdgeIndex, broken: str
) -> None:
    version = publish(EdgeStore(tmp_path), [CATS])
    pattern = "ledgers/*.json" if broken == "ledger" else broken
    paths = list((tmp_path / "docs").rglob(pattern))
    assert paths
    for path in paths:
        path.write_bytes(b"{\xff")

    scope = ReadScope("docs", version, readers_required=False, asked=Scope())

    async def read_everything() -> None:
        await edge_index.rows("docs", "", "cats")
        await edge_index.search_text(scope, SEARCH)

    with pytest.raises(IndexUnusable, match="publish"):
        await read_everything()


async def test_a_folder_that_cannot_be_written_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "docs").write_text("a file in the way")

    with (
        pytest.raises(IndexUnavailable, match="cannot be written"),
        EdgeStore(tmp_path).publication("docs", ""),
    ):
        pass


async def test_an_index_that_is_removed_is_unknown(
    tmp_path: Path, edge_index: EdgeIndex, clock: HandClock
) -> None:
    publish(EdgeStore(tmp_path), [CATS])
    await edge_index.resolve("docs", "")
    (tmp_path / "docs" / "CURRENT").unlink()
    clock.seconds = 2.0

    with pytest.raises(IndexUnknown):
        await edge_index.resolve("docs", "")


async def test_a_root_that_vanishes_is_not_taken_for_one_without_indexes(
    tmp_path: Path, clock: HandClock
) -> None:
    root = tmp_path / "data"
    publish(EdgeStore(root), [CATS])
    made = EdgeIndex(root, clock=clock)
    await made.resolve("docs", "")
    root.rename(tmp_path / "elsewhere")
    clock.seconds = 2.0

    with pytest.raises(IndexUnavailable, match="data is no folder, or no longer"):
        await made.resolve("docs", "")
    (tmp_path / "elsewhere").rename(root)
    assert (await made.resolve("docs", "")).version.revision == 1
    await made.close()


@contextmanager
def no_more_files() -> Iterator[None]:
    """
    Let this process open no file.
    """
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def test_files_that_cannot_be_opened_are_unavailable(
    tmp_path: Path, edge_index: EdgeIndex, clock: HandClock
) -> None:
    store = EdgeStore(tmp_path)
    publish(store, [CATS])
    await edge_index.resolve("docs", "")
    await edge_index.rows("docs", "", "cats")  # so that a thread is there
    clock.seconds = 2.0

    with no_more_files():
        with pytest.raises(IndexUnavailable, match="cannot be read: Too many open files"):
            await edge_index.resolve("docs", "")
        with pytest.raises(IndexUnavailable, match="cannot be read: Too many open files"):
            store.listings("")
        with pytest.raises(IndexUnavailable, match="cannot be read: Too many open files"):
            IndexFolder(tmp_path, "docs").read(lambda state: list(state.path.iterdir()))

    assert (await edge_index.resolve("docs", "")).version.revision == 1
