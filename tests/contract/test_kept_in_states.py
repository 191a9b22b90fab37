"""
What was read of an embedded index is known while its state is open, and no longer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.edge_index import EdgeIndex
from adapters.edge_served import OpenedStates
from adapters.edge_store import EdgeStore
from adapters.kept_records import KeptRecords
from assembler.model import PointKind
from assembler.ports import SparseSearch
from assembler.scope import ReadScope, Scope
from tests.contract.corpus import Source, publish

CATS = Source("cats", ("Cats sleep. Cats hunt.",))
DOGS = Source("dogs", ("Dogs bark.",))
SEARCH = [SparseSearch("cats", PointKind.CHUNK, 5)]


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[EdgeIndex]:
    made = EdgeIndex(tmp_path)
    yield made
    await made.close()


async def test_what_was_read_once_is_known(tmp_path: Path, index: EdgeIndex) -> None:
    publish(EdgeStore(tmp_path), [CATS, DOGS])
    version = (await index.resolve("docs", "")).version
    scope = ReadScope("docs", version, readers_required=False, asked=Scope())
    sections = [point.section.key for point in CATS.points("", 1)[1]]

    first = await index.search_text(scope, SEARCH), await index.sections(scope, sections)
    misses = index.requests()
    again = await index.search_text(scope, SEARCH), await index.sections(scope, sections)

    assert first == again
    assert misses == (0, 3)  # two chunks and a section
    assert index.requests() == (3, 3)


async def test_what_was_read_goes_with_its_state(tmp_path: Path, index: EdgeIndex) -> None:
    kept = KeptRecords()
    opened = OpenedStates(tmp_path, kept)
    publish(EdgeStore(tmp_path), [CATS])
    version = (await index.resolve("docs", "")).version
    scope = ReadScope("docs", version, readers_required=False, asked=Scope())
    wanted = scope.point_filter(PointKind.SECTION)

    read = opened.ask("docs", lambda state: state.records(version).sections(wanted, 9))
    held = kept.bytes
    publish(EdgeStore(tmp_path), [DOGS])
    opened.ask("docs", lambda state: state.name, refresh=True)

    assert [one.item.text for one in read if one] == list(CATS.sections)
    assert held > 0
    assert kept.bytes == 0
    opened.close()
