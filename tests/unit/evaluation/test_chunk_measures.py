"""
Measures of retrieved chunks, against what one counts letter by letter.
"""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assembler.span import Span
from evaluation.chunk_measures import chunk_scores
from evaluation.chunk_search import ChunkOf, search_chunks
from evaluation.question_set import Evidence, Question

A = [Span(0, 100), Span(100, 200), Span(200, 300)]


def evidence(*ranges: tuple[int, int], doc_id: str = "a") -> list[Evidence]:
    return [Evidence(doc_id, Span(*one), "x") for one in ranges]


def test_scores_of_a_known_case() -> None:
    scores = chunk_scores(evidence((90, 150)), [("b", A[0]), ("a", A[1])], {"a": A, "b": A})
    assert scores.recall == pytest.approx(50 / 60)
    assert scores.precision == pytest.approx(50 / 200)
    assert scores.iou == pytest.approx(50 / 210)
    assert scores.precision_omega == pytest.approx(60 / 200)
    assert scores.reciprocal_rank == 0.5
    assert scores.is_hit


def test_overlapping_chunks_cost_precision_twice_and_recall_once() -> None:
    over = [Span(0, 100), Span(50, 150)]
    scores = chunk_scores(evidence((50, 100)), [("a", one) for one in over], {"a": over})
    assert scores.recall == 1.0
    assert scores.precision == 50 / 200
    assert scores.precision_omega == 50 / 150


def test_nothing_retrieved_is_nothing_found() -> None:
    scores = chunk_scores(evidence((0, 10)), [], {"a": A})
    assert (scores.recall, scores.precision, scores.iou, scores.reciprocal_rank) == (0, 0, 0, 0)
    assert not scores.is_hit
    assert scores.precision_omega == 10 / 100


spans = st.tuples(st.integers(0, 50), st.integers(1, 20)).map(
    lambda one: Span(one[0], one[0] + one[1])
)
places = st.tuples(st.sampled_from("ab"), spans)


@given(
    st.lists(places, min_size=1, max_size=4),
    st.lists(places, max_size=5),
    st.lists(spans, max_size=8),
)
def test_scores_are_what_one_counts(wanted, retrieved, chunks) -> None:
    asked = [Evidence(doc_id, span, "x") for doc_id, span in wanted]
    scores = chunk_scores(asked, retrieved, {"a": chunks, "b": chunks})

    def letters(some) -> set[tuple[str, int]]:
        return {(doc_id, at) for doc_id, span in some for at in range(*span)}

    needed, got = letters(wanted), letters(retrieved)
    found, taken = len(needed & got), sum(span.length for _, span in retrieved)
    assert math.isclose(scores.recall, found / len(needed))
    assert math.isclose(scores.precision, found / taken if taken else 0.0)
    assert math.isclose(scores.iou, found / (taken + len(needed) - found))
    best = [(doc_id, one) for doc_id in "ab" for one in chunks if letters([(doc_id, one)]) & needed]
    union = letters(best) | needed
    assert math.isclose(scores.precision_omega, len(letters(best) & needed) / len(union))
    ranks = [1 / n for n, one in enumerate(retrieved, 1) if letters([one]) & needed]
    assert scores.reciprocal_rank == (ranks[0] if ranks else 0.0)


def test_the_most_similar_chunks_are_retrieved_in_order() -> None:
    chunks = [ChunkOf("a", one, "") for one in A] + [ChunkOf("b", A[0], "")]
    vectors = [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [0.8, 0.6]]
    questions = [
        Question("q", "?", "en", tuple(evidence((100, 200)))),
        Question("r", "?", "en", tuple(evidence((0, 100))), scope_doc_ids=("b",)),
    ]
    told: list[int] = []
    searched = search_chunks(
        questions,
        chunks,
        chunk_vectors=vectors,
        question_vectors=[[0.8, 0.6], [1.0, 0.0]],
        top=2,
        tell=told.append,
    )
    first, second = searched.scores
    assert (first.recall, first.precision, first.reciprocal_rank) == (1.0, 0.5, 0.5)
    assert (second.recall, second.precision) == (0.0, 0.0)  # only b may be read
    assert told == [1, 1]
    assert searched.search_seconds > 0.0
