"""
An index with late vectors: what is embedded is a document's parts in the whole of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.store import EmbeddingSpec
from assembler.errors import InvalidRequest
from assembler.ports import Vector
from indexer.index import run_index
from indexer.request import IndexRequest, Summary
from tests.fake_index import FakeIndex
from tests.fakes import FakeEmbedder, hash_vector

TEXT = "# Travel\n\n" + "Trains are slow. " * 60 + "\n\n# Food\n\nMeals are paid.\n"


class Watched(FakeEmbedder):
    """
    Remembers which texts were read whole.
    """

    def __init__(self) -> None:
        super().__init__()
        self.whole: list[tuple[str, list[tuple[int, int]], int]] = []

    def embed_spans(
        self, text: str, spans: Sequence[tuple[int, int]], overlap: int
    ) -> list[Vector]:
        self.whole.append((text, list(spans), overlap))
        return super().embed_spans(text, spans, overlap)

    def embed_documents(self, texts, progress=None) -> list[Vector]:
        raise AssertionError(texts)


class ByFirst(FakeEmbedder):
    """
    A model that pools by its first token.
    """

    @property
    def spec(self) -> EmbeddingSpec:
        return replace(super().spec, pooling="cls")


def index(folder: Path, store: FakeIndex, embedder: FakeEmbedder, **settings: int) -> Summary:
    request = IndexRequest("docs", (folder,), strategy="late", strategy_settings=settings)
    return run_index(request, store, embedder, lambda *_: None)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text(TEXT)
    (docs / "b.md").write_text("# B\n\nShort.\n")
    return docs


def test_each_document_is_read_once_and_its_chunks_have_vectors_of_it(docs: Path) -> None:
    store, embedder = FakeIndex(), Watched()

    summary = index(docs, store, embedder, window_overlap=10)

    assert summary.chunks == summary.embedded == 5
    (first, spans, overlap), (second, _, _) = sorted(embedder.whole, key=lambda one: one[0])[::-1]
    assert (first, second, overlap) == (TEXT, "# B\n\nShort.\n", 10)
    assert spans[0][0] == 0
    assert [end for _, end in spans] == [*(start for start, _ in spans[1:]), len(TEXT)]
    (snapshot,) = store._published("docs").parts[""].history.values()
    points = [one.chunk for one in snapshot.points if one.chunk]
    found = {(one.text, tuple(one.vector)) for one in points}
    expected = {
        (text[start:end], hash_vector(f"{(start, end)} 10 of {text!r}", 8))
        for text, places, _ in embedder.whole
        for start, end in places
    }
    assert found == expected
    assert all(one.bm25_text.startswith(("Travel\n", "Food\n", "B\n")) for one in points)


def test_a_vector_is_used_again_where_document_span_and_overlap_are_the_same(docs: Path) -> None:
    store = FakeIndex()
    index(docs, store, Watched())
    (docs / "a.md").rename(docs / "c.md")
    renamed = index(docs, store, Watched())
    (docs / "c.md").write_text(TEXT.replace("Meals", "Hotels"))
    changed = index(docs, store, Watched())
    other = index(docs, store, Watched(), window_overlap=3)

    assert (renamed.embedded, renamed.reused) == (0, 4)
    assert (changed.embedded, changed.reused) == (4, 0), "the whole document is read again"
    assert other.embedded == other.chunks == 5


def test_a_model_that_does_not_pool_by_mean_is_refused(docs: Path) -> None:
    with pytest.raises(InvalidRequest, match="pools by mean; this one by cls"):
        index(docs, FakeIndex(), ByFirst())
