"""
Mixing the reranker's scores with the fused ones: worked out by hand, and for any scores at all.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assembler.model import Chunk, Provenance, Section
from assembler.profile import DEFAULT_PROFILE
from assembler.rank import SCORE_DIGITS, Candidate, version_key
from assembler.report import Signal, SignalScore
from assembler.rerank import Judgement, judged, kept, readable, reranked
from assembler.span import Span
from tests.sections import plain_section
from tests.strategies import sha256

TEXT = "First text. Second text."
ORIGIN = Provenance("", "a", "1", sha256(TEXT), None, 1)
CUTS = (Span(0, 12), Span(12, 24))


def candidate(key: str, rank: int, score: float) -> Candidate:
    number = rank % 2
    chunk = Chunk(key, ORIGIN, "home", CUTS[number], number, sha256(CUTS[number].slice(TEXT)))
    values = (score, None, 7.0)
    return Candidate(rank, 0, "docs", version_key("docs", chunk), chunk, score, values, (0,), None)


def home(*path: str) -> Section:
    return plain_section(TEXT, CUTS, ORIGIN, key="home", heading_path=path)


def ranked(*scores: float) -> tuple[Candidate, ...]:
    return tuple(candidate(f"c{rank}", rank, score) for rank, score in enumerate(scores))


def keys(some: tuple[Candidate, ...]) -> list[str]:
    return [one.chunk.key for one in some]


def test_the_scores_are_mixed_between_the_best_and_the_best_that_was_not_read() -> None:
    four = ranked(1.0, 0.8, 0.6, 0.2)
    said = judged([one.identity for one in four[:3]], [[-4.0, 0.0, 4.0]], [1.0])

    made = reranked(four, said, DEFAULT_PROFILE)

    # shares 0, 0.5, 1 of what lies between 0.2 and 1.0, half and half with the fused scores
    assert keys(made) == ["c2", "c1", "c0", "c3"]
    assert [one.score for one in made] == pytest.approx([0.8, 0.7, 0.6, 0.2])
    assert [one.rank for one in made] == [0, 1, 2, 3]
    assert made[0].scores == (
        SignalScore(Signal.FUSED, made[0].score),
        SignalScore(Signal.BM25, 7.0),
        SignalScore(Signal.RERANK, 4.0),
    )
    assert made[3] == four[3]


def test_where_all_were_read_the_worst_share_is_worth_nothing() -> None:
    two = ranked(1.0, 0.8)

    made = reranked(two, judged([one.identity for one in two], [[1, 3]], [1.0]), DEFAULT_PROFILE)

    assert [(one.chunk.key, one.score) for one in made] == [("c1", 0.9), ("c0", 0.5)]


def test_the_weight_decides_how_much_the_reranker_says() -> None:
    two = ranked(1.0, 0.5)
    said = judged([one.identity for one in two], [[0.0, 1.0]], [1.0])

    nothing = reranked(two, said, replace(DEFAULT_PROFILE, rerank_weight=0.0))
    everything = reranked(two, said, replace(DEFAULT_PROFILE, rerank_weight=1.0))

    assert [one.score for one in nothing] == [1.0, 0.5]
    assert [(one.chunk.key, one.score) for one in everything] == [("c1", 1.0), ("c0", 0.0)]


def test_queries_are_scaled_each_on_its_own_and_weigh_what_they_are_given() -> None:
    said = judged([("docs", "a"), ("docs", "b")], [[0.0, 1.0], [900.0, 100.0]], [3.0, 1.0])

    assert said == {("docs", "a"): Judgement(900.0, 0.25), ("docs", "b"): Judgement(100.0, 0.75)}


def test_equal_scores_change_neither_order_nor_lose_a_candidate() -> None:
    three = ranked(0.9, 0.9, 0.4)

    made = reranked(
        three, judged([one.identity for one in three], [[2, 2, 2]], [1.0]), DEFAULT_PROFILE
    )

    assert keys(made) == ["c0", "c1", "c2"]


def test_the_reranker_decides_among_equal_fused_scores_that_reach_the_floor() -> None:
    three = ranked(0.9, 0.9, 0.9)
    said = judged([one.identity for one in three[:2]], [[1.0, 2.0]], [1.0])

    assert keys(reranked(three, said, DEFAULT_PROFILE)) == ["c1", "c0", "c2"]


def test_nothing_read_is_nothing_changed() -> None:
    two = ranked(1.0, 0.5)

    assert reranked(two, {}, DEFAULT_PROFILE) == two


def test_what_is_read_is_the_heading_path_and_the_chunk() -> None:
    first, second = ranked(1.0, 0.5)

    texts = readable([second, first], {("docs", "home"): home("Rules", "Refunds")}, {})

    assert list(texts.items()) == [
        (("docs", "c1"), "Rules > Refunds\nSecond text."),
        (("docs", "c0"), "Rules > Refunds\nFirst text. "),
    ]
    assert readable([first], {("docs", "home"): home()}, {}) == {("docs", "c0"): "First text. "}


def test_a_chunk_without_its_section_is_read_alone_or_not_at_all() -> None:
    first, second = ranked(1.0, 0.5)
    other = replace(home("Rules"), text=TEXT.upper())

    texts = readable([first, second], {("docs", "home"): other}, {("docs", "c0"): "First text. "})

    assert texts == {("docs", "c0"): "First text. "}


def test_a_part_of_the_candidates_is_kept_in_the_new_order() -> None:
    one, two, three = ranked(1.0, 0.8, 0.6)

    assert kept((three, one, two), (one, three)) == (three, one)


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(
    fused=st.lists(st.floats(0.0, 4.0), min_size=1, max_size=12),
    raw=st.lists(st.lists(finite, min_size=12, max_size=12), min_size=1, max_size=3),
    weights=st.lists(st.floats(0.01, 1000.0), min_size=3, max_size=3),
    read=st.sets(st.integers(0, 11)),
    share=st.floats(0.0, 1.0),
    seed=st.integers(0, 2**16),
)
def test_no_scores_lose_a_candidate_or_depend_on_the_order_given(
    fused: list[float],
    raw: list[list[float]],
    weights: list[float],
    read: set[int],
    share: float,
    seed: int,
) -> None:
    before = ranked(*sorted(fused, reverse=True))
    places = sorted(number for number in read if number < len(before))
    identities = [before[number].identity for number in places]
    rows = [[row[number] for number in places] for row in raw]
    said = judged(identities, rows, weights[: len(rows)]) if places else {}
    profile = replace(DEFAULT_PROFILE, rerank_weight=share)

    made = reranked(before, said, profile)

    shuffled = random.Random(seed).sample(before, len(before))
    if said:
        assert reranked(shuffled, said, profile) == made
    assert sorted(keys(made)) == sorted(keys(before))
    assert [one.rank for one in made] == list(range(len(before)))
    assert {one.identity for one in made[: len(said)]} == set(said)
    rounded = [round(one.score, SCORE_DIGITS) for one in made[: len(said)]]
    assert rounded == sorted(rounded, reverse=True)
    assert all(-1e-9 <= one.score <= before[0].score + 1e-9 for one in made)
    last = max(places, default=len(before))
    assert all(one.score <= rounded[-1] + 1e-9 for one in before[last + 1 :])
