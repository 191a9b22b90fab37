"""
Settings of strategies: what is allowed, and from text to value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from assembler.errors import InvalidRequest
from indexer.strategies.pieces import Value

TRUTHS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Setting:
    """
    One setting with its default, whose type is the setting's type.

    Attributes:
        least: Of a number.
        most: Of a number.
        means: What it does, in a sentence.
    """

    default: Value
    means: str
    least: float = 0
    most: float = math.inf

    def value_of(self, name: str, given: Value) -> Value:
        """
        Return a value of the setting's type.

        Raises:
            InvalidRequest: It is none, or out of range; names the setting.
        """
        value = self._typed(name, given)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        if not self.least <= value <= self.most:
            bound = "" if self.most == math.inf else f" and at most {self.most:g}"
            raise InvalidRequest(
                "setting", f"{name} must be at least {self.least:g}{bound}, got {given!r}"
            )
        return value

    def _typed(self, name: str, given: Value) -> Value:
        kind = type(self.default)
        if kind is bool:
            found = TRUTHS.get(str(given).lower())
            if found is not None:
                return found
        elif kind is str:
            return str(given)
        elif not isinstance(given, bool):
            try:
                return int(given) if kind is int else float(given)
            except ValueError:
                pass
        wanted = {bool: "true or false", int: "a whole number", float: "a number"}[kind]
        raise InvalidRequest("setting", f"{name} must be {wanted}, got {given!r}")
