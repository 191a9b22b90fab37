"""
Scores of different searches made comparable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from assembler.model import Hit, SectionHit

Hits: TypeAlias = "Sequence[Hit] | Sequence[SectionHit]"


class Scale:
    """
    Maps raw scores to (0, 1]: the best of all lists of a signal to 1, the worst to just above 0.
    """

    def __init__(self, scores: Iterable[float]) -> None:
        known = tuple(scores)
        self._low = min(known, default=0.0)
        self._width = max(known, default=0.0) - self._low

    def __call__(self, score: float) -> float:
        """
        Return the scaled score.
        """
        if self._width <= 0.0:
            return 1.0
        return 0.02 + 0.98 * (score - self._low) / self._width


def dense_scales(
    found: Sequence[tuple[int, Hits]], models: Sequence[str] = ()
) -> Mapping[int, Scale]:
    """
    Return the scale of each target's cosines: those of one embedding model share one, since those
    of two models do not compare.

    Args:
        found: Targets with the hits of their vector searches.
        models: Embedding model per target; without them it is one and the same.
    """
    scores: dict[str, list[float]] = {}
    for target, hits in found:
        known = scores.setdefault(models[target] if models else "", [])
        known.extend(hit.score for hit in hits)
    by_model = {model: Scale(known) for model, known in scores.items()}
    return {target: by_model[models[target] if models else ""] for target, _ in found}
