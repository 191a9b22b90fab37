"""
Walk a filter once and build the engine's own filter from it, in either backend's types.

The engines compare ranges as doubles. Where a bound is beyond 2**53 the translated range is wider
than asked (narrower under `none_of`), never the other way: what comes back is checked again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol, TypeVar

from adapters.payload_keys import payload_path
from assembler.filters import AnyInt, AnyString, Condition, Filter, IntRange, IsBool, Test

Native = TypeVar("Native")

_EXACT = 2**53
_INT64 = range(-(2**63), 2**63)


class Dialect(Protocol[Native]):
    """
    One engine's conditions.
    """

    def any_string(self, path: str, values: Sequence[str]) -> Native:
        """
        Match one of the strings, of which there is at least one.
        """
        ...

    def any_int(self, path: str, values: Sequence[int]) -> Native:
        """
        Match one of the 64-bit integers, of which there is at least one.
        """
        ...

    def is_bool(self, path: str, *, value: bool) -> Native:
        """
        Match exactly this truth value.
        """
        ...

    def between(self, path: str, at_least: float | None, at_most: float | None) -> Native:
        """
        Match numbers in the closed range.
        """
        ...

    def is_missing(self, path: str) -> Native:
        """
        Match where the value is absent, null or an empty list.
        """
        ...

    def nothing(self) -> Native:
        """
        Match no point.
        """
        ...

    def group(self, all_of: list[Native], any_of: list[Native], none_of: list[Native]) -> Native:
        """
        Match all, at least one (where any are given) and none of the conditions.
        """
        ...


def translate(part: Condition | Filter, dialect: Dialect[Native], *, wide: bool = True) -> Native:
    """
    Return the engine's form of a condition or filter.

    Args:
        part: What to translate.
        dialect: The engine's conditions.
        wide: Whether an inexact range may match more than asked, rather than less.
    """
    if isinstance(part, Condition):
        return _condition(payload_path(part.field), part.test, dialect, wide=wide)
    return dialect.group(
        [translate(inner, dialect, wide=wide) for inner in part.all_of],
        [translate(inner, dialect, wide=wide) for inner in part.any_of],
        [translate(inner, dialect, wide=not wide) for inner in part.none_of],
    )


def _condition(path: str, test: Test, dialect: Dialect[Native], *, wide: bool) -> Native:
    if isinstance(test, AnyString):
        return dialect.any_string(path, test.values) if test.values else dialect.nothing()
    if isinstance(test, AnyInt):
        values = [value for value in test.values if value in _INT64]
        return dialect.any_int(path, values) if values else dialect.nothing()
    if isinstance(test, IsBool):
        return dialect.is_bool(path, value=test.value)
    if isinstance(test, IntRange):
        low = None if test.at_least is None else _bound(test.at_least, down=wide)
        high = None if test.below is None else _bound(test.below - 1, down=not wide)
        # Engines take a bound beyond 64 bits for the nearest integer, which would be matched.
        is_beyond = (low is not None and low >= _INT64.stop) or (
            high is not None and high < _INT64.start
        )
        if is_beyond:
            return dialect.nothing()
        return dialect.between(path, low, high)
    return dialect.is_missing(path)


def _bound(value: int, *, down: bool) -> float:
    if -_EXACT <= value <= _EXACT:
        return float(value)
    value = max(_INT64.start, min(value, _INT64.stop))
    return math.nextafter(float(value), -math.inf if down else math.inf)
