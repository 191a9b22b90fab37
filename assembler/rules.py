"""
What packing obeys, as absolute numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assembler.model import VersionKey
from assembler.request import Fill, Target
from assembler.span import Span

PRICED_TOKENS = 150
"""
A profile's price is the part of the best score that so many tokens, a chunk under its heading, must
buy. Less is charged as much: what a short step costs the reader is not its length.
"""

NO_LIMIT = 2**62
"""Estimates may pass the limit where they are known to be too high; only full counts may not."""


def no_spans(version: VersionKey) -> tuple[Span, ...]:  # noqa: ARG001 - the shape of `Rules.forbidden`
    """
    Return that nothing of a source version stays out.
    """
    return ()


def share_of(limit: int, share: float) -> int:
    """
    Return the tokens that are a share of the limit; the whole of it is no limit of its own.
    """
    return int(limit * share) if share < 1.0 else NO_LIMIT


@dataclass(frozen=True, slots=True)
class Rules:
    """
    What packing obeys, as absolute numbers of tokens.

    Attributes:
        limit: The request's own limit for the context.
        source_limit: Most tokens of one source.
        price: Part of the best score that a chunk must be worth.
        forbidden: Returns the ranges of a source version that stay out.
        is_priced_by_token: Whether long units have to be worth more; else each has one price.
    """

    limit: int
    source_limit: int
    targets: Sequence[Target]
    fill: Fill
    price: float
    forbidden: Callable[[VersionKey], tuple[Span, ...]] = no_spans
    is_priced_by_token: bool = True

    def pays(self, score: float, cost: int, best_score: float) -> bool:
        """
        Return whether a score pays for so many tokens under the price; the best always does.
        """
        if self.fill is Fill.FULL or score >= best_score:
            return True
        charged = max(cost, PRICED_TOKENS) if self.is_priced_by_token else PRICED_TOKENS
        return score * PRICED_TOKENS >= self.price * best_score * charged
