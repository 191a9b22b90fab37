"""
What Markdown says of a text: headings and blocks, by offset.
"""

from __future__ import annotations

from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

from assembler.model import Block
from assembler.span import Span


@dataclass(frozen=True, slots=True)
class Heading:
    """
    A heading line by the offset of its start; level 1 is the highest.
    """

    offset: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Structure:
    """
    Headings and blocks of a text, in order.
    """

    headings: tuple[Heading, ...] = ()
    blocks: tuple[Block, ...] = ()


def markdown_structure(text: str) -> Structure:
    """
    Return headings (ATX and setext, not inside fences, lists or quotes) and top-level blocks.
    """
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    lines = _line_starts(text)
    headings: list[Heading] = []
    blocks: list[Block] = []
    last_paragraph: Span | None = None
    for position, token in enumerate(tokens):
        if token.level != 0 or token.map is None:
            continue
        span = _lines_span(lines, token.map, len(text))
        if span is None:
            continue
        if token.type == "heading_open":
            title = " ".join(_plain(tokens[position + 1]).split())
            if title:
                headings.append(Heading(span.start, int(token.tag[1:]), title))
        elif token.type == "paragraph_open":
            last_paragraph = span
            continue
        else:
            block = _block(token, span, lines, text, last_paragraph)
            if block is not None:
                blocks.append(block)
        last_paragraph = None
    return Structure(tuple(headings), tuple(blocks))


def _block(
    token: Token, span: Span, lines: list[int], text: str, lead_in: Span | None
) -> Block | None:
    first_line = (token.map or [0])[0]
    if token.type == "table_open":
        lead = _lines_span(lines, [first_line, first_line + 2], len(text))
    elif token.type == "fence":
        lead = _lines_span(lines, [first_line, first_line + 1], len(text))
    elif token.type in ("bullet_list_open", "ordered_list_open"):
        if lead_in is None or not text[lead_in.start : lead_in.end].rstrip().endswith(":"):
            return None
        lead = lead_in
    else:
        return None
    if lead is None or lead.contains(span):
        return None
    return Block(span, lead)


def _plain(inline: Token) -> str:
    parts = [
        child.content
        for child in inline.children or ()
        if child.type in ("text", "code_inline", "softbreak", "html_inline")
    ]
    return "".join(part or " " for part in parts)


def _line_starts(text: str) -> list[int]:
    starts = [0]
    position = text.find("\n")
    while position != -1:
        starts.append(position + 1)
        position = text.find("\n", position + 1)
    return starts


def _lines_span(lines: list[int], rows: list[int], length: int) -> Span | None:
    start = lines[rows[0]] if rows[0] < len(lines) else length
    end = lines[rows[1]] if rows[1] < len(lines) else length
    return Span(start, end) if start < end else None
