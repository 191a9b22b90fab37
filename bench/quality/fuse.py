"""
Ways to fuse two lists of hits without neighbours and sections, as search engines offer them.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import TypeAlias

from assembler.model import Chunk, Hit

Ranked: TypeAlias = "list[tuple[Chunk, float]]"
"""Chunks with their fused score, best first."""

Fusion: TypeAlias = Callable[[Sequence[Hit], Sequence[Hit]], Ranked]

DENSE, SPARSE = 0.6, 0.4
SIGMAS = 3.0


def by_ranks(k: int) -> Fusion:
    """
    Return reciprocal rank fusion (Cormack, Clarke, Buettcher, SIGIR 2009): sums of 1 / (k + rank).
    """

    def fuse(dense: Sequence[Hit], sparse: Sequence[Hit]) -> Ranked:
        return _summed(
            *([1.0 / (k + rank) for rank in range(len(hits))] for hits in (dense, sparse)),
            hits=(dense, sparse),
        )

    return fuse


def by_distribution(dense: Sequence[Hit], sparse: Sequence[Hit]) -> Ranked:
    """
    Return the distribution-based fusion: each list's mean -/+ 3 sigma become 0 and 1, then sums.
    """

    def scaled(hits: Sequence[Hit]) -> list[float]:
        scores = [hit.score for hit in hits]
        sigma = statistics.stdev(scores) if len(scores) > 1 else 0.0
        if sigma == 0.0:
            return [0.5] * len(scores)
        low = statistics.fmean(scores) - SIGMAS * sigma
        return [(score - low) / (2 * SIGMAS * sigma) for score in scores]

    return _summed(scaled(dense), scaled(sparse), hits=(dense, sparse))


def by_weights(dense: Sequence[Hit], sparse: Sequence[Hit]) -> Ranked:
    """
    Return the weighted sum of scores, each list's least and greatest made 0 and 1.
    """

    def scaled(hits: Sequence[Hit], weight: float) -> list[float]:
        low = min((hit.score for hit in hits), default=0.0)
        width = max((hit.score for hit in hits), default=0.0) - low
        return [weight * ((hit.score - low) / width if width else 1.0) for hit in hits]

    return _summed(scaled(dense, DENSE), scaled(sparse, SPARSE), hits=(dense, sparse))


def _summed(*scores: Sequence[float], hits: Sequence[Sequence[Hit]]) -> Ranked:
    chunks: dict[str, Chunk] = {}
    sums: dict[str, float] = {}
    for own, found in zip(scores, hits, strict=True):
        for score, hit in zip(own, found, strict=True):
            key = hit.chunk.key
            chunks[key] = hit.chunk
            sums[key] = sums.get(key, 0.0) + score
    order = sorted(sums, key=lambda key: (-round(sums[key], 9), key))
    return [(chunks[key], sums[key]) for key in order]
