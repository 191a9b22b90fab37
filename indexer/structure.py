"""
What Markdown says of a text: headings and blocks, by offset.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

from assembler.model import Block
from assembler.span import Span

_FRONT_MATTER = re.compile(
    r"\A---[ \t]*\n(?=[\w\"'-]+[ \t]*:).*?^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
"""Metadata before a Markdown text; its closing line would make a heading of its last lines."""


_INSIDE = frozenset(
    ("inline", "list_item_open", "thead_open", "tbody_open", "tr_open", "th_open", "td_open")
)
"""Tokens that neither are a block nor end a paragraph."""


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
    Headings, blocks and tables of a text, in order.
    """

    headings: tuple[Heading, ...] = ()
    blocks: tuple[Block, ...] = ()
    tables: tuple[Span, ...] = ()


def markdown_structure(text: str) -> Structure:
    """
    Return headings (ATX and setext, not inside fences, lists or quotes), blocks and tables, all of
    them.
    """
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    lines = _line_starts(text)
    front = _FRONT_MATTER.match(text)
    body = front.end() if front else 0
    headings: list[Heading] = []
    blocks: list[Block] = []
    tables: list[Span] = []
    last_paragraph: Span | None = None
    for position, token in enumerate(tokens):
        if token.map is None or token.type in _INSIDE:
            continue
        span = _lines_span(lines, token.map, len(text))
        if span is None or span.start < body:
            continue
        if token.type == "heading_open" and token.level == 0:
            title = " ".join(_plain(tokens[position + 1]).split())
            if title:
                headings.append(Heading(span.start, int(token.tag[1:]), title))
        elif token.type == "paragraph_open":
            last_paragraph = span
            continue
        else:
            if token.type == "table_open":
                tables.append(span)
            block = _block(token, span, lines, text, last_paragraph)
            if block is not None:
                blocks.append(block)
        last_paragraph = None
    return Structure(tuple(headings), tuple(blocks), tuple(tables))


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
