"""
Rebuild text from ranges of it, where no section is there to slice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assembler.span import Span


@dataclass(frozen=True, slots=True)
class Piece:
    """
    A range of a source text with its text; the text has the range's length.

    Raises:
        ValueError: The lengths differ.
    """

    span: Span
    text: str

    def __post_init__(self) -> None:
        if len(self.text) != self.span.length:
            msg = f"a range of {self.span.length} code points with a text of {len(self.text)}"
            raise ValueError(msg)

    def slice(self, span: Span) -> str:
        """
        Return the text of a range inside the piece.
        """
        return self.text[span.start - self.span.start : span.end - self.span.start]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """
    Runs of touching pieces, and the pieces that disagreed with what was given before them.

    Attributes:
        conflicts: Pairs of positions in the given pieces: the one kept, and the one that disagrees.
    """

    runs: tuple[Piece, ...]
    conflicts: tuple[tuple[int, int], ...]


def rebuild(pieces: Sequence[Piece]) -> Rebuilt:
    """
    Return the text that the pieces give together, in disjoint runs that do not touch.

    Where two pieces disagree on an overlap the earlier given one is kept.
    """
    kept: list[tuple[int, Piece]] = []
    conflicts: list[tuple[int, int]] = []
    for position, piece in enumerate(pieces):
        rival = next((number for number, other in kept if _disagree(piece, other)), None)
        if rival is None:
            kept.append((position, piece))
        else:
            conflicts.append((rival, position))
    runs: list[Piece] = []
    for piece in sorted((piece for _, piece in kept), key=lambda piece: piece.span):
        if runs and runs[-1].span.touches(piece.span):
            runs[-1] = _joined(runs[-1], piece)
        else:
            runs.append(piece)
    return Rebuilt(tuple(runs), tuple(conflicts))


def _disagree(one: Piece, other: Piece) -> bool:
    shared = one.span.intersection(other.span)
    return shared is not None and one.slice(shared) != other.slice(shared)


def _joined(before: Piece, after: Piece) -> Piece:
    fresh = after.text[max(before.span.end - after.span.start, 0) :]
    return Piece(before.span.union(after.span), before.text + fresh)
