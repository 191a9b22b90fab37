"""
Chroma's splitters as the bench cuts with them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import tiktoken

from assembler.span import Span
from bench import chroma_rows
from evaluation.bootstrap import Estimate
from evaluation.question_set import Document, Evidence, Question, QuestionSet
from tests.fakes import FakeEmbedder


@pytest.fixture
def encoding(
    tokenizer_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tiktoken.Encoding:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")  # given back as it was
    return chroma_rows.cl100k(tokenizer_folder, tmp_path / "tiktoken")


def test_recursive_leaves_separators_before_what_follows(encoding: tiktoken.Encoding) -> None:
    text = "one two three. four five six? seven\n\neight nine"
    spans = chroma_rows.recursive(encoding, 5)(text)
    assert [span.slice(text) for span in spans] == [
        "one two three",
        ". four five six",
        "? seven",
        "\n\neight nine",
    ]


def test_windows_have_exactly_so_many_tokens(encoding: tiktoken.Encoding) -> None:
    text = "word " * 450
    spans = chroma_rows.tokens(encoding)(text)
    counts = [len(encoding.encode_ordinary(span.slice(text))) for span in spans]
    assert counts[:2] == [200, 200]
    assert "".join(span.slice(text) for span in spans) == text


def test_a_row_measures_and_says_what_lies_outside(encoding: tiktoken.Encoding) -> None:
    text = "Cats sleep all day.\n\nDogs bark at night."
    document = Document("a", "", "en", "text", "", "", text, Path("a.txt"))
    evidence = Evidence("a", Span(0, 19), text[:19])
    asked = QuestionSet("s", {"a": document}, (Question("q", "Cats?", "en", (evidence,)),))
    splitter = chroma_rows.recursive(encoding, 8)

    row = chroma_rows.measured("recursive", splitter, asked, FakeEmbedder())

    assert (row.chunks, row.cut) == (2, 0)
    assert row.found["recall"] == Estimate(18 / 19, 18 / 19, 18 / 19)  # the full stop is left out
    every = ["recall", "precision", "precision_omega", "iou"]
    assert row.outside(row.found) == row.outside(row.together) == every


def test_intervals_that_hold_for_all_values_at_once_are_wider() -> None:
    row = chroma_rows.Row(
        "tokens",
        1,
        0,
        dict.fromkeys(chroma_rows.MEASURES, Estimate(0.5, 0.4, 0.6)),
        dict.fromkeys(chroma_rows.MEASURES, Estimate(0.5, 0.1, 0.8)),
    )

    assert round(chroma_rows.TOGETHER, 6) == round(1 - 0.05 / 12, 6)
    assert row.outside(row.found) == ["recall", "precision", "precision_omega", "iou"]
    assert row.outside(row.together) == ["precision", "iou"]


def test_what_the_model_does_not_take_is_counted(encoding: tiktoken.Encoding) -> None:
    text = "w " * 400
    document = Document("a", "", "en", "text", "", "", text, Path("a.txt"))
    evidence = Evidence("a", Span(0, 1), "w")
    asked = QuestionSet("s", {"a": document}, (Question("q", "w?", "en", (evidence,)),))

    row = chroma_rows.measured("tokens", lambda whole: [Span(0, len(whole))], asked, FakeEmbedder())

    assert (row.chunks, row.cut) == (1, 1)
