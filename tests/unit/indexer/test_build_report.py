"""
A run says what its chunks are like and why their borders are where they are.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from indexer.build_report import HEADING, SECTION_FULL, BuildReport
from indexer.cut_source import CutSource
from indexer.index import run_index
from indexer.request import IndexRequest
from tests.fake_index import FakeIndex
from tests.fakes import FakeEmbedder
from tests.unit.indexer.cutting import cut

SENTENCE = "one two three four five. "  # six tokens


def report(*cuts: CutSource) -> BuildReport:
    found = BuildReport()
    for one in cuts:
        found.add(one)
    return found


@pytest.mark.parametrize(
    ("text", "strategy", "settings", "borders"),
    [
        ("# A\n\nText.\n\n# B\n\nText.\n", "structure", {}, {HEADING: 1}),
        (
            (SENTENCE * 3 + "\n\n") * 2,
            "structure",
            {"chunk_aim_tokens": 20},
            {"structure: paragraph": 1},
        ),
        (SENTENCE * 4, "structure", {"chunk_aim_tokens": 16}, {"size: sentence": 1}),
        ("word " * 40, "fixed", {"size": 20}, {"forced: inside a sentence": 1}),
        ((SENTENCE * 4 + "\n\n") * 2, "structure", {"section_tokens": 30}, {SECTION_FULL: 1}),
    ],
)
def test_every_border_has_its_reason(
    text: str, strategy: str, settings: dict[str, int], borders: dict[str, int]
) -> None:
    assert report(cut(text, strategy=strategy, **settings)).borders == borders


def test_figures_are_of_all_sources() -> None:
    found = report(
        cut("one two three four five six. " * 4, strategy="sliding", size=14, overlap=7),
        cut("ja nein.", language="de"),
        cut("x", language=""),
    )

    assert found.chunk_tokens == {14: 3, 3: 1, 1: 1}
    assert (found.tokens_at(0.0), found.tokens_at(0.5), found.tokens_at(1.0)) == (1, 14, 14)
    assert found.density == (3 * 6 + 2 + 1) / (3 * 14 + 3 + 1)
    assert found.duplication_ratio == (4 * 29 + 9) / (6 * 29 + 9)
    assert found.weak == {"a.md": 2}
    assert found.facts() == {
        "chunk_tokens": {"least": 1, "median": 14, "p95": 14, "most": 14},
        "borders": dict(found.borders),
        "density": round(found.density, 4),
        "duplication_ratio": round(found.duplication_ratio, 4),
        "tokens_per_char": {"de": 0.375, "en": round(28 / 116, 4), "unknown": 1.0},
        "weak": {"a.md": 2},
    }
    lines = found.lines()
    assert lines[0] == "tokens of a chunk: least 1, median 14, 95 % 14, most 14"
    assert "de 0.38, en 0.24, unknown 1.00" in lines[2]
    assert lines[3] == "weak: 2 chunks of fewer than 4 different words, 2 of them in a.md"


def test_nothing_written_has_no_figures() -> None:
    empty = BuildReport()
    assert empty.lines() == []
    assert (empty.density, empty.duplication_ratio, empty.tokens_at(0.5)) == (0.0, 1.0, 0)


def test_a_single_strong_chunk_is_said_shortly() -> None:
    found = report(cut("One two three four five."))
    assert len(found.lines()) == 2
    assert not found.weak


def test_a_run_brings_its_report(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# A\n\nText.\n\n# B\n\nText.\n")

    summary = run_index(IndexRequest("docs", (docs,)), FakeIndex(), FakeEmbedder(), lambda *_: None)

    assert summary.report.borders == {HEADING: 1}
    assert sum(summary.report.chunk_tokens.values()) == summary.chunks == 2
