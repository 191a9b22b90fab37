"""
The tie rule of searches: rounded scores, then keys, and no tie group cut by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

Item = TypeVar("Item")

OVER_FETCH = 16
"""How many more points are fetched than asked for, to see whether the last ones tie."""

GROWTH = 4
MAX_FETCH = 8192
"""The most points that one search fetches to complete a tie group."""


def rounded(score: float) -> float:
    """
    Return the score as it is compared and shown.
    """
    return round(score, 6)


class Scored(NamedTuple, Generic[Item]):
    """
    One admitted point of a search, its score rounded.
    """

    score: float
    key: str
    from_rev: int
    item: Item


def best(found: Sequence[Scored[Item]], limit: int) -> list[Scored[Item]]:
    """
    Return the first `limit` by score, then key; of equal keys the best, then the latest.
    """
    ordered = sorted(found, key=lambda point: (-point.score, point.key, -point.from_rev))
    seen: set[str] = set()
    kept: list[Scored[Item]] = []
    for point in ordered:
        if len(kept) == limit:
            break
        if point.key not in seen:
            seen.add(point.key)
            kept.append(point)
    return kept


def is_decided(
    kept: Sequence[Scored[Item]], *, limit: int, fetched: int, asked: int, worst: float
) -> bool:
    """
    Return whether more points could not change what is kept.

    Args:
        kept: What `best` returned.
        limit: How many are wanted.
        fetched: How many points the engine returned.
        asked: How many points it was asked for.
        worst: The lowest rounded score among the returned.
    """
    if fetched < asked or asked >= MAX_FETCH:
        return True
    return len(kept) == limit and worst < kept[-1].score
