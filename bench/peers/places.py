"""
Where a text that a library gives back stands in its document.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import compress

from assembler.span import Span


class Places:
    """
    Finds pieces of one document: where the library says, by exact search, or up to white space.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._dense: tuple[str, Sequence[int]] | None = None

    def find(self, piece: str, *, hint: int | None = None, after: int = 0) -> Span | None:
        """
        Return the range of a piece, None where it is nowhere or empty.

        Args:
            piece: The text as the library gives it.
            hint: Where the library says that it starts; taken only where it stands there.
            after: Where the search begins first; then it begins at the start of the document.
        """
        if not piece.strip():
            return None
        if hint is not None and hint >= 0 and self._text.startswith(piece, hint):
            return Span(hint, hint + len(piece))
        for start in dict.fromkeys((after, 0)):
            found = self._text.find(piece, start)
            if found >= 0:
                return Span(found, found + len(piece))
        return self._find_dense(piece, after)

    def find_all(self, pieces: Sequence[str]) -> list[Span | None]:
        """
        Return the ranges of pieces that start one behind the other and may overlap.
        """
        after, spans = 0, []
        for piece in pieces:
            span = self.find(piece, after=after)
            if span is not None:
                after = span.start + 1
            spans.append(span)
        return spans

    def _find_dense(self, piece: str, after: int) -> Span | None:
        """
        Search without any white space: libraries strip it, or join sentences with a blank.
        """
        if self._dense is None:
            solid = [not letter.isspace() for letter in self._text]
            kept = "".join(compress(self._text, solid))
            self._dense = kept, list(compress(range(len(self._text)), solid))
        text, positions = self._dense
        wanted = "".join(piece.split())
        for at in dict.fromkeys((after, 0)):
            first = text.find(wanted, bisect_left(positions, at))
            if first >= 0:
                return Span(positions[first], positions[first + len(wanted) - 1] + 1)
        return None
