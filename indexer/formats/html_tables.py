"""
HTML to Markdown whose tables have their first row as the header, and a line per row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from bs4 import Tag
from markdownify import MarkdownConverter

from indexer.formats.converted import table_of

MOST_SPAN = 100
MOST_REPEATED_CHARS = 200
"""A longer cell that spans rows stands in the first of them alone."""

CAPTION_END, SPAN, CELL_END, ROW_END = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3"
"""Noncharacters: no text may hold them, and no white space is stripped with them."""

_MARKS = {ord(mark): " " for mark in (CAPTION_END, SPAN, CELL_END, ROW_END)}
Spanned = dict[int, tuple[str, int]]
"""By column: a cell's text, and the rows below that it still spans."""

_PIPE = re.compile(r"(\\*)\|")


class TableConverter(MarkdownConverter):
    """
    Markdown of HTML; a cell that spans rows stands in each of them, a table in a cell is its text.
    """

    def convert_td(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        """
        Return a cell with its spans, for `convert_table`.
        """
        del parent_tags
        inside = " ".join(plain_cells(text).split())
        return f"{inside}{SPAN}{_span(el, 'colspan')}{SPAN}{_span(el, 'rowspan')}{CELL_END}"

    convert_th = convert_td

    def convert_tr(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        """
        Return a row, for `convert_table`.
        """
        del el, parent_tags
        return f"{ROW_END}{text}{ROW_END}"

    def convert_caption(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        """
        Return a caption, for `convert_table`.
        """
        del el, parent_tags
        return f"{plain_cells(text).strip()}{CAPTION_END}"

    def convert_table(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        """
        Return the Markdown of a table, below the text in it that stands in no cell.
        """
        del el
        if not {"td", "th"}.isdisjoint(parent_tags):
            return f" {plain_cells(text)} "
        caption, _, rest = text.rpartition(CAPTION_END)
        parts = rest.split(ROW_END)
        rows, beside = (
            parts[1::2],
            [*parts[::2], *(row.rpartition(CELL_END)[2] for row in parts[1::2])],
        )
        lines = table_of([[_escaped(cell) for cell in row] for row in _grid(rows)])
        around = "\n\n".join(one.strip() for one in (caption, *beside) if one.strip())
        return f"\n\n{around}\n\n{lines}\n\n"


def plain_cells(text: str) -> str:
    """
    Return a text in which cells and rows stand outside of a table.
    """
    text = re.sub(f"{SPAN}\\d+{SPAN}\\d+{CELL_END}", " ", text)
    return text.replace(ROW_END, "\n").replace(CAPTION_END, "\n").translate(_MARKS)


def _grid(rows: Iterable[str]) -> Iterator[list[str]]:
    """
    Yield the rows that have text, with the cells that earlier rows span into them.
    """
    below: Spanned = {}
    for row in rows:
        cells: list[str] = []
        waiting, below = below, {}

        for cell in row.split(CELL_END)[:-1]:
            inside, columns, rows = cell.strip().split(SPAN)
            _add_spanned(cells, waiting, below)
            for repeat in range(int(columns)):
                shown = "" if repeat else inside
                if int(rows) > 1:
                    kept = shown if len(shown) <= MOST_REPEATED_CHARS else ""
                    below[len(cells)] = (kept, int(rows) - 1)
                cells.append(shown)
        _add_spanned(cells, waiting, below)
        if any(cells):
            yield cells


def _add_spanned(cells: list[str], waiting: Spanned, below: Spanned) -> None:
    """
    Add the cells that an earlier row spans to this place, and note those that go further down.
    """
    while len(cells) in waiting:
        inside, left = waiting[len(cells)]
        if left > 1:
            below[len(cells)] = (inside, left - 1)
        cells.append(inside)


def _span(el: Tag, name: str) -> int:
    value = str(el.get(name, ""))
    return max(1, min(MOST_SPAN, int(value))) if value.isascii() and value.isdigit() else 1


def _escaped(cell: str) -> str:
    return _PIPE.sub(r"\1\1\\|", cell)
