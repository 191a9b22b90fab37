"""
Filters from proto to domain: what each test becomes, and what is refused.
"""

from __future__ import annotations

from typing import Any

import pytest
from contextassembler.v1 import context_pb2 as pb
from google.protobuf.timestamp_pb2 import Timestamp

from assembler.errors import InvalidRequest
from assembler.filters import AnyInt, AnyString, IntRange, IsBool
from server.convert_scope import to_scope
from server.settings import Settings

SETTINGS = Settings()
MOST = 2**63 - 1


def scope_of(**test: Any) -> pb.Scope:
    return pb.Scope(filter=pb.Filter(all_of=[pb.Condition(field="f", **test)]))


def times(at_least: Timestamp | None = None, below: Timestamp | None = None) -> dict[str, Any]:
    return {"timestamp_range": pb.TimestampRange(at_least=at_least, below=below)}


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ({"any_of_strings": pb.StringValues(values=["a", ""])}, AnyString(("a", ""))),
        ({"any_of_ints": pb.IntValues(values=[-(2**63), 0, MOST])}, AnyInt((-(2**63), 0, MOST))),
        ({"bool_value": False}, IsBool(value=False)),
        ({"int_range": pb.IntRange(at_least=0)}, IntRange(at_least=0)),
        ({"int_range": pb.IntRange(below=0)}, IntRange(below=0)),
        ({"int_range": pb.IntRange(at_least=-(2**63), below=MOST)}, IntRange(-(2**63), MOST)),
        (times(Timestamp()), IntRange(at_least=0, is_time=True)),
        (times(below=Timestamp(nanos=999)), IntRange(below=0, is_time=True)),
        (times(Timestamp(seconds=1, nanos=1999)), IntRange(at_least=1_000_001, is_time=True)),
        (times(Timestamp(seconds=-1, nanos=999_999_999)), IntRange(at_least=-1, is_time=True)),
        (
            times(Timestamp(seconds=-62_135_596_800), Timestamp(seconds=253_402_300_799)),
            IntRange(-62_135_596_800_000_000, 253_402_300_799_000_000, is_time=True),
        ),
    ],
)
def test_each_test_has_its_meaning(test: dict[str, Any], expected: object) -> None:
    (condition,) = to_scope(scope_of(**test), "scope", SETTINGS).filter.conditions()

    assert (condition.field, condition.test) == ("fields.f", expected)


@pytest.mark.parametrize(
    ("test", "says"),
    [
        ({}, "scope.filter.all_of[0]: has no test"),
        ({"any_of_strings": pb.StringValues()}, "any_of_strings.values: is empty"),
        ({"any_of_ints": pb.IntValues()}, "any_of_ints.values: is empty"),
        ({"any_of_ints": pb.IntValues(values=[1] * 1001)}, "at most 1000"),
        ({"int_range": pb.IntRange()}, "int_range: has no bound"),
        ({"int_range": pb.IntRange(at_least=1, below=1)}, "int_range: is empty"),
        (times(), "timestamp_range: has no bound"),
        (times(Timestamp(nanos=1), Timestamp(nanos=999)), "less than below, in microseconds"),
        (times(Timestamp(seconds=253_402_300_800)), "timestamp_range.at_least: is not a time"),
        (times(below=Timestamp(seconds=-62_135_596_801)), "timestamp_range.below: is not a time"),
        (times(Timestamp(nanos=1_000_000_000)), "timestamp_range.at_least: is not a time"),
        (times(Timestamp(nanos=-1)), "timestamp_range.at_least: is not a time"),
    ],
)
def test_a_test_that_says_nothing_is_refused(test: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        to_scope(scope_of(**test), "scope", SETTINGS)

    assert says in str(caught.value)


def test_a_condition_names_a_field_and_there_are_not_too_many() -> None:
    unnamed = pb.Scope(filter=pb.Filter(any_of=[pb.Condition(bool_value=True)]))
    many = pb.Scope(filter=pb.Filter(none_of=[pb.Condition(field="f", bool_value=True)] * 101))

    with pytest.raises(InvalidRequest, match=r"scope\.filter\.any_of\[0\]\.field: is empty"):
        to_scope(unnamed, "scope", SETTINGS)
    with pytest.raises(InvalidRequest, match="101 conditions; at most 100"):
        to_scope(many, "scope", SETTINGS)
