"""
Conditions on stored fields: one small language, evaluated here and translated by adapters.

A missing field matches no condition, so it passes ``none_of``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

FieldValue: TypeAlias = str | int | bool | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class AnyString:
    """
    The field is, or its list holds, one of the strings.
    """

    values: tuple[str, ...]

    def accepts(self, value: FieldValue) -> bool:
        """
        Return whether the stored value meets the test.
        """
        if isinstance(value, tuple):
            return any(item in self.values for item in value)
        return isinstance(value, str) and value in self.values


@dataclass(frozen=True, slots=True)
class AnyInt:
    """
    The field is one of the integers.
    """

    values: tuple[int, ...]

    def accepts(self, value: FieldValue) -> bool:
        """
        Return whether the stored value meets the test.
        """
        return isinstance(value, int) and not isinstance(value, bool) and value in self.values


@dataclass(frozen=True, slots=True)
class IsBool:
    """
    The field is exactly this truth value.
    """

    value: bool

    def accepts(self, value: FieldValue) -> bool:
        """
        Return whether the stored value meets the test.
        """
        return isinstance(value, bool) and value is self.value


@dataclass(frozen=True, slots=True)
class IntRange:
    """
    The field lies in the half-open range ``[at_least, below)``; an absent bound is open.

    Timestamps are stored and compared as microseconds since the Unix epoch.
    """

    at_least: int | None = None
    below: int | None = None
    is_time: bool = False

    def accepts(self, value: FieldValue) -> bool:
        """
        Return whether the stored value meets the test.
        """
        if not isinstance(value, int) or isinstance(value, bool):
            return False
        if self.at_least is not None and value < self.at_least:
            return False
        return self.below is None or value < self.below


@dataclass(frozen=True, slots=True)
class IsMissing:
    """
    The field is not stored, or is an empty list.
    """

    def accepts(self, value: FieldValue) -> bool:
        """
        Return whether the stored value meets the test.
        """
        return value is None or value == ()


Test: TypeAlias = AnyString | AnyInt | IsBool | IntRange | IsMissing


@dataclass(frozen=True, slots=True)
class Condition:
    """
    One test of one stored field, named by its payload key.
    """

    field: str
    test: Test


@dataclass(frozen=True, slots=True)
class Filter:
    """
    All of, at least one of (where any are given), and none of the conditions.
    """

    all_of: tuple[Condition | Filter, ...] = ()
    any_of: tuple[Condition | Filter, ...] = ()
    none_of: tuple[Condition | Filter, ...] = ()

    @property
    def is_empty(self) -> bool:
        """
        Return whether everything passes.
        """
        return not (self.all_of or self.any_of or self.none_of)

    def accepts(self, value_of: Callable[[str], FieldValue]) -> bool:
        """
        Return whether a record passes, given a look-up of its fields by payload key.
        """

        def holds(part: Condition | Filter) -> bool:
            if isinstance(part, Filter):
                return part.accepts(value_of)
            return part.test.accepts(value_of(part.field))

        return (
            all(holds(part) for part in self.all_of)
            and (not self.any_of or any(holds(part) for part in self.any_of))
            and not any(holds(part) for part in self.none_of)
        )

    def conditions(self) -> tuple[Condition, ...]:
        """
        Return every condition in it, nested ones included.
        """
        found: list[Condition] = []
        for part in (*self.all_of, *self.any_of, *self.none_of):
            found.extend(part.conditions() if isinstance(part, Filter) else (part,))
        return tuple(found)
