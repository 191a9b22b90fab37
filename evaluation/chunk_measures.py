"""
What retrieved chunks are worth, by where the evidence stands: as Chroma's report on chunking
(Smith and Troynikov, 2024) defines it, in characters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assembler.span import Span, union_of
from evaluation.measures import Place
from evaluation.question_set import Evidence


@dataclass(frozen=True, slots=True)
class ChunkScores:
    """
    One question's scores, each from 0 to 1.

    Attributes:
        recall: The part of the evidence that the retrieved chunks hold.
        precision: The part of the retrieved chunks that is evidence; text that overlapping chunks
            share counts as often as it was retrieved.
        iou: What the retrieved chunks hold of the evidence over both together.
        precision_omega: The precision of a retrieval that returns exactly the chunks with evidence:
            what the cut allows at best.
        reciprocal_rank: 1 over the number of the first retrieved chunk with evidence, else 0.
    """

    recall: float
    precision: float
    iou: float
    precision_omega: float
    reciprocal_rank: float

    @property
    def is_hit(self) -> bool:
        """
        Return whether any retrieved chunk has evidence.
        """
        return self.reciprocal_rank > 0.0


def chunk_scores(
    evidence: Sequence[Evidence],
    retrieved: Sequence[Place],
    chunks: Mapping[str, Sequence[Span]],
) -> ChunkScores:
    """
    Return the scores of a question.

    Args:
        evidence: Where the answer stands.
        retrieved: Chunks in order, best first.
        chunks: Every chunk of the documents that have evidence.
    """
    wanted: dict[str, list[Span]] = {}
    for one in evidence:
        wanted.setdefault(one.doc_id, []).append(one.span)
    joined = {doc_id: union_of(spans) for doc_id, spans in wanted.items()}
    evidence_chars = sum(span.length for spans in joined.values() for span in spans)
    found = _shared(joined, retrieved)
    retrieved_chars = sum(span.length for _, span in retrieved)
    with_evidence = [
        (doc_id, chunk)
        for doc_id, spans in joined.items()
        for chunk in chunks[doc_id]
        if any(chunk.overlaps(span) for span in spans)
    ]
    best = _shared(joined, with_evidence)
    best_chars = _union_chars(with_evidence) + evidence_chars - best
    ranks = (
        number
        for number, (doc_id, chunk) in enumerate(retrieved, start=1)
        if any(chunk.overlaps(span) for span in joined.get(doc_id, ()))
    )
    first = next(ranks, None)
    return ChunkScores(
        recall=found / evidence_chars,
        precision=found / retrieved_chars if retrieved_chars else 0.0,
        iou=found / (retrieved_chars + evidence_chars - found),
        precision_omega=best / best_chars,
        reciprocal_rank=1.0 / first if first else 0.0,
    )


def _shared(joined: Mapping[str, Sequence[Span]], places: Sequence[Place]) -> int:
    """
    Return the characters of the evidence that lie in any of the places, each once.
    """
    total = 0
    for doc_id, spans in joined.items():
        own = union_of(span for other, span in places if other == doc_id)
        parts = (one.intersection(span) for one in own for span in spans)
        total += sum(part.length for part in parts if part is not None)
    return total


def _union_chars(places: Sequence[Place]) -> int:
    return sum(
        span.length
        for doc_id in {doc_id for doc_id, _ in places}
        for span in union_of(span for other, span in places if other == doc_id)
    )
