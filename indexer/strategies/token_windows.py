"""
`fixed` and `sliding`: windows of so many tokens, without and with overlap, inside each section.
"""

from __future__ import annotations

from assembler.span import Span
from indexer.borders import letter_start
from indexer.strategies.fit import pieces_of, prefix_of
from indexer.strategies.pieces import Cut, CutPart, SourceToCut, Values
from indexer.windows import Windows


def cut_by_windows(source: SourceToCut, values: Values) -> Cut:
    """
    Return sections by headings and paragraphs, in each windows of exactly so many tokens.

    The windows of a section begin with it and the last ends with it: none reaches into the next,
    so the arithmetic of `Windows` holds for each section.
    """
    size = min(int(values["size"]), source.room_tokens)
    overlap = min(int(values.get("overlap", 0)), size - 1)
    by_headings = bool(values["headings"])
    cutter = source.cutter(size)
    cut: list[CutPart] = []
    for part in source.sections(cutter, int(values["section_tokens"]), by_headings=by_headings):
        prefix = prefix_of(source, part.heading_path, size)
        spans = windows_of(source, part.span, size, overlap)
        cut.append(CutPart(part, pieces_of(source, cutter, spans, prefix=prefix, size=size)))
    return Cut(tuple(cut), cutter)


def windows_of(source: SourceToCut, span: Span, size: int, overlap: int) -> list[Span]:
    """
    Return the windows of a range; white space before a token belongs to what stands before it.
    """
    starts = source.ruler.starts(span)
    if not starts:
        return [span]
    inside = (max(letter_start(source.text, one), span.start) for one in starts[1:])
    places = [span.start, *inside, span.end]
    ranges = Windows(len(starts), size, overlap).ranges()
    found = ((places[first], places[end]) for first, end in ranges)
    return [Span(start, end) for start, end in found if start < end]
