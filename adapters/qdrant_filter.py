"""
Filters as the Qdrant server's own protocol has them.
"""

from __future__ import annotations

from collections.abc import Sequence

from qdrant_client import grpc as wire

from adapters.filter_tree import translate
from assembler.filters import Filter


def qdrant_filter(wanted: Filter) -> wire.Filter:
    """
    Return the filter for a Qdrant server.
    """
    return translate(wanted, _QdrantDialect()).filter


class _QdrantDialect:
    def any_string(self, path: str, values: Sequence[str]) -> wire.Condition:
        return _match(path, wire.Match(keywords=wire.RepeatedStrings(strings=values)))

    def any_int(self, path: str, values: Sequence[int]) -> wire.Condition:
        return _match(path, wire.Match(integers=wire.RepeatedIntegers(integers=values)))

    def is_bool(self, path: str, *, value: bool) -> wire.Condition:
        return _match(path, wire.Match(boolean=value))

    def between(self, path: str, at_least: float | None, at_most: float | None) -> wire.Condition:
        return wire.Condition(
            field=wire.FieldCondition(key=path, range=wire.Range(gte=at_least, lte=at_most))
        )

    def is_missing(self, path: str) -> wire.Condition:
        return wire.Condition(is_empty=wire.IsEmptyCondition(key=path))

    def nothing(self) -> wire.Condition:
        return wire.Condition(has_id=wire.HasIdCondition(has_id=[]))

    def group(
        self,
        all_of: list[wire.Condition],
        any_of: list[wire.Condition],
        none_of: list[wire.Condition],
    ) -> wire.Condition:
        return wire.Condition(filter=wire.Filter(must=all_of, should=any_of, must_not=none_of))


def _match(path: str, match: wire.Match) -> wire.Condition:
    return wire.Condition(field=wire.FieldCondition(key=path, match=match))
