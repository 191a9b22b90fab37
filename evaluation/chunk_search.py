"""
Exact search of chunks by vector, and what every question's hits are worth.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assembler.span import Span
from evaluation.chunk_measures import ChunkScores, chunk_scores
from evaluation.question_set import Question

SCORE_DIGITS = 6
TOP = 5


@dataclass(frozen=True, slots=True)
class ChunkOf:
    """
    One chunk of a document, with what is embedded of it.
    """

    doc_id: str
    span: Span
    embedding_input: str


@dataclass(frozen=True, slots=True)
class Searched:
    """
    What one way to cut is worth.

    Attributes:
        scores: One per question, in their order.
        search_seconds: Of all questions together, the questions' embedding left out.
    """

    scores: tuple[ChunkScores, ...]
    search_seconds: float


def search_chunks(
    questions: Sequence[Question],
    chunks: Sequence[ChunkOf],
    *,
    chunk_vectors: Sequence[Sequence[float]],
    question_vectors: Sequence[Sequence[float]],
    top: int = TOP,
    tell: Callable[[int], None] | None = None,
) -> Searched:
    """
    Return the scores of the best chunks of every question; equal cosines: what stands first.

    A question that names documents is asked of these alone.

    Args:
        questions: With their evidence.
        chunks: Of all documents.
        chunk_vectors: One normalised vector per chunk.
        question_vectors: One per question.
        top: Chunks that are retrieved.
        tell: Told how many questions more are done.
    """
    matrix = np.asarray(chunk_vectors, dtype=np.float32)
    by_document: dict[str, list[Span]] = {}
    for one in chunks:
        by_document.setdefault(one.doc_id, []).append(one.span)
    names = np.array([one.doc_id for one in chunks])
    scores: list[ChunkScores] = []
    seconds = 0.0
    for question, vector in zip(questions, question_vectors, strict=True):
        started = time.perf_counter()
        order = _best(matrix, np.asarray(vector, dtype=np.float32), names, question, top)
        seconds += time.perf_counter() - started
        retrieved = [(chunks[place].doc_id, chunks[place].span) for place in order]
        scores.append(chunk_scores(question.evidence, retrieved, by_document))
        if tell is not None:
            tell(1)
    return Searched(tuple(scores), seconds)


def _best(
    matrix: npt.NDArray[np.float32],
    vector: npt.NDArray[np.float32],
    names: npt.NDArray[np.str_],
    question: Question,
    top: int,
) -> list[int]:
    cosines = np.round((matrix @ vector).astype(np.float64), SCORE_DIGITS)
    if question.scope_doc_ids:
        cosines[~np.isin(names, question.scope_doc_ids)] = -np.inf
    order = np.argsort(-cosines, kind="stable")[:top]
    return [int(place) for place in order if cosines[place] > -np.inf]
