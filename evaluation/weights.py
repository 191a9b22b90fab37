"""
One number of a profile at a time: the values that are tried, and the profiles that have them.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from assembler.profile import Profile
from assembler.request import Fill

DIGITS = 6
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
SUPPORTS = (0.0, 0.25, 0.5, 0.75, 1.0)
PRICES = (0.1, 0.2, 0.3, 0.4, 0.5)


class Weight(enum.Enum):
    """
    The numbers of a profile that can be fitted, each by its field.
    """

    BM25 = "bm25"
    NEIGHBOUR = "neighbour"
    SECTION = "section"
    SECTION_BEST = "section_best"
    DOCUMENT = "document"
    PRICE = "price"

    @property
    def fill(self) -> Fill:
        """
        Return how budgets are filled: a price is paid under AUTO only.
        """
        return Fill.AUTO if self is Weight.PRICE else Fill.FULL

    @property
    def usual_values(self) -> tuple[float, ...]:
        """
        Return the values that are tried unless others are named.
        """
        if self is Weight.BM25:
            return SHARES
        return PRICES if self is Weight.PRICE else SUPPORTS

    def of(self, profile: Profile) -> float:
        """
        Return the value that a profile has.
        """
        value: float = getattr(profile, self.value)
        return value


def profile_with(weight: Weight, value: float, current: Profile) -> Profile:
    """
    Return the profile with another value; what BM25 gains the vector score loses.

    Raises:
        ValueError: No profile can have this value.
    """
    name = f"{weight.value}={value!r}"
    if weight is not Weight.BM25:
        changed: dict[str, Any] = {weight.value: value}
        return replace(current, name=name, **changed)
    total = current.dense + current.bm25
    if not 0.0 <= value <= total:
        msg = f"bm25 must be 0 to {total:g}, since dense and bm25 share {total:g}; got {value:g}"
        raise ValueError(msg)
    return replace(current, name=name, bm25=value, dense=round(total - value, DIGITS))


def profiles_with(
    weight: Weight, values: Sequence[float], current: Profile
) -> Mapping[float, Profile]:
    """
    Return a profile for every value, the current one's included, least value first.

    Raises:
        ValueError: No profile can have one of the values, or all are the current one.
    """
    mine = weight.of(current)
    if any(not math.isfinite(one) for one in values):
        msg = f"values must be finite numbers, got {', '.join(map(str, values))}"
        raise ValueError(msg)
    found = {value: profile_with(weight, value, current) for value in values if value != mine}
    if not found:
        msg = f"values must name another one than {mine:g}, which {weight.value} has"
        raise ValueError(msg)
    return dict(sorted({**found, mine: current}.items()))
