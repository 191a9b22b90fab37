"""
Files are shown as an index would have them cut, and nothing is written.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from assembler.errors import InvalidRequest
from indexer.build_report import HEADING, START
from indexer.index import run_index
from indexer.request import IndexRequest, Summary
from indexer.shown_cut import ShownChunk, cut_files, shown
from tests.fake_index import FakeIndex
from tests.fakes import FakeEmbedder

SENTENCE = "one two three four five. "


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\n" + SENTENCE * 4 + "\n\n# B\n\nText.\n")
    (folder / "b.md").write_bytes(b"\x00\x01" * 400)
    return folder


def chunks_of(
    request: IndexRequest, store: FakeIndex | None = None, summary: Summary | None = None
) -> list[ShownChunk]:
    embedder = FakeEmbedder()
    (cut,) = cut_files(request, store, embedder, summary or Summary(), lambda *_: None)
    return shown(cut, embedder)


def test_every_chunk_has_its_place_its_size_and_its_reason(docs: Path) -> None:
    summary = Summary()
    request = IndexRequest(
        index="", paths=(docs,), strategy="structure", strategy_settings={"chunk_aim_tokens": "20"}
    )

    found = chunks_of(request, summary=summary)

    text = (docs / "a.md").read_text()
    assert [one.text for one in found] == [text[one.start : one.end] for one in found]
    assert "".join(one.text for one in found) == text
    assert [(one.section, one.heading_path) for one in found] == [
        (0, ("A",)),
        (0, ("A",)),
        (1, ("B",)),
    ]
    assert [one.why for one in found] == [START, "size: sentence", HEADING]
    assert [one.tokens for one in found] == [20, 6, 4]
    assert all(one.input_tokens > one.tokens for one in found)
    assert [one.path for one in summary.unreadable] == [str(docs / "b.md")]


def test_an_index_is_cut_as_it_is_and_not_touched(docs: Path) -> None:
    store = FakeIndex()
    asked = IndexRequest(
        index="mine", paths=(docs,), strategy="fixed", strategy_settings={"size": "8"}
    )
    run_index(asked, store, FakeEmbedder(), lambda *_: None)
    before = store.listings()

    as_it_is = chunks_of(IndexRequest(index="mine", paths=(docs,)), store)
    as_new = chunks_of(IndexRequest(index="", paths=(docs,)))

    assert max(one.tokens for one in as_it_is) == 8
    assert len(as_it_is) > len(as_new)
    assert store.listings() == before


def test_a_strategy_that_there_is_not_is_refused(docs: Path) -> None:
    with pytest.raises(InvalidRequest, match="strategy"):
        chunks_of(IndexRequest(index="", paths=(docs,), strategy="slices"))
