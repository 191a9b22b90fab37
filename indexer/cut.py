"""
Cut a range at its best borders into pieces of a limited number of tokens.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from assembler.model import Border, BorderKind
from assembler.span import Span
from indexer.borders import forced_cut
from indexer.ruler import Ruler

LEAST_FILLED = 0.5
"""A paragraph border is preferred to a later sentence border when so much of a piece is full."""


class Cutter:
    """
    Cuts one source text.
    """

    def __init__(
        self, text: str, borders: Sequence[Border], ruler: Ruler, headings: Sequence[int] = ()
    ) -> None:
        """
        Take the text's borders in order, and the starts of its headings: no sentence goes on there.
        """
        self._text = text
        self._borders = borders
        self._offsets = [border.offset for border in borders]
        whole = (border.offset for border in borders if border.kind is not BorderKind.FORCED)
        self._starts = sorted({*whole, *headings, len(text)})
        self._ruler = ruler

    def within(self, span: Span) -> tuple[Border, ...]:
        """
        Return the borders strictly inside a range.
        """
        low = bisect_right(self._offsets, span.start)
        high = bisect_left(self._offsets, span.end)
        return tuple(self._borders[low:high])

    def is_inside_a_sentence(self, offset: int) -> bool:
        """
        Return whether a cut here parts a sentence.
        """
        return offset > 0 and self._starts[bisect_left(self._starts, offset)] != offset

    def cut(self, span: Span, most_tokens: int, *, longest_sentence: int = 0) -> list[Span]:
        """
        Return touching pieces that together are the range, each of at most so many tokens, or one
        longer sentence.

        Cut at a paragraph where that leaves no small piece, else at a sentence, else at a forced
        border; where even those are too far apart, at a word or between letters as seen by readers.

        Args:
            span: What is cut.
            most_tokens: Of a piece.
            longest_sentence: Sentences of up to so many tokens stay whole.
        """
        pieces: list[Span] = []
        start = span.start
        while start < span.end:
            rest = Span(start, span.end)
            if self._ruler.tokens(rest) > most_tokens:
                rest = Span(start, self._end(start, span.end, most_tokens, longest_sentence))
            pieces.append(rest)
            start = rest.end
        return pieces

    def _end(self, start: int, end: int, most_tokens: int, longest_sentence: int) -> int:
        reach = min(self._ruler.reach(start, most_tokens, end), end - 1)
        low = bisect_right(self._offsets, start)
        high = bisect_right(self._offsets, reach)
        candidates = self._borders[low:high]
        by_kind = {border.kind: border.offset for border in candidates}
        paragraph = by_kind.get(BorderKind.PARAGRAPH)
        if paragraph is not None:
            filled = self._ruler.tokens(Span(start, paragraph))
            if filled >= LEAST_FILLED * most_tokens:
                return paragraph
        whole = [one for one in (paragraph, by_kind.get(BorderKind.SENTENCE)) if one is not None]
        if whole:
            return max(whole)
        after = min(self._starts[bisect_right(self._starts, start)], end)
        if self._ruler.tokens(Span(start, after)) <= longest_sentence:
            return after
        forced = by_kind.get(BorderKind.FORCED)
        if forced is not None:
            return forced
        return max(forced_cut(self._text, start, reach), start + 1)
