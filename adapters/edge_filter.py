"""
Filters as the embedded engine has them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import qdrant_edge as edge

from adapters.filter_tree import translate
from assembler.filters import Filter


def edge_filter(wanted: Filter) -> edge.Filter:
    """
    Return the filter for the embedded engine.
    """
    native = translate(wanted, _EdgeDialect())
    return native if isinstance(native, edge.Filter) else edge.Filter(must=[native])


class _EdgeDialect:
    def any_string(self, path: str, values: Sequence[str]) -> edge.ConditionType:
        return edge.FieldCondition(path, match=edge.MatchAny(list(values)))

    def any_int(self, path: str, values: Sequence[int]) -> edge.ConditionType:
        return edge.FieldCondition(path, match=edge.MatchAny(list(values)))

    def is_bool(self, path: str, *, value: bool) -> edge.ConditionType:
        # The binding takes Python's own bool for an integer, which matches no stored truth value;
        # numpy's bool is none.
        return edge.FieldCondition(path, match=edge.MatchValue(np.bool_(value)))  # type: ignore[arg-type]

    def between(
        self, path: str, at_least: float | None, at_most: float | None
    ) -> edge.ConditionType:
        return edge.FieldCondition(path, range=edge.RangeFloat(gte=at_least, lte=at_most))

    def is_missing(self, path: str) -> edge.ConditionType:
        return edge.IsEmptyCondition(path)

    def nothing(self) -> edge.ConditionType:
        return edge.HasIdCondition(set())

    def group(
        self,
        all_of: list[edge.ConditionType],
        any_of: list[edge.ConditionType],
        none_of: list[edge.ConditionType],
    ) -> edge.ConditionType:
        return edge.Filter(must=all_of or None, should=any_of or None, must_not=none_of or None)
