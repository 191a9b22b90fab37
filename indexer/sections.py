"""
Source text to sections: headed parts, and pieces of long ones; together they are the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assembler.model import Block
from assembler.span import Span
from indexer.cut import Cutter
from indexer.ruler import Ruler
from indexer.structure import Heading

MOST_BLOCK_TOKENS = 8000
"""Longer tables, lists and code blocks are parted from their lead."""

MOST_SENTENCE_TOKENS = 768
"""Longer sentences are cut where a section is full: what has no end for so long is seldom one, and
to be shown whole it would take the room of others."""

SMALL_TOKENS = 24
"""A headed part smaller than this, followed by a part below it, is joined with that."""


@dataclass(frozen=True, slots=True)
class Part:
    """
    A section to be.

    Attributes:
        heading_path: Headings in force, outermost first, its own included.
    """

    span: Span
    heading_path: tuple[str, ...]


def split_sections(
    text: str,
    headings: Sequence[Heading],
    cutter: Cutter,
    ruler: Ruler,
    most_tokens: int,
    blocks: Sequence[Block] = (),
) -> tuple[Part, ...]:
    """
    Return sections that partition the text, each of at most so many tokens, or one block or one
    sentence longer.
    """
    return tuple(
        Part(piece, part.heading_path)
        for part in _joined(_headed(text, headings), ruler)
        for piece in _whole_blocks(
            cutter.cut(part.span, most_tokens, longest_sentence=MOST_SENTENCE_TOKENS), blocks, ruler
        )
    )


def _whole_blocks(pieces: Sequence[Span], blocks: Sequence[Block], ruler: Ruler) -> list[Span]:
    """
    Return the pieces with those joined that part a block from its lead.

    A part of a table is shown with its header row, so both have to lie in one section, which may be
    longer for it. A block of more than `MOST_BLOCK_TOKENS` is parted all the same.
    """
    kept = [
        Span(min(block.lead.start, block.span.start), block.span.end)
        for block in blocks
        if ruler.tokens(block.span) <= MOST_BLOCK_TOKENS
    ]
    joined: list[Span] = []
    for piece in pieces:
        if joined and any(one.start < piece.start < one.end for one in kept):
            joined[-1] = joined[-1].union(piece)
        else:
            joined.append(piece)
    return joined


def _headed(text: str, headings: Sequence[Heading]) -> list[Part]:
    path: list[Heading] = []
    parts: list[Part] = []
    if not headings or headings[0].offset > 0:
        end = headings[0].offset if headings else len(text)
        parts.append(Part(Span(0, end), ()))
    for position, heading in enumerate(headings):
        while path and path[-1].level >= heading.level:
            path.pop()
        path.append(heading)
        last = position + 1 == len(headings)
        end = len(text) if last else headings[position + 1].offset
        parts.append(Part(Span(heading.offset, end), tuple(one.title for one in path)))
    return parts


def _joined(parts: Sequence[Part], ruler: Ruler) -> list[Part]:
    """
    Return the parts with small ones joined to the part below them that follows.
    """
    joined: list[Part] = []
    held: Part | None = None
    for part in parts:
        start = part.span.start
        if held is not None:
            if part.heading_path[: len(held.heading_path)] == held.heading_path:
                start = held.span.start
            else:
                joined.append(held)
        whole = Part(Span(start, part.span.end), part.heading_path)
        held = None
        if ruler.tokens(whole.span) < SMALL_TOKENS:
            held = whole
        else:
            joined.append(whole)
    if held is not None:
        joined.append(held)
    return joined
