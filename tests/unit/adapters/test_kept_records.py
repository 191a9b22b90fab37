"""
Records are kept within a limit of bytes, and go with what they were read from.
"""

from __future__ import annotations

from dataclasses import replace

from adapters.decoded import Record
from adapters.kept_records import HIT_BYTES, PART_BYTES, SECTION_BYTES, KeptRecords, Shelf, bytes_of
from assembler.model import Border, BorderKind, Provenance, Section
from assembler.span import Span
from tests.sections import plain_section

ORIGIN = Provenance("", "a.md", "1", "0", None, 1)


def record(key: str) -> Record[None]:
    return Record(key, ORIGIN, None)


def section(text: str) -> Record[Section]:
    borders = (Border(0, BorderKind.PARAGRAPH),)
    made = plain_section(text, (Span(0, len(text)),), ORIGIN, text_sha256="", borders=borders)
    return Record("s", ORIGIN, made)


def test_the_first_that_came_goes_first() -> None:
    kept, one, other = KeptRecords(2 * HIT_BYTES), Shelf[None](), Shelf[None]()

    kept.keep(one, {1: record("a")})
    kept.keep(other, {1: record("b")})
    kept.keep(one, {1: record("again")})
    kept.keep(one, {2: record("c")})

    assert (one.records, other.records) == ({2: record("c")}, {1: record("b")})
    assert kept.bytes == 2 * HIT_BYTES


def test_where_there_is_no_room_nothing_is_kept() -> None:
    kept, shelf = KeptRecords(0), Shelf[None]()

    kept.keep(shelf, {1: record("a")})

    assert (shelf.records, kept.bytes) == ({}, 0)


def test_a_shelf_is_cleared_and_others_stay() -> None:
    kept, one, other = KeptRecords(9 * HIT_BYTES), Shelf[None](), Shelf[None]()
    kept.keep(one, {1: record("a")})
    kept.keep(other, {1: record("b")})
    kept.keep(one, {2: record("c")})

    kept.clear([one])

    assert (one.records, other.records) == ({}, {1: record("b")})
    assert kept.bytes == HIT_BYTES


def test_a_section_takes_its_text_and_its_parts() -> None:
    longer, shorter = bytes_of(section("x" * 1000)), bytes_of(section("x"))

    assert longer - shorter == 999
    assert shorter > SECTION_BYTES + 2 * PART_BYTES


def test_what_is_known_of_a_section_is_counted_too() -> None:
    plain = section("x")
    told = replace(plain.item, metadata={"page_starts": tuple(range(2000))})

    assert bytes_of(Record("s", ORIGIN, told)) - bytes_of(plain) > 36 * 2000 / 2


def test_looks_are_counted() -> None:
    kept = KeptRecords()

    kept.asked(known=3, missing=1)
    kept.asked(known=1, missing=0)

    assert kept.requests() == (4, 1)
