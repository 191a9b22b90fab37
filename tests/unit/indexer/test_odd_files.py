"""
Odd files of every format in one run: what can be read is there whole, and all else is named.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adapters.edge_index import EdgeIndex
from adapters.edge_store import EdgeStore
from assembler.assemble import ContextAssembler
from assembler.model import FOREVER
from assembler.request import AssembleRequest, Budget, ContextTokens, Query, Target
from assembler.scope import Scope
from assembler.source_text import SourceRequest, read_source
from assembler.stages import no_deadline
from indexer.index import run_index
from indexer.read_source import media_type_of
from indexer.read_source import read_source as read_file
from indexer.request import IndexRequest
from indexer.sources import find_sources
from indexer.verify import verify_index
from tests.documents import pdf
from tests.fakes import FakeEmbedder
from tests.odd_files import BAD, GOOD, MOST_BYTES, PLACES, SAID, TABLE, write_odd_files
from tests.small_index import Counters, SmallIndex

pytest.importorskip("tree_sitter")

NOBODY = 65534


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    write_odd_files(folder)
    return folder


@pytest.mark.parametrize("strategy", ["structure", "auto", "sliding"])
async def test_ninety_odd_files_are_indexed_or_named(
    folder: Path, tmp_path: Path, strategy: str
) -> None:
    assert len(GOOD) + len(BAD) + len(PLACES) == 90
    expected = dict.fromkeys(GOOD)
    if strategy == "auto":
        (folder / "table-of-3-mb.md").write_text(TABLE)
        expected["table-of-3-mb.md"] = None
    store = EdgeStore(tmp_path / "data")
    request = IndexRequest("docs", (folder,), strategy=strategy, most_file_bytes=MOST_BYTES)

    summary = run_index(request, store, FakeEmbedder(), lambda *_: None)

    (listing,) = store.listings("")
    rows = {row.source_id: row for row in listing.ledger.rows if row.to_rev == FOREVER}
    assert set(rows) == set(expected)
    assert all(row.chunks for row in rows.values())
    named = {Path(one.path).name: one.reason for one in summary.unreadable}
    assert set(named) == {*BAD, *PLACES}
    for name, reason in {**{name: why for name, (_, why) in BAD.items()}, **PLACES}.items():
        assert reason in named[name], name
    assert sorted(SAID) == sorted(
        name for name in GOOD if any(one.startswith(f"{name} h") for one in summary.warnings)
    )
    for name, oddity in SAID.items():
        assert any(one.startswith(f"{name} {oddity}") for one in summary.warnings), name
    if strategy == "auto":
        assert summary.reasons["code: syntax tree"] == 4
        assert summary.reasons["conversation: turns of speakers"] == 1
    await check_whole(folder, tmp_path / "data", store, sorted(expected))


async def check_whole(folder: Path, data: Path, store: EdgeStore, names: list[str]) -> None:
    """
    Check that every text is stored whole, and that contexts are slices of it.
    """
    assert verify_index("docs", "", store).problems == []
    index = EdgeIndex(data)
    assembler = ContextAssembler(
        catalog=index,
        index=index,
        embedder=FakeEmbedder(),
        counters=Counters(),
        profiles=SmallIndex(folder).profiles,
        clock=time.perf_counter,
    )
    for name in names:
        wanted = read_file(folder / name, media_type_of(folder / name) or "")
        asked = SourceRequest("docs", Scope(), name, None, None, 0, None)
        text = (await read_source(asked, index, index)).text
        assert text == wanted.text, name
        reply = await assembler.assemble(
            AssembleRequest(
                queries=(Query(wanted.text[:200].replace("\x00", " ")),),
                targets=(Target("docs", Scope(source_ids=(name,))),),
                budget=Budget("chars", ContextTokens(1500)),
            ),
            no_deadline,
        )
        assert reply.passages, name
        for passage in reply.passages:
            for span in passage.sources[0].spans:
                assert span.context.slice(reply.context) == span.source.slice(text), name


@contextmanager
def as_nobody() -> Iterator[None]:
    """
    Give up what lets a superuser open every file.
    """
    if os.geteuid():
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_what_may_not_be_opened_is_named_and_stops_nothing() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "closed").mkdir()
        for place in ("a.md", "b.md", "closed/c.md"):
            (folder / place).write_text("Text.\n")
        (folder / "b.md").chmod(0)
        (folder / "closed").chmod(0)
        with as_nobody():
            found, skipped = find_sources([folder])
            small = SmallIndex(folder)
            summary = run_index(
                IndexRequest("docs", (folder,)), small.store, small.embedder, lambda *_: None
            )
        (folder / "closed").chmod(0o700)

    assert [one.source_id for one in found] == ["a.md", "b.md"]
    assert [(Path(one.path).name, one.reason) for one in skipped] == [
        ("closed", "cannot be opened: Permission denied")
    ]
    assert [(Path(one.path).name, one.reason) for one in summary.unreadable] == [
        ("closed", "cannot be opened: Permission denied"),
        ("b.md", "Permission denied"),
    ]
    assert summary.written == 1


async def test_a_citation_of_a_pdf_can_name_the_page(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    small = SmallIndex(folder)
    (folder / "a.pdf").write_bytes(pdf([["Trains are slow."], ["Refunds of tickets are quick."]]))
    small.index()

    reply = await small.ask("Refunds tickets", metadata_fields=("page_starts", "pages"))

    (passage,) = reply.passages
    facts = dict(passage.sources[0].metadata)
    assert facts["pages"] == 2
    _, second = facts["page_starts"]
    place = passage.sources[0].spans[0].source
    assert place.start <= second < place.end
