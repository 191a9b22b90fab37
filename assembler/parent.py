"""
A parent section as the core cuts it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from assembler.model import Border, BorderKind, Section, VersionKey
from assembler.span import Span, trimmed


@dataclass(frozen=True)
class Parent:
    """
    A section as the core cuts it, whole or rebuilt from a chunk whose section cannot be used.
    """

    section: Section
    version: VersionKey
    target: int
    _visible: dict[Span, tuple[Span, str] | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """
        Return the offsets at which paragraphs and sentences begin, the section's own included.
        """
        whole = (border.offset for border in self.section.borders if _is_whole(border))
        return tuple(sorted({self.section.span.start, *whole}))

    @cached_property
    def forced(self) -> frozenset[int]:
        """
        Return the offsets at which a piece of an overlong sentence begins.
        """
        return frozenset(border.offset for border in self.section.borders if not _is_whole(border))

    def sentences(self, within: Span) -> tuple[Span, ...]:
        """
        Return the whole sentences that lie inside a span, in order.
        """
        starts = self.starts
        first, last = bisect_left(starts, within.start), bisect_left(starts, within.end)
        ends = (*starts[first + 1 : last + 1], self.section.span.end)
        return tuple(
            Span(start, end)
            for start, end in zip(starts[first:last], ends, strict=False)
            if end <= within.end
        )

    def completed(self, span: Span) -> Span:
        """
        Return the span widened to the whole of the overlong sentences it begins or ends in.
        """
        if not self.is_cut(span):
            return span
        starts, (start, end) = self.starts, span
        if start in self.forced:
            start = starts[bisect_right(starts, start) - 1]
        if end in self.forced:
            after = bisect_left(starts, end)
            end = starts[after] if after < len(starts) else self.section.span.end
        return Span(start, end)

    def visible(self, span: Span) -> tuple[Span, str] | None:
        """
        Return what of a span would be shown, and its text, or None where it is only white space.
        """
        known = self._visible
        try:
            return known[span]
        except KeyError:
            shorter = trimmed(span, self.section.text, self.section.span.start)
            shown = None if shorter is None else (shorter, self.section.slice(shorter))
            return known.setdefault(span, shown)

    @cached_property
    def _chunks_overlap(self) -> bool:
        return any(one.overlaps(other) for one, other in pairwise(self.section.chunk_spans))

    def is_cut(self, span: Span) -> bool:
        """
        Return whether the span begins or ends inside a sentence.
        """
        return span.start in self.forced or span.end in self.forced

    def window(self, span: Span, chunks: int) -> Span:
        """
        Return the span with so many chunks of the section on either side.
        """
        inside = [
            index for index, chunk in enumerate(self.section.chunk_spans) if chunk.overlaps(span)
        ]
        if self._chunks_overlap:  # what shares text with a chunk is beside it, not part of it
            spans = self.section.chunk_spans
            inside = [index for index in inside if span.contains(spans[index])] or inside
        if not inside:
            return span
        low = max(inside[0] - chunks, 0)
        high = min(inside[-1] + chunks, len(self.section.chunk_spans) - 1)
        spans = self.section.chunk_spans
        return Span(min(spans[low].start, span.start), max(spans[high].end, span.end))


def _is_whole(border: Border) -> bool:
    return border.kind is not BorderKind.FORCED
