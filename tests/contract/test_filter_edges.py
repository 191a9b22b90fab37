"""
Every type of filterable field at the edges of its values, in every backend alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from assembler.filters import (
    AnyInt,
    AnyString,
    Condition,
    FieldValue,
    Filter,
    IntRange,
    IsBool,
    Test,
)
from assembler.model import PointKind
from assembler.ports import SparseSearch
from tests.contract.conftest import Backend
from tests.contract.corpus import Source, hits_of, publish, read_scope

LEAST, MOST = -(2**63), 2**63 - 1
EXACT = 2**53
INTEGERS = (
    *(LEAST, LEAST + 1, -EXACT - 2, -EXACT - 1, -EXACT, -1, 0, 1),
    *(EXACT, EXACT + 1, EXACT + 2, MOST - 1, MOST),
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(text: str) -> int:
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1)


TIMES = tuple(
    microseconds(text)
    for text in (
        "0001-01-01T00:00:00Z",
        "1684-01-01T00:00:00.000001Z",
        "1969-12-31T23:59:59.999999Z",
        "1970-01-01T00:00:00Z",
        "2024-02-29T12:00:00.000001+02:00",
        "2024-02-29T12:00:00.000002+02:00",
        "2262-04-11T23:47:16.854775Z",
        "9999-12-31T23:59:59.999998Z",
        "9999-12-31T23:59:59.999999Z",
    )
)
STRINGS = (
    "",
    " ",
    "red",
    "Red",
    "re",
    "é",
    "e\u0301",
    "0",
    "a,b",
    'q"uote',
    "\U0001f408",
    "x" * 1024,
)
LISTS: tuple[tuple[str, ...], ...] = ((), ("",), ("red",), ("red", "blue"), ("blue", "é"))
FIELDS: dict[str, Sequence[FieldValue]] = {
    "year": INTEGERS,
    "changed": TIMES,
    "team": STRINGS,
    "odd name": STRINGS,
    "tags": LISTS,
    "public": (True, False),
}
SOURCES = [
    Source(f"{field}-{number}", ("Cats sleep.",), fields={field: value})
    for field, values in FIELDS.items()
    for number, value in enumerate(values)
]


def conditions_of(field: str) -> list[Test]:
    values = FIELDS[field]
    if field == "public":
        return [IsBool(value=True), IsBool(value=False)]
    if field in ("year", "changed"):
        numbers = [value for value in values if isinstance(value, int)]
        is_time = field == "changed"
        found: list[Test] = [IntRange(None, one, is_time) for one in numbers]
        found += [IntRange(one, None, is_time) for one in numbers]
        found += [IntRange(one, one + 1, is_time) for one in numbers]
        if not is_time:
            found += [AnyInt((one,)) for one in numbers]
            found += [AnyInt((LEAST, 0, MOST)), AnyInt((EXACT - 1, 17))]
        return found
    strings = dict.fromkeys(
        one for value in values for one in (value if isinstance(value, tuple) else (str(value),))
    )
    return [AnyString((one,)) for one in strings] + [AnyString(("red", "é")), AnyString(("RED",))]


async def found_by(backend: Backend, wanted: Filter) -> list[set[str]]:
    """
    Return the sources that each kind of read finds.
    """
    scope = await read_scope(backend, filter=wanted)
    (text,) = await backend.reading.search_text(
        scope, [SparseSearch("cats", PointKind.CHUNK, len(SOURCES))]
    )
    keys = [p.section.key for source in SOURCES for p in source.points("", 1)[1]]
    sections = await backend.reading.sections(scope, keys)
    return [
        {hit.chunk.provenance.source_id for hit in hits_of(text)},
        {section.provenance.source_id for section in sections},
    ]


@pytest.mark.parametrize("field", list(FIELDS))
async def test_a_condition_matches_exactly_the_values_that_python_says(
    backend: Backend, field: str
) -> None:
    publish(backend.store, SOURCES)
    everyone = {source.source_id for source in SOURCES}

    for test in conditions_of(field):
        condition = Condition(f"fields.{field}", test)
        expected = {
            source.source_id for source in SOURCES if test.accepts(source.fields.get(field))
        }
        for wanted, sources in (
            (Filter(all_of=(condition,)), expected),
            (Filter(none_of=(condition,)), everyone - expected),
        ):
            for found in await found_by(backend, wanted):
                assert found == sources, (test, wanted)
    assert not backend.reading.denied  # a filter's own inexactness is no matter of access


async def test_what_a_missing_field_and_an_empty_list_pass(backend: Backend) -> None:
    publish(backend.store, SOURCES)
    red = Condition("fields.tags", AnyString(("red",)))
    nothing = Condition("fields.tags", AnyString(()))
    everyone = {source.source_id for source in SOURCES}

    for wanted, expected in (
        (Filter(none_of=(red,)), everyone - {"tags-2", "tags-3"}),
        (Filter(none_of=(nothing,)), everyone),
        (Filter(all_of=(nothing,)), set[str]()),
        (Filter(), everyone),
    ):
        for found in await found_by(backend, wanted):
            assert found == expected, wanted
