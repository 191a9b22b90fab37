"""
Token lengths of any range of a text after one pass over it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from assembler.span import Span

LONGEST_TOKEN_CHARS = 16
"""A model may call any long word one unknown token; pieces of it are counted like this."""


LONGEST_GAP_CHARS = 64
"""Characters that no token holds (blanks, combining marks) count too, one token for so many."""


class Ruler:
    """
    Counts the model's tokens that begin in a range; exact where no token crosses its ends.

    A token longer than `LONGEST_TOKEN_CHARS` counts as several, so that no range is endless.
    """

    def __init__(self, offsets: Sequence[tuple[int, int]], length: int) -> None:
        self._starts: list[int] = []
        reached = 0
        for start, end in offsets:
            self._starts += range(reached + LONGEST_GAP_CHARS, start, LONGEST_GAP_CHARS)
            self._starts += range(start, end, LONGEST_TOKEN_CHARS)
            reached = max(end, start)
        self._starts += range(reached + LONGEST_GAP_CHARS, length, LONGEST_GAP_CHARS)

    def tokens(self, span: Span) -> int:
        """
        Return the tokens that begin in the range.
        """
        return bisect_left(self._starts, span.end) - bisect_left(self._starts, span.start)

    def starts(self, span: Span) -> Sequence[int]:
        """
        Return the offsets at which the tokens of the range begin, in order.
        """
        return self._starts[
            bisect_left(self._starts, span.start) : bisect_left(self._starts, span.end)
        ]

    def reach(self, start: int, tokens: int, end: int) -> int:
        """
        Return the offset before which at most so many tokens begin from a start, at most `end`.
        """
        first = bisect_left(self._starts, start)
        if first + tokens >= len(self._starts):
            return end
        return min(self._starts[first + tokens], end)
