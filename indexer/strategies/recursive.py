"""
`recursive`: cut at paragraphs; what is too long at lines, at sentences, at words, between letters.

The way of recursive character splitters: a text falls apart at the coarsest level that it has, and
neighbouring pieces are joined again as long as they fit.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

import regex

from assembler.model import BorderKind
from assembler.span import Span
from indexer.cut import Cutter
from indexer.strategies.fit import pieces_of, prefix_of
from indexer.strategies.pieces import Cut, CutPart, SourceToCut, Values

Level: TypeAlias = Callable[[Span], Sequence[int]]
"""Offsets strictly inside a range at which it may be cut, in order."""

_PARAGRAPH = re.compile(r"\n(?:[ \t]*\n)+")
_LINE = re.compile(r"\n+")
_WORD = re.compile(r"(?<=\s)\S")
_LETTER = regex.compile(r"\X")


def cut_recursively(source: SourceToCut, values: Values) -> Cut:
    """
    Return sections by headings and paragraphs, each cut recursively.
    """
    size = min(int(values["size"]), source.room_tokens)
    overlap = min(int(values["overlap"]), size - 1)
    cutter = source.cutter(size)
    levels = levels_of(source.text, cutter)
    by_headings = bool(values["headings"])
    cut: list[CutPart] = []
    for part in source.sections(cutter, int(values["section_tokens"]), by_headings=by_headings):
        prefix = prefix_of(source, part.heading_path, size)
        spans = split_recursively(
            part.span, levels, size=size, overlap=overlap, length=source.ruler.tokens
        )
        cut.append(CutPart(part, pieces_of(source, cutter, spans, prefix=prefix, size=size)))
    return Cut(tuple(cut), cutter)


def levels_of(text: str, cutter: Cutter) -> tuple[Level, ...]:
    """
    Return the levels of a text: paragraphs, lines, sentences, words, letters.
    """

    def ends(pattern: re.Pattern[str]) -> Level:
        return lambda span: [
            one.end()
            for one in pattern.finditer(text, span.start, span.end)
            if span.start < one.end() < span.end
        ]

    def sentences(span: Span) -> Sequence[int]:
        inside = cutter.within(span)
        return [border.offset for border in inside if border.kind is not BorderKind.FORCED]

    def words(span: Span) -> Sequence[int]:
        inside = _WORD.finditer(text, span.start, span.end)
        return [one.start() for one in inside if one.start() > span.start]

    def letters(span: Span) -> Sequence[int]:
        inside = _LETTER.finditer(text, span.start, span.end)
        return [one.start() for one in inside if one.start() > span.start]

    return ends(_PARAGRAPH), ends(_LINE), sentences, words, letters


def split_recursively(
    span: Span,
    levels: Sequence[Level],
    *,
    size: int,
    overlap: int,
    length: Callable[[Span], int],
) -> list[Span]:
    """
    Return pieces in order that together are the range; only those of one run share an overlap.

    Args:
        span: What is cut.
        levels: From the coarsest to the finest.
        size: Most of a piece by `length`; a piece that no level cuts may have more.
        overlap: Most that a piece repeats of the one before, in whole parts of a level.
        length: Measures a range.
    """
    cuts: Sequence[int] = ()
    finer: Sequence[Level] = ()
    for number, level in enumerate(levels):
        cuts, finer = level(span), levels[number + 1 :]
        if cuts:
            break
    if not cuts:
        return [span]
    found: list[Span] = []
    small: list[tuple[Span, int]] = []
    for start, end in itertools.pairwise((span.start, *cuts, span.end)):
        part = Span(start, end)
        measure = length(part)
        if measure < size:
            small.append((part, measure))
            continue
        found += _joined(small, size, overlap)
        small = []
        if finer:
            found += split_recursively(part, finer, size=size, overlap=overlap, length=length)
        else:
            found.append(part)
    return found + _joined(small, size, overlap)


def _joined(parts: Sequence[tuple[Span, int]], size: int, overlap: int) -> list[Span]:
    """
    Return neighbouring parts joined up to the size; the next piece begins with the overlap.
    """
    found: list[Span] = []
    first, total = 0, 0
    for number, (part, measure) in enumerate(parts):
        if total + measure > size and first < number:
            found.append(Span(parts[first][0].start, part.start))
            while first < number and (not overlap or total > overlap or total + measure > size):
                total -= parts[first][1]
                first += 1
        total += measure
    if parts:
        found.append(Span(parts[first][0].start, parts[-1][0].end))
    return found
