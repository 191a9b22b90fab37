"""
CSV to a Markdown table.
"""

from __future__ import annotations

import csv

from indexer.formats.converted import Converted, NotConverted, table
from indexer.formats.csv_rows import (
    MOST_OPEN_QUOTES,
    delimiter_of,
    has_text,
    named_delimiter,
    rows_of,
)


def csv_to_markdown(text: str) -> Converted:
    """
    Return the rows as one table; the delimiter is named by a line `sep=;`, which is no row, or
    found by looking.

    Raises:
        NotConverted: A field has no end.
    """
    lines = text.split("\n")
    opened: list[int] = []
    delimiter = named_delimiter(lines[0])
    if delimiter is not None:
        lines[0] = ""
    try:
        found = rows_of(lines, delimiter or delimiter_of(lines), opened)
        rows = [row for row in found if has_text(row)]
    except csv.Error as error:
        raise NotConverted(f"is no CSV: {error}") from error
    if not opened:
        return Converted(table(rows))
    more = "and those after them " if len(opened) == MOST_OPEN_QUOTES else ""
    told = (
        f"has {len(opened)} lines with a quote that is never closed, the first of them line "
        f"{opened[0]}; their quotes {more}are read as letters"
    )
    return Converted(table(rows), left_out=(told,))
