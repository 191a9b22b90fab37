"""
Restated baselines: fusions with values computed by hand, and packing under a budget.
"""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assembler.model import Chunk, Hit, Provenance, Section
from assembler.span import Span
from bench.quality.baselines import AUTO_MERGE, NAMES, PARENTS, SEGMENTS, best_segments, contexts
from bench.quality.fuse import Fusion, by_distribution, by_ranks, by_weights
from bench.quality.packing import Item, Packer
from bench.quality.stored import StoredDocument
from tests.sections import plain_section

WIDTH = 10
PROVENANCE = Provenance("", "a", "1", "0", None, 1)


def chunk(number: int, per_section: int = 2) -> Chunk:
    span = Span(WIDTH * number, WIDTH * (number + 1))
    return Chunk(f"c{number}", PROVENANCE, f"s{number // per_section}", span, number, "0")


def hits(**scores: float) -> list[Hit]:
    return [Hit(chunk(int(name[1:])), score) for name, score in scores.items()]


def document(chunks: int = 6, per_section: int = 2) -> StoredDocument:
    text = "".join(f"chunk {number:02} \n"[:WIDTH] for number in range(chunks))
    spans = tuple(chunk(number).span for number in range(chunks))
    sections = tuple(
        section(spans[at : at + per_section], text) for at in range(0, chunks, per_section)
    )
    return StoredDocument("a", text, sections, spans)


def section(spans: tuple[Span, ...], text: str) -> Section:
    whole = Span(spans[0].start, spans[-1].end)
    return plain_section(
        whole.slice(text), spans, PROVENANCE, key=f"s{whole.start}", span=whole, language="en"
    )


@pytest.mark.parametrize(
    ("fusion", "expected"),
    [
        (by_ranks(2), {"c1": 1 / 3 + 1 / 2, "c0": 1 / 2, "c2": 1 / 3}),
        (by_ranks(60), {"c1": 1 / 61 + 1 / 60, "c0": 1 / 60, "c2": 1 / 61}),
        # each list of two has its mean in the middle and sigma = width / sqrt(2)
        (by_distribution, {"c1": 1.0, "c0": 0.5 + 2**-0.5 / 6, "c2": 0.5 - 2**-0.5 / 6}),
        (by_weights, {"c0": 0.6, "c1": 0.4, "c2": 0.0}),
    ],
)
def test_fusions_give_what_their_formula_says(fusion: Fusion, expected: dict[str, float]) -> None:
    fused = fusion(hits(c0=0.9, c1=0.5), hits(c1=12.0, c2=3.0))

    assert {one.key: score for one, score in fused} == pytest.approx(expected)
    assert [score for _, score in fused] == sorted(expected.values(), reverse=True)


def test_lists_of_one_or_none_can_be_fused() -> None:
    for fusion in (by_ranks(2), by_distribution, by_weights):
        assert [one.key for one, _ in fusion(hits(c3=0.1), [])] == ["c3"]
        assert fusion([], []) == []


def test_a_misfit_is_skipped_or_ends_the_context() -> None:
    place = document()
    spans = [Span(0, 10), Span(10, 60), Span(10, 20)]
    items = [Item(place, span, span) for span in spans]

    skipping = Packer(len).pack(items, 40)
    stopping = Packer(len).pack(items, 40, stops=True)

    # a block is marker, line end, text and two line ends: 3 + 1 + 9 + 2 characters as tokens
    assert skipping.text == "[1]\nchunk 00\n\n[2]\nchunk 01"
    assert [span for _, span in skipping.ranges] == [Span(0, 8), Span(10, 18)]
    assert [span for _, span in stopping.ranges] == [Span(0, 8)]
    assert skipping.passages[1].block.slice(skipping.text) == "[2]\nchunk 01"


def test_what_is_shown_is_not_shown_again() -> None:
    place = document()
    first, second, third = (one.span for one in (chunk(1), chunk(2), chunk(1)))
    items = [
        Item(place, Span(0, 20), first),
        Item(place, Span(10, 40), second),
        Item(place, Span(0, 60), third),
    ]

    shown = Packer(len).pack(items, 1000)

    assert [span for _, span in shown.ranges] == [Span(0, 18), Span(20, 38)]


@given(st.lists(st.integers(0, 5), max_size=6), st.integers(0, 90))
def test_a_packed_context_is_never_over_its_budget(order: list[int], budget: int) -> None:
    place = document()
    items = [Item(place, chunk(one).span, chunk(one).span) for one in order]

    shown = Packer(len).pack(items, budget)

    assert shown.tokens == len(shown.text) <= budget


def test_every_baseline_shows_what_it_is_named_for() -> None:
    place = document()
    searches = {100: (hits(c2=0.9, c5=0.5), hits(c2=8.0, c3=7.0, c0=1.0))}
    searches[200] = searches[100]
    by_key = {f"c{number}": place for number in range(6)}

    found = dict(contexts(searches, by_key, Packer(len), 60))

    assert tuple(found) == NAMES
    assert found["rrf k=2"].ranges[0][1] == Span(20, 28)
    assert [span for _, span in found[PARENTS].ranges] == [Span(20, 38), Span(0, 18)]
    # c2 and c3 are all of one section; of the others one of two is half
    assert found[AUTO_MERGE].ranges[0][1] == Span(20, 38)
    assert [span for _, span in found[SEGMENTS].ranges] == [Span(20, 38)]


def test_segments_are_disjoint_and_the_best_comes_first() -> None:
    values = [1.0, -0.5, 2.0, -3.0, 0.25, -0.25]

    found = list(best_segments(values, 0, len(values)))

    assert found[0] == (2.5, 0, 3)
    assert sorted(found) == [(0.25, 4, 5), (2.5, 0, 3)]


@given(st.lists(st.floats(-1.0, 1.0, width=16), max_size=14))
def test_no_range_is_worth_more_than_the_best_segment(values: list[float]) -> None:
    found = list(best_segments(values, 0, len(values)))

    best = max(
        (sum(values[a:b]) for a in range(len(values)) for b in range(a + 1, len(values) + 1)),
        default=0.0,
    )
    assert max((worth for worth, _, _ in found), default=0.0) == pytest.approx(max(best, 0.0))
    covered = sorted((first, last) for _, first, last in found)
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(covered))
