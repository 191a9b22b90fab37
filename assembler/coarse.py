"""
The coarse stage of `COARSE_TO_FINE`: the best sections, by their own vectors and BM25 alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assembler.model import SectionHit
from assembler.profile import Profile
from assembler.rank import SCORE_DIGITS
from assembler.request import Retrieval, RetrievalMode
from assembler.scale import Scale, dense_scales


@dataclass(frozen=True, slots=True)
class FoundSections:
    """
    What the section searches of one query in one target returned, best first.
    """

    query: int
    target: int
    dense: Sequence[SectionHit] = ()
    sparse: Sequence[SectionHit] = ()


def section_limit(retrieval: Retrieval, profile: Profile) -> int:
    """
    Return the most sections that a request reads, of which the coarse stage takes as many.
    """
    is_coarse = retrieval.mode is RetrievalMode.COARSE_TO_FINE
    return retrieval.section_limit or (
        profile.coarse_sections if is_coarse else profile.section_limit
    )


def best_sections(
    found: Sequence[FoundSections],
    *,
    query_weights: Sequence[float],
    target_weights: Sequence[float],
    profile: Profile,
    limit: int,
    models: Sequence[str] = (),
) -> tuple[tuple[str, ...], ...]:
    """
    Return the keys of the best sections per target, as many of all targets together as the limit
    allows; they are fused as chunks are, and ties are decided by key.

    Args:
        found: One entry per query and target.
        query_weights: Weight per query; only their proportions matter.
        target_weights: Factor per target.
        profile: The weights of the signals.
        limit: Most sections.
        models: Embedding model per target; without them it is one and the same.
    """
    scores: dict[tuple[str, int], float] = {}
    total_weight = sum(query_weights) or 1.0
    for query, share in enumerate(query_weights):
        group = [one for one in found if one.query == query]
        dense = dense_scales([(one.target, one.dense) for one in group], models)
        sparse = Scale(hit.score for one in group for hit in one.sparse)
        for one in group:
            factor = share / total_weight * target_weights[one.target]
            for hits, scale, weight in (
                (one.dense, dense[one.target], profile.dense),
                (one.sparse, sparse, profile.bm25),
            ):
                for hit in hits:
                    key = (hit.section_key, one.target)
                    scores[key] = scores.get(key, 0.0) + factor * weight * scale(hit.score)
    ordered = sorted(scores, key=lambda key: (-round(scores[key], SCORE_DIGITS), key))[:limit]
    return tuple(
        tuple(key for key, target in ordered if target == number)
        for number in range(len(target_weights))
    )
