"""
Chunks of an attached collection that stand beside each other, as sections of bounded size.

A collection has no sections, so they are made at every read, from the same points the same way:
chunks of one source that touch or overlap, of one window of its text or, where the mapping names
one, of one section. What two windows' chunks share belongs to the first. Where only ordinals are
known, the chunks of a window follow each other with an empty line between them, and that text is
what their offsets count in.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from adapters.attached_points import AttachedPoint
from adapters.attachment import PayloadMapping
from adapters.payload import encode_chunk, encode_section
from adapters.payload_values import Payload
from adapters.records import ChunkPoint, SectionPoint
from assembler.filters import AnyString, Condition, Filter, IntRange
from assembler.model import Chunk, Section
from assembler.rebuild import Piece, rebuild
from assembler.span import Span

WINDOW_CHARS = 3_000
"""A section's chunks begin in one window of so many code points."""

WINDOW_CHUNKS = 8
"""A section has at most so many chunks where only ordinals are known."""

MOST_CHUNKS = 256
"""No more are read for a group; a chunk that is not among them stands alone."""

JOINT = "\n\n"


@dataclass(frozen=True, slots=True)
class Group:
    """
    The chunks that one read brings together.

    Attributes:
        window: The number of the window, or the name of the section; "" where the chunks are all
            those of a source.
        alone: The key of a chunk that stands alone.
    """

    source_id: str
    version: str
    content: str
    window: str
    alone: str = ""

    def wanted(self, mapping: PayloadMapping) -> Filter:
        """
        Return the filter of its points; what cannot be filtered by is looked at afterwards.
        """
        parts = [Condition(mapping.source, AnyString((self.source_id,)))]
        if mapping.section is not None and self.window:
            parts.append(Condition(mapping.section, AnyString((self.window,))))
        elif self.window:
            path, size = _axis(mapping)
            first = int(self.window) * size
            # What the window before shares with this one has to be known.
            before = 0 if mapping.start is None else min(first, size)
            parts.append(Condition(path, IntRange(first - before, first + size)))
        return Filter(all_of=tuple(parts))


def group_of(mapping: PayloadMapping, point: AttachedPoint) -> Group:
    """
    Return the group that a point is in.
    """
    source = (point.source_id, point.version, point.content)
    at = _at(mapping, point)
    if at is None:
        return Group(*source, "", alone=point.key)
    if mapping.section is not None:
        if point.section is None:
            return Group(*source, "", alone=point.key)
        return Group(*source, point.section)
    path, size = _axis(mapping)
    return Group(*source, str(at // size) if mapping.is_filterable(path) else "")


def sections_of(
    mapping: PayloadMapping, group: Group, points: Iterable[AttachedPoint]
) -> Iterator[tuple[Payload, dict[str, Payload]]]:
    """
    Yield the sections of a group, each with its chunks by key, as they are stored elsewhere.

    A chunk that disagrees with one before it about a part of the text, or that has its number, is
    in none.
    """
    mine = [point for point in points if _is_near(mapping, group, point)]
    for base, members in _runs(mapping, group, mine):
        first, start, _ = members[0]
        text = _text_of(members)
        is_placed = mapping.start is not None and not group.alone
        provenance = first.provenance(first.content if is_placed else _sha256(text))
        key = section_key(group, start)
        spans = tuple(Span(at, at + len(own)) for _, at, own in members)
        section = Section(
            key=key,
            provenance=provenance,
            span=Span(start, start + len(text)),
            ordinal=base,
            text=text,
            text_sha256=_sha256(text),
            heading_path=(),
            title="",
            uri="",
            media_type="",
            language="",
            first_chunk_ordinal=base,
            chunk_spans=spans,
            borders=(),
            chunk_keys=tuple(point.key for point, _, _ in members),
        )
        chunks: dict[str, Payload] = {}
        for place, (point, _, own) in enumerate(members):
            chunk = Chunk(point.key, provenance, key, spans[place], base + place, _sha256(own))
            chunks[point.key] = encode_chunk(ChunkPoint(chunk, own, (), "", "", ""))
        yield encode_section(SectionPoint(section, "")), chunks


def _is_near(mapping: PayloadMapping, group: Group, point: AttachedPoint) -> bool:
    """
    Return whether a point of the source is in a group, or shares text with it that has to be known.
    """
    if group.alone:
        return point.key == group.alone
    if mapping.section is not None:
        return point.section == group.window
    at = _at(mapping, point)
    if at is None:
        return False
    if not group.window:
        return True
    off = int(group.window) - at // _axis(mapping)[1]
    return off == 0 or (off == 1 and mapping.start is not None)


def disputed(mapping: PayloadMapping, point: AttachedPoint) -> Payload:
    """
    Return a chunk that no section takes in: others disagree with it. It has no text to be shown.
    """
    group = replace(group_of(mapping, point), alone=point.key)
    span = point.span or Span(0, len(point.text))
    at = point.ordinal if point.span is None else span.start * MOST_CHUNKS + MOST_CHUNKS - 1
    content = point.content if point.span is not None else _sha256(point.text)
    nowhere = section_key(group, -1)
    chunk = Chunk(point.key, point.provenance(content), nowhere, span, at or 0, _sha256(point.text))
    return encode_chunk(ChunkPoint(chunk, "", (), "", "", ""))


def section_key(group: Group, start: int) -> str:
    """
    Return the key of a section, from which `group_in` reads its group again.
    """
    parts = [group.window, group.alone, start, group.source_id, group.version, group.content]
    return json.dumps(parts, ensure_ascii=False)


def group_in(key: str) -> Group:
    """
    Return the group that the key of a section of ours names.
    """
    window, alone, _, source_id, version, content = json.loads(key)
    return Group(source_id, version, content, window, alone)


_Member: TypeAlias = tuple[AttachedPoint, int, str]
"""A chunk, where it begins in its section's text, and what it says there."""


def _runs(
    mapping: PayloadMapping, group: Group, points: Iterable[AttachedPoint]
) -> Iterator[tuple[int, list[_Member]]]:
    """
    Yield the chunks of each section in order, and the ordinal of the first.
    """
    if group.alone:
        yield from ((0, [(one, 0, one.text)]) for one in points)
    elif mapping.start is None:
        yield from _numbered(points)
    else:
        for window, members in _ranged(points, is_named=mapping.section is not None):
            if mapping.section is not None or group.window in ("", str(window)):
                # Ordinals of two sections never meet: each begins where its text does.
                yield members[0][1] * MOST_CHUNKS, members


def _ranged(
    points: Iterable[AttachedPoint], *, is_named: bool
) -> Iterator[tuple[int, list[_Member]]]:
    known = [(one, one.span) for one in points if one.span is not None]
    known.sort(key=lambda pair: (pair[1], pair[0].key))
    rebuilt = rebuild([Piece(span, one.text) for one, span in known])
    dropped = {position for _, position in rebuilt.conflicts}
    kept = [pair for position, pair in enumerate(known) if position not in dropped]
    for run in rebuilt.runs:
        window, floor, reached, members = -1, run.span.start, run.span.start, list[_Member]()
        for one, span in (pair for pair in kept if run.span.contains(pair[1])):
            own = 0 if is_named else span.start // WINDOW_CHARS
            if own != window and members:
                yield window, members
                floor, members = reached, []
            window, reached = own, max(reached, span.end)
            start = max(span.start, floor)
            if start < span.end:
                members.append((one, start, run.slice(Span(start, span.end))))
        if members:
            yield window, members


def _numbered(points: Iterable[AttachedPoint]) -> Iterator[tuple[int, list[_Member]]]:
    by_number: dict[int, AttachedPoint] = {}
    for one in sorted(points, key=lambda one: one.key):
        if one.ordinal is not None:
            by_number.setdefault(one.ordinal, one)
    members: list[_Member] = []
    first = 0
    for number, one in sorted(by_number.items()):
        if number - 1 not in by_number:
            if members:
                yield first, members
            first, members = number, []
        start = members[-1][1] + len(members[-1][2]) + len(JOINT) if members else 0
        members.append((one, start, one.text))
    if members:
        yield first, members


def _text_of(members: Sequence[_Member]) -> str:
    """
    Return the text from the first chunk to the last: what they share once, what lies between as
    the joint.
    """
    text, first = "", members[0][1]
    for _, start, own in members:
        if start > first + len(text):
            text += JOINT
        text += own[first + len(text) - start :]
    return text


def _at(mapping: PayloadMapping, point: AttachedPoint) -> int | None:
    if mapping.start is None:
        return point.ordinal
    return None if point.span is None else point.span.start


def _axis(mapping: PayloadMapping) -> tuple[str, int]:
    if mapping.start is not None:
        return mapping.start, WINDOW_CHARS
    return mapping.ordinal or "", WINDOW_CHUNKS


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
