"""
What a context is worth, with values computed by hand.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assembler.span import Span, union_of
from evaluation.measures import (
    Place,
    Shown,
    ShownPassage,
    attainable_recall,
    duplication_ratio,
    evidence_chars,
    evidence_recall,
    first_evidence,
    is_fully_covered,
    is_hit,
    precision,
    reciprocal_rank,
    sections_reached,
)
from evaluation.question_set import Evidence

DOCUMENT = "".join(chr(0x4E00 + number) for number in range(400))
"""No two characters are equal, so that nothing stands verbatim by chance."""


def evidence(start: int, end: int, doc_id: str = "a") -> Evidence:
    return Evidence(doc_id, Span(start, end), doc_id + DOCUMENT[start:end])


def shown(*places: tuple[str, int, int], text: str = "") -> Shown:
    return Shown(tuple((doc, Span(start, end)) for doc, start, end in places), text, 0)


def test_recall_is_the_part_of_the_characters_that_lies_in_the_ranges() -> None:
    wanted = [evidence(0, 100), evidence(200, 300, "b")]

    assert evidence_recall(wanted, shown()) == 0.0
    assert evidence_recall(wanted, shown(("a", 50, 250))) == 0.25
    assert evidence_recall(wanted, shown(("a", 50, 250), ("b", 0, 400))) == 0.75
    assert evidence_recall(wanted, shown(("b", 0, 100))) == 0.0


def test_a_range_that_is_shown_twice_counts_once() -> None:
    assert evidence_recall([evidence(0, 100)], shown(("a", 0, 40), ("a", 20, 50))) == 0.5


def test_evidence_that_overlaps_counts_once() -> None:
    wanted = [evidence(0, 100), evidence(50, 150)]

    assert evidence_chars(wanted) == 150
    assert evidence_recall(wanted, shown(("a", 50, 100))) == pytest.approx(1 / 3)


def test_evidence_that_stands_verbatim_counts_wherever_it_comes_from() -> None:
    one, other = evidence(0, 60), evidence(100, 140)
    context = shown(("z", 0, 10), text=f"[1]\n{one.text}\n")

    assert evidence_recall([one, other], context) == 0.6
    assert not is_fully_covered([one, other], context)
    assert is_fully_covered([one], context)


def test_fully_covered_is_98_percent_of_every_range() -> None:
    wanted = [evidence(0, 100), evidence(200, 300)]

    assert is_fully_covered(wanted, shown(("a", 2, 100), ("a", 200, 298)))
    assert not is_fully_covered(wanted, shown(("a", 0, 100), ("a", 200, 297)))
    assert not is_fully_covered(wanted, shown(("a", 0, 100)))


def test_precision_is_evidence_over_all_source_characters_shown() -> None:
    wanted = [evidence(0, 100)]

    assert precision(wanted, shown(("a", 0, 50), ("b", 0, 150))) == 0.25
    assert precision(wanted, shown(("a", 0, 50), ("a", 0, 50))) == 0.5
    assert precision(wanted, shown()) == 0.0


def test_precision_is_at_most_1_where_one_text_answers_twice() -> None:
    twins = [Evidence("a", Span(0, 4), "same"), Evidence("b", Span(0, 4), "same")]

    assert precision(twins, shown(("a", 0, 4), text="same")) == 1.0


def passages(*texts: tuple[str, Place]) -> Shown:
    found, text = [], ""
    for body, place in texts:
        found.append(ShownPassage(Span(len(text), len(text) + len(body)), (place,)))
        text += f"{body}\n"
    return Shown.of(found, text, 0)


def test_the_first_passage_with_evidence_is_found_by_range_or_by_text() -> None:
    wanted = [evidence(10, 20)]
    other = ("b", Span(0, 5))

    by_range = passages(("x", other), ("y", ("a", Span(19, 30))), ("z", ("a", Span(0, 20))))
    by_text = passages(("x", other), ("y", other), (f"z{wanted[0].text}z", other))

    assert first_evidence(wanted, by_range) == 2
    assert reciprocal_rank(wanted, by_range) == 0.5
    assert first_evidence(wanted, by_text) == 3
    assert is_hit(wanted, by_text, within=3)
    assert not is_hit(wanted, by_text, within=2)


def test_without_a_passage_with_evidence_there_is_no_hit() -> None:
    context = shown(("a", 20, 30), ("b", 10, 20))

    assert first_evidence([evidence(10, 20)], context) is None
    assert reciprocal_rank([evidence(10, 20)], context) == 0.0
    assert not is_hit([evidence(10, 20)], context)
    assert first_evidence([evidence(10, 20, "b")], context) == 2


def test_what_a_passage_is_cited_for_counts_as_shown_but_is_no_further_text() -> None:
    passage = ShownPassage(Span(0, 3), (("b", Span(0, 50)),), (("a", Span(100, 150)),))
    context = Shown.of([passage], "[1]", 1)

    assert evidence_recall([evidence(100, 200)], context) == 0.5
    assert precision([evidence(100, 200)], context) == 1.0
    assert first_evidence([evidence(100, 200)], context) == 1


def test_passages_must_be_the_ranges() -> None:
    with pytest.raises(ValueError, match="not the context's ranges"):
        Shown((), "", 0, (ShownPassage(Span(0, 1), (("a", Span(0, 1)),)),))


def test_sections_reached_are_those_that_something_is_shown_of() -> None:
    sections = {"a": [Span(0, 100), Span(100, 200), Span(200, 300)], "b": [Span(0, 400)]}

    assert sections_reached(shown(("a", 50, 100), ("a", 0, 10)), sections) == 1
    assert sections_reached(shown(("a", 99, 201), ("b", 0, 1)), sections) == 4
    assert sections_reached(shown(), sections) == 0


def test_duplication_is_the_part_of_word_runs_that_stood_before() -> None:
    words = " ".join(str(number) for number in range(12))

    assert duplication_ratio("") == 0.0
    assert duplication_ratio("too few words") == 0.0
    assert duplication_ratio(words) == 0.0
    # 24 words have 17 runs of eight: 5 + 5 inside the halves, the same, and 7 across the middle
    assert duplication_ratio(f"{words}\n{words}") == pytest.approx(5 / 17)


def test_a_budget_below_the_evidence_allows_that_part_of_it() -> None:
    assert attainable_recall(2000, 512) == 0.256
    assert attainable_recall(2000, 4096) == 1.0


spans = st.builds(
    lambda start, length: Span(start, start + length), st.integers(0, 390), st.integers(1, 60)
)
places = st.tuples(st.sampled_from(["a", "b"]), spans)
evidences = st.lists(
    places.map(lambda place: evidence(place[1].start, place[1].end, place[0])),
    min_size=1,
    max_size=5,
)


@given(evidences, st.lists(places, max_size=6))
def test_recall_is_what_counting_characters_one_by_one_gives(
    wanted: list[Evidence], ranges: list[Place]
) -> None:
    characters = {(one.doc_id, at) for one in wanted for at in range(one.span.start, one.span.end)}
    there = {(doc, at) for doc, span in ranges for at in range(span.start, span.end)}

    context = Shown(tuple(ranges), "", 0)

    assert evidence_recall(wanted, context) == len(characters & there) / len(characters)
    if ranges:
        assert 0.0 <= precision(wanted, context) <= 1.0


@given(evidences, st.lists(places, max_size=6), places)
def test_showing_more_never_lowers_recall(
    wanted: list[Evidence], ranges: list[Place], more: Place
) -> None:
    before, after = Shown(tuple(ranges), "", 0), Shown((*ranges, more), "", 0)

    assert evidence_recall(wanted, after) >= evidence_recall(wanted, before)
    assert is_fully_covered(wanted, after) >= is_fully_covered(wanted, before)


@given(evidences)
def test_showing_all_evidence_covers_it_fully(wanted: list[Evidence]) -> None:
    ranges = [
        (doc, span)
        for doc in ("a", "b")
        for span in union_of(one.span for one in wanted if one.doc_id == doc)
    ]

    context = Shown(tuple(ranges), "", 0)

    assert evidence_recall(wanted, context) == 1.0
    assert is_fully_covered(wanted, context)
    assert precision(wanted, context) == 1.0
