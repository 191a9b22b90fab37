"""
Which differences between ways to cut are real, and the reports that say so.
"""

from __future__ import annotations

import csv
import io
import json
from html.parser import HTMLParser

import pytest

from evaluation.chunk_measures import ChunkScores
from evaluation.comparison import Compared, Comparison, measured_chunks
from evaluation.comparison_report import as_csv, as_html, as_json

UP = tuple([0.4, 0.6] * 10)


def way(name: str, values: tuple[float, ...] = UP, index_bytes: int | None = None) -> Compared:
    return Compared(
        name=name,
        strategy="fixed",
        settings={"size": 9},
        measured={"recall@5": values, "iou@5": UP},
        chunks=1234,
        sections=7,
        mean_tokens=8.5,
        duplication_ratio=0.9,
        vector_bytes=100,
        index_bytes=index_bytes,
        cut_seconds=0.5,
        search_milliseconds=0.25,
        embedded=3,
    )


BETTER = way("more <b>", tuple(one + 0.2 for one in UP), 5)
WORSE = way("less", tuple(one - 0.2 for one in UP))
NOISY = way("noisy", tuple(one + (0.3 if at % 2 else -0.3) for at, one in enumerate(UP)))


def test_only_what_chance_does_not_explain_is_called_a_difference() -> None:
    comparison = Comparison((way("first"), BETTER, WORSE, NOISY))
    assert comparison.verdicts() == [
        "recall@5: better than first: more <b> (+20.0 points); worse than first: less (-20.0 points)",
        "iou@5: no way differs from first beyond chance",
    ]
    assert comparison.confidence == pytest.approx(1 - 0.05 / 3)
    assert comparison.change(BETTER, "recall@5").value == pytest.approx(0.2)


def test_what_cannot_be_told_is_not_told() -> None:
    assert Comparison((way("a"),)).verdicts() == [
        "only a was measured; there is nothing to compare"
    ]
    few = way("a", (0.1,) * 9), way("b", (0.9,) * 9)
    few = tuple(
        Compared(
            **{
                **{key: getattr(one, key) for key in Compared.__dataclass_fields__},
                "measured": {"recall@5": one.measured["recall@5"]},
            }
        )
        for one in few
    )
    (told,) = Comparison(few).verdicts()
    assert told == "9 questions are too few to tell; at least 10, better 50"


def test_ways_of_other_questions_are_not_compared() -> None:
    with pytest.raises(ValueError, match="same questions"):
        Comparison((way("a"), way("b", (0.5,) * 20 + (0.1,))))
    with pytest.raises(ValueError, match="same questions"):
        Comparison(())


def test_measures_are_named_by_how_many_chunks_were_retrieved() -> None:
    scores = [ChunkScores(0.5, 0.25, 0.2, 0.3, 0.5), ChunkScores(0.0, 0.0, 0.0, 0.1, 0.0)]
    assert measured_chunks(scores, 3) == {
        "recall@3": (0.5, 0.0),
        "precision@3": (0.25, 0.0),
        "precision_omega": (0.3, 0.1),
        "iou@3": (0.2, 0.0),
        "hit@3": (1.0, 0.0),
        "mrr@3": (0.5, 0.0),
    }


def test_json_and_csv_hold_every_figure() -> None:
    comparison = Comparison((way("first"), BETTER))
    told = json.loads(as_json(comparison))
    assert told["questions"] == 20
    first, better = told["ways"]
    assert first["measures"]["recall@5"]["mean"] == 0.5
    assert "change" not in first["measures"]["recall@5"]
    assert better["measures"]["recall@5"]["change"] == pytest.approx(0.2)
    assert (better["chunks"], better["settings"], better["index_bytes"]) == (1234, {"size": 9}, 5)
    rows = list(csv.reader(io.StringIO(as_csv(comparison))))
    assert rows[0] == ["way", "strategy", "figure", "value", "low", "high"]
    assert ["first", "fixed", "index_bytes", "", "", ""] in rows
    assert len(rows) == 1 + 2 * (2 + 9)


class Page(HTMLParser):
    """
    Notes what a page holds, and what it would fetch.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.fetched: list[str] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append(tag)
        self.fetched += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "br", "line", "rect"):
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        self.texts.append(data)


def test_the_page_is_whole_and_needs_nothing_beside_it() -> None:
    comparison = Comparison((way("first"), BETTER))
    page = Page(as_html(comparison, "Ways <1>").replace("/>", ">"))
    assert page.open == []
    assert page.fetched == []
    assert page.tags.count("svg") == 2
    assert page.tags.count("rect") == 4
    assert {"Ways <1>", "more <b>", "+20.0", "not made", "1,234"} <= set(page.texts)
