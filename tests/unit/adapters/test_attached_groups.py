"""
Sections made of the chunks of attached collections.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from adapters.attached_groups import (
    WINDOW_CHARS,
    WINDOW_CHUNKS,
    Group,
    disputed,
    group_in,
    group_of,
    sections_of,
)
from adapters.attached_points import AttachedPoint
from adapters.attachment import PayloadMapping
from adapters.payload import decode_chunk, decode_section
from assembler.expand import mismatch
from assembler.model import Chunk, Section
from assembler.span import Span

RANGED = PayloadMapping("text", "source", start="start")
NAMED = replace(RANGED, section="section")
NUMBERED = PayloadMapping("text", "source", ordinal="n")
ALONE = PayloadMapping("text", "source")
TEXT = "".join(chr(97 + n * n % 23) for n in range(4 * WINDOW_CHARS))
PLAIN = AttachedPoint("k", "", "doc", "", "", "text", None, None, None)

starts = st.integers(0, len(TEXT) - 1)
cuts = st.lists(st.tuples(starts, st.integers(1, 1_500)), min_size=1, max_size=40)


def ranged(number: int, start: int, text: str) -> AttachedPoint:
    return replace(PLAIN, key=f"k{number}", text=text, span=Span(start, start + len(text)))


def made(
    mapping: PayloadMapping, points: Sequence[AttachedPoint], group: Group
) -> list[tuple[Section, list[Chunk]]]:
    return [
        (decode_section(section), [decode_chunk(chunk) for chunk in chunks.values()])
        for section, chunks in sections_of(mapping, group, points)
    ]


@given(cuts)
def test_sections_of_windows_share_no_text_and_hold_their_chunks(
    drawn: list[tuple[int, int]],
) -> None:
    points = [
        ranged(number, start, TEXT[start : start + length])
        for number, (start, length) in enumerate(drawn)
    ]
    groups = dict.fromkeys(group_of(RANGED, point) for point in points)
    found = [one for group in groups for one in made(RANGED, points, group)]

    spans = sorted(section.span for section, _ in found)
    assert all(one.end <= other.start for one, other in pairwise(spans))
    for section, chunks in found:
        assert section.text == TEXT[section.span.start : section.span.end]
        assert section.span.length < 2 * WINDOW_CHARS
        ordinals = [chunk.ordinal for chunk in chunks]
        assert ordinals == list(range(ordinals[0], ordinals[0] + len(chunks)))
        assert all(mismatch(chunk, section) is None for chunk in chunks)
        assert group_in(section.key) in groups
    covered = {at for span in spans for at in range(span.start, span.end)}
    assert covered == {at for p in points if p.span for at in range(p.span.start, p.span.end)}
    assert len({chunk.ordinal for _, chunks in found for chunk in chunks}) == sum(
        len(chunks) for _, chunks in found
    )


def test_what_two_windows_share_belongs_to_the_first() -> None:
    start = WINDOW_CHARS - 10
    points = [
        ranged(0, start, TEXT[start : start + 30]),
        ranged(1, start + 15, TEXT[start + 15 : start + 60]),
        ranged(2, start + 12, TEXT[start + 12 : start + 20]),
    ]

    ((first, _),) = made(RANGED, points, group_of(RANGED, points[0]))
    ((second, chunks),) = made(RANGED, points, group_of(RANGED, points[1]))

    assert first.span == Span(start, start + 30)
    assert second.span == Span(start + 30, start + 60)
    assert [chunk.key for chunk in chunks] == ["k1"]  # the third has nothing of its own


def test_a_gap_ends_a_section() -> None:
    points = [ranged(0, 0, "one"), ranged(1, 3, " two"), ranged(2, 8, "three")]

    found = made(RANGED, points, group_of(RANGED, points[0]))

    assert [section.text for section, _ in found] == ["one two", "three"]


def test_of_two_chunks_that_disagree_one_is_in_no_section() -> None:
    points = [ranged(0, 0, "one two"), ranged(1, 4, "ten more"), ranged(2, 4, "two more")]

    ((section, chunks),) = made(RANGED, points, group_of(RANGED, points[0]))
    lost = decode_chunk(disputed(RANGED, points[1]))

    assert section.text == "one two more"
    assert [chunk.key for chunk in chunks] == ["k0", "k2"]
    assert (lost.key, lost.span) == ("k1", Span(4, 12))
    assert made(RANGED, points, group_in(lost.section_key))[0][0].key != lost.section_key


def test_named_sections_take_in_their_own_chunks_only() -> None:
    points = [
        replace(ranged(0, 0, "one"), section="a"),
        replace(ranged(1, 3, " two"), section="a"),
        replace(ranged(2, 7, " three"), section="b"),
        ranged(3, 0, "one"),
    ]

    groups = [group_of(NAMED, point) for point in points]
    ((section, _),) = made(NAMED, points, groups[0])
    ((alone, (chunk,)),) = made(NAMED, points, groups[3])

    assert groups[0] == groups[1] != groups[2]
    assert section.text == "one two"
    assert (alone.text, chunk.span) == ("one", Span(0, 3))


def test_ordinals_that_follow_each_other_are_one_section() -> None:
    points = [replace(PLAIN, key=f"k{n}", text=f"part {n}", ordinal=n) for n in (0, 1, 3, 4)]
    twin = replace(points[0], key="twin", text="another part 0")

    found = made(NUMBERED, [*points, twin], group_of(NUMBERED, points[0]))
    lost = decode_chunk(disputed(NUMBERED, twin))

    assert [section.text for section, _ in found] == ["part 0\n\npart 1", "part 3\n\npart 4"]
    assert [chunk.ordinal for _, chunks in found for chunk in chunks] == [0, 1, 3, 4]
    assert lost.key == "twin"
    far = replace(PLAIN, ordinal=WINDOW_CHUNKS)
    assert group_of(NUMBERED, far).window == "1"
    assert made(NUMBERED, points, group_of(NUMBERED, far)) == []


def test_without_offsets_and_ordinals_a_chunk_stands_alone() -> None:
    for mapping in (ALONE, RANGED, NUMBERED):
        group = group_of(mapping, PLAIN)
        ((section, (chunk,)),) = made(mapping, [PLAIN, replace(PLAIN, key="other")], group)

        assert group.alone == "k"
        assert (section.text, chunk.key) == ("text", "k")


def test_a_chunk_without_offsets_is_not_in_a_window() -> None:
    near = ranged(0, 0, "one")

    ((section, _),) = made(RANGED, [near, PLAIN], group_of(RANGED, near))

    assert section.text == "one"
