"""
Half-open ranges of Unicode code points, and their algebra.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self


class _Range(NamedTuple):
    """
    Two offsets, not checked; a tuple, because requests make, hash and compare thousands of them.
    """

    start: int
    end: int


class Span(_Range):
    """
    The half-open range ``[start, end)`` of code points in one text.

    Raises:
        ValueError: The range is negative or has no positive length.
    """

    __slots__ = ()

    def __new__(cls, start: int, end: int) -> Self:
        """
        Make the range of these two offsets.
        """
        if start < 0 or end <= start:
            msg = f"a span needs 0 <= start < end, got [{start}, {end})"
            raise ValueError(msg)
        return tuple.__new__(cls, (start, end))

    @property
    def length(self) -> int:
        """
        Return the number of code points.
        """
        return self.end - self.start

    def touches(self, other: Span) -> bool:
        """
        Return whether both overlap or are adjacent.
        """
        return self.start <= other.end and other.start <= self.end

    def overlaps(self, other: Span) -> bool:
        """
        Return whether both share at least one code point.
        """
        return self.start < other.end and other.start < self.end

    def contains(self, other: Span) -> bool:
        """
        Return whether every code point of the other lies inside this span.
        """
        return self.start <= other.start and other.end <= self.end

    def intersection(self, other: Span) -> Span | None:
        """
        Return the shared range, or None where nothing is shared.
        """
        start, end = max(self.start, other.start), min(self.end, other.end)
        return Span(start, end) if start < end else None

    def union(self, other: Span) -> Span:
        """
        Return the one span that covers both.

        Raises:
            ValueError: The spans leave a gap, so their union is not a span.
        """
        if not self.touches(other):
            msg = f"{self} and {other} leave a gap"
            raise ValueError(msg)
        return Span(min(self.start, other.start), max(self.end, other.end))

    def slice(self, text: str) -> str:
        """
        Return the text of this range.
        """
        return text[self.start : self.end]


def union_of(spans: Iterable[Span]) -> tuple[Span, ...]:
    """
    Return the fewest spans that cover exactly the same code points, in order.
    """
    joined: list[Span] = []
    for span in sorted(spans):
        if joined and joined[-1].touches(span):
            joined[-1] = joined[-1].union(span)
        else:
            joined.append(span)
    return tuple(joined)


def covers(spans: tuple[Span, ...], wanted: Span) -> bool:
    """
    Return whether one of the joined spans (see `union_of`) contains the wanted range.
    """
    for span in spans:  # noqa: SIM110 - a generator takes longer than its one or two spans
        if span.contains(wanted):
            return True
    return False


def trimmed(span: Span, text: str, text_start: int = 0) -> Span | None:
    """
    Return the span without blank lines before and without white space after its text.

    The indentation of the first line stays: in code it is content.

    Args:
        span: A range in the coordinates of the source text.
        text: The text that contains the range.
        text_start: Where `text` begins in the source text.

    Returns:
        The shorter span, or None where nothing but white space is left.
    """
    part = text[span.start - text_start : span.end - text_start]
    kept = len(part.rstrip())
    if kept == 0:
        return None
    if not part[0].isspace():
        return Span(span.start, span.start + kept)
    first = len(part) - len(part.lstrip())
    line_start = part.rfind("\n", 0, first) + 1
    before = span.start - text_start - 1
    if line_start == 0 and before >= 0 and text[before] != "\n":
        line_start = first  # the span begins inside a line: blanks there are no indentation
    return Span(span.start + line_start, span.start + kept)
