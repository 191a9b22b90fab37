"""
Readers belong to the source: a run tightens them, and never opens a source by saying nothing.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.small_index import SECRET, TRAVEL, SmallIndex


@pytest.fixture
def small(tmp_path: Path) -> SmallIndex:
    folder = tmp_path / "docs"
    folder.mkdir()
    index = SmallIndex(folder)
    index.write(secret__md=SECRET, travel__md=TRAVEL)
    index.index({"path": "secret.md", "readers": ["managers"]})
    return index


async def readers(small: SmallIndex, source_id: str) -> tuple[str, ...] | None:
    return (await small.store.rows("docs", "", source_id))[-1].readers


async def test_readers_that_are_not_named_again_stay(small: SmallIndex) -> None:
    small.write(secret__md=SECRET + "More.\n")

    small.index()

    assert await readers(small, "secret.md") == ("managers",)


async def test_readers_are_taken_away_only_where_that_is_said(small: SmallIndex) -> None:
    small.index({"path": "secret.md", "readers": None})

    assert await readers(small, "secret.md") is None


async def test_readers_are_tightened_even_where_the_file_cannot_be_read(small: SmallIndex) -> None:
    (small.folder / "travel.md").write_bytes(b"\xff\xfe\x00\xd8 broken \xff")

    summary = small.index({"path": "travel.md", "readers": ["managers"]})

    assert [one.path.endswith("travel.md") for one in summary.unreadable] == [True]
    assert await readers(small, "travel.md") == ("managers",)


async def test_a_removed_source_ends_even_where_its_file_is_given(small: SmallIndex) -> None:
    small.index(remove=("travel.md",))

    row = (await small.store.rows("docs", "", "travel.md"))[-1]
    assert row.to_rev == 2
