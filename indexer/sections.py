"""
Source text to sections: headed parts, and pieces of long ones; together they are the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assembler.span import Span
from indexer.cut import Cutter
from indexer.ruler import Ruler
from indexer.structure import Heading

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
    text: str, headings: Sequence[Heading], cutter: Cutter, ruler: Ruler, most_tokens: int
) -> tuple[Part, ...]:
    """
    Return sections that partition the text, each of at most so many tokens.
    """
    return tuple(
        Part(piece, part.heading_path)
        for part in _joined(_headed(text, headings), ruler)
        for piece in cutter.cut(part.span, most_tokens)
    )


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
