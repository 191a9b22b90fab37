"""
Reading a source text back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from assembler.errors import (
    IndexUnavailable,
    IndexUnusable,
    SourceUnknown,
    VersionGone,
    VersionUnknown,
)
from assembler.model import Section, SourceState
from assembler.ports import ChunkIndex, IndexState, SourceRow
from assembler.scope import IndexVersion, Scope
from assembler.source_text import SourceRequest, SourceText, read_source
from tests.small_index import EXPENSES, SECRET, TRAVEL, SmallIndex


@pytest.fixture
def small(tmp_path: Path) -> SmallIndex:
    folder = tmp_path / "docs"
    folder.mkdir()
    index = SmallIndex(folder)
    index.write(travel__md=TRAVEL, expenses__md=EXPENSES, secret__md=SECRET)
    index.index(
        {"path": "travel.md", "version": "1", "readers": ["all"]},
        {"path": "secret.md", "readers": ["managers"]},
    )
    return index


async def read(small: SmallIndex, source_id: str = "travel.md", **asked: Any) -> SourceText:
    given: dict[str, Any] = {
        "index": "docs",
        "scope": Scope(principals=("all",)),
        "source_id": source_id,
        "version": None,
        "content_sha256": None,
        "start": 0,
        "end": None,
        **asked,
    }
    return await read_source(SourceRequest(**given), small.store, small.store)


async def test_the_whole_text_comes_back_exactly(small: SmallIndex) -> None:
    found = await read(small)

    assert found.text == TRAVEL
    assert found.state is SourceState.CURRENT
    assert (found.row.version, found.row.chars) == ("1", len(TRAVEL))


async def test_a_range_across_sections_is_the_slice(small: SmallIndex) -> None:
    assert (await read(small, start=20, end=150)).text == TRAVEL[20:150]
    assert (await read(small, start=20, end=10**6)).text == TRAVEL[20:]
    assert (await read(small, start=10**6)).span is None


async def test_what_the_scope_hides_is_unknown(small: SmallIndex) -> None:
    for source_id in ("secret.md", "expenses.md", "nope.md"):
        with pytest.raises(SourceUnknown):
            await read(small, source_id)
    narrow = Scope(principals=("all",), source_ids=("other.md",))
    with pytest.raises(SourceUnknown):
        await read(small, scope=narrow)


async def test_labels_and_hashes_choose_the_version(small: SmallIndex) -> None:
    first = await read(small)
    small.write(travel__md=TRAVEL + "More.\n")
    small.index(
        {"path": "travel.md", "version": "2", "readers": ["all"]},
        {"path": "secret.md", "readers": ["managers"]},
        keep_versions=1,
    )

    old = await read(small, version="1")
    assert (old.text, old.state, old.superseded_by) == (TRAVEL, SourceState.SUPERSEDED, "2")
    assert (await read(small, content_sha256=first.row.content_sha256)).row.version == "1"
    with pytest.raises(VersionUnknown):
        await read(small, version="3")
    with pytest.raises(VersionGone):
        await read(small, version="2", content_sha256=first.row.content_sha256)


async def test_an_ended_version_is_marked_until_it_is_collected(small: SmallIndex) -> None:
    small.index(paths=(), remove=("travel.md",))

    with pytest.raises(VersionGone):
        await read(small)
    ended = await read(small, version="1")
    assert (ended.text, ended.state) == (TRAVEL, SourceState.ENDED)


async def test_a_newer_index_version_is_looked_for_once(small: SmallIndex) -> None:
    state = await small.store.resolve("docs", "")
    scope = Scope(principals=("all",), at_least=IndexVersion(state.version.generation, 1))

    assert (await read(small, scope=scope)).text == TRAVEL
    later = Scope(principals=("all",), at_least=IndexVersion(state.version.generation, 9))
    with pytest.raises(Exception, match="at least"):
        await read(small, scope=later)


async def test_sections_that_leave_a_hole_are_damage(small: SmallIndex) -> None:
    inner = small.store.sections_covering

    async def holed(*asked: Any) -> Any:
        return (await inner(*asked))[1:]

    small.store.sections_covering = holed  # type: ignore[method-assign]

    with pytest.raises(IndexUnusable, match="index it again"):
        await read(small)


async def test_an_index_that_answers_with_nothing_is_not_believed(small: SmallIndex) -> None:
    class Silent:
        """
        An index that has lost its points.
        """

        async def sections_covering(self, *_: object) -> list[Section]:
            return []

    asked = SourceRequest("docs", Scope(principals=("all",)), "travel.md", None, None, 0, None)

    with pytest.raises(IndexUnavailable, match="has source 'travel\\.md' in its"):
        await read_source(asked, small.store, cast("ChunkIndex", Silent()))


async def test_what_is_rolled_back_while_it_is_read_is_gone_and_not_unknown(
    small: SmallIndex,
) -> None:
    small.write(new__md="New.")
    small.index(
        {"path": "travel.md", "version": "1", "readers": ["all"]},
        {"path": "secret.md", "readers": ["managers"]},
        {"path": "new.md", "readers": ["all"]},
    )
    before = await small.store.resolve("docs", "")
    with small.store.upkeep("docs", "") as upkeep:
        upkeep.roll_back(None, at=1.0)

    class Late:
        """
        A catalog that has not heard of it.
        """

        async def resolve(self, index: str, tenant: str, *, refresh: bool = False) -> IndexState:
            return await small.store.resolve(index, tenant) if refresh else before

        async def rows(self, index: str, tenant: str, source_id: str) -> Sequence[SourceRow]:
            return await small.store.rows(index, tenant, source_id)

    scope = Scope(principals=("all",), exactly=before.version)
    asked = SourceRequest("docs", scope, "new.md", None, None, 0, None)

    with pytest.raises(VersionGone):
        await read_source(asked, Late(), small.store)
    with pytest.raises(SourceUnknown):
        await read_source(replace(asked, scope=Scope(principals=("all",))), Late(), small.store)
