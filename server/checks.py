"""
Checks of single values: each names its field and the remedy.
"""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Sequence
from typing import TypeVar

from contextassembler.v1 import context_pb2 as pb
from google.protobuf.descriptor import EnumDescriptor

from assembler.errors import InvalidRequest
from assembler.span import Span

Choice = TypeVar("Choice", bound=enum.Enum)
_INDEX_NAME = re.compile(r"[a-z0-9-]{1,40}")
MOST_STRING_CHARS = 1024


def whole(value: int, field: str, *, least: int, most: int) -> int:
    """
    Return an integer that lies within both bounds.
    """
    if not least <= value <= most:
        raise InvalidRequest(field, f"is {value}; it must be {least} to {most}")
    return value


def ratio(value: float, field: str, *, above: float, most: float) -> float:
    """
    Return a number that is greater than `above` and at most `most`.
    """
    if not (math.isfinite(value) and above < value <= most):
        raise InvalidRequest(
            field, f"is {value:g}; it must be above {above:g} and at most {most:g}"
        )
    return value


def number(value: float, field: str, *, least: float, most: float) -> float:
    """
    Return a number that lies within both bounds.
    """
    if not (math.isfinite(value) and least <= value <= most):
        raise InvalidRequest(field, f"is {value:g}; it must be {least:g} to {most:g}")
    return value


def name(value: str, field: str, *, most: int = MOST_STRING_CHARS) -> str:
    """
    Return a string that is neither empty nor over-long.
    """
    if not value:
        raise InvalidRequest(field, "is empty; it is required")
    if len(value) > most:
        raise InvalidRequest(field, f"has {len(value)} characters; at most {most} are accepted")
    return value


def index_name(value: str, field: str) -> str:
    """
    Return a well-formed index name.
    """
    name(value, field)
    if not _INDEX_NAME.fullmatch(value):
        raise InvalidRequest(
            field, f"{value!r} is malformed; a name has the form [a-z0-9-]{{1,40}}"
        )
    return value


def at_most(values: Sequence[object], field: str, most: int) -> None:
    """
    Refuse a list that is too long.
    """
    if len(values) > most:
        raise InvalidRequest(field, f"has {len(values)} entries; at most {most} are accepted")


def choice(
    value: int, descriptor: EnumDescriptor, choices: type[Choice], field: str, default: Choice
) -> Choice:
    """
    Return the domain's value of a proto enum; zero is the default, unknown values are refused.
    """
    if value == 0:
        return default
    known = descriptor.values_by_number
    label = known[value].name if value in known else ""
    for one in choices:
        if label.endswith(f"_{one.name}"):
            return one
    names = ", ".join(entry.name for number, entry in known.items() if number)
    raise InvalidRequest(field, f"{value} is not one of {names}")


def span(value: pb.Range, field: str) -> Span:
    """
    Return a half-open range of code points.
    """
    if value.start < 0 or value.end <= value.start:
        raise InvalidRequest(
            field, f"[{value.start}, {value.end}) is not a range; it needs 0 <= start < end"
        )
    return Span(value.start, value.end)
