"""
Runs under another configuration (another model, another schema) than the index was made with.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.records import LedgerRow
from assembler.model import FOREVER
from indexer.index import IndexRequest, run_index
from tests.fake_index import FakeIndex
from tests.fakes import FakeEmbedder

OTHER_MODEL = FakeEmbedder(dimension=16)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    for name in "ab":
        (tmp_path / f"{name}.md").write_text(f"The text of {name}.\n")
    return tmp_path


def live(store: FakeIndex) -> list[str]:
    (listing,) = store.listings("")
    rows: tuple[LedgerRow, ...] = listing.ledger.rows
    return sorted(row.source_id for row in rows if row.to_rev == FOREVER)


def test_a_source_is_removed_whatever_the_model_of_today(docs: Path) -> None:
    store = FakeIndex()
    run_index(IndexRequest("docs", (docs,)), store, FakeEmbedder(), lambda *_: None)

    for remove, left in (("a.md", ["b.md"]), ("b.md", [])):
        request = IndexRequest("docs", remove=(remove,))
        assert run_index(request, store, OTHER_MODEL, lambda *_: None).is_published
        assert live(store) == left


def test_another_model_writes_everything_again_but_what_is_removed(docs: Path) -> None:
    store = FakeIndex()
    run_index(IndexRequest("docs", (docs,)), store, FakeEmbedder(), lambda *_: None)

    request = IndexRequest("docs", (docs,), remove=("a.md",))
    summary = run_index(request, store, OTHER_MODEL, lambda *_: None)

    assert live(store) == ["b.md"]
    assert (summary.documents, summary.written, summary.embedded) == (1, 1, 1)


def test_code_is_no_foreign_language(docs: Path) -> None:
    class ManyTokens(FakeEmbedder):
        def count(self, text: str) -> int:
            return 3 * len(text.split()) + 2

    (docs / "c.py").write_text("parse_header(raw_value)\n" * 30)

    request = IndexRequest("docs", (docs,), language="de")
    (warning,) = run_index(request, FakeIndex(), ManyTokens(), lambda *_: None).warnings

    assert warning.startswith("language 'de': 2 documents")
