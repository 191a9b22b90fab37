"""
The rows of a CSV file: what parts its columns, and which of its quotes are none.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

DELIMITERS = "\t;|,"
"""Those first that stand in numbers and sentences least."""

NAMED = re.compile(r'"?sep=([^\w\s"]|\t)"?', re.IGNORECASE)
"""The first line by which Excel is told the delimiter."""

NO_DELIMITER = "\x1f"
SAMPLE_LINES = 200
MOST_FIELD_CHARS = 10_000_000
MOST_OPEN_QUOTES = 20
"""Of a file; each has all that follows read again, so after these every quote is a letter."""


def named_delimiter(line: str) -> str | None:
    """
    Return the delimiter that a first line names for Excel, as `sep=;` does.
    """
    named = NAMED.fullmatch(line)
    return named[1] if named else None


def delimiter_of(lines: Sequence[str]) -> str:
    """
    Return what parts all of the first rows alike, the first row included; else the first row as
    most others, and the second at all; else most of them, or most rows below a first row that is a
    title; else most rows into two columns and more. Else there is one column.
    """
    best, found = (0, 0.0, 0), NO_DELIMITER
    for delimiter in DELIMITERS:
        widths = [len(row) for row in rows_of(lines[:SAMPLE_LINES], delimiter, []) if has_text(row)]
        score = _score(widths)
        if score > best:
            best, found = score, delimiter
    return found


def _score(widths: Sequence[int]) -> tuple[int, float, int]:
    """
    Return how well rows of so many columns are parted: the kind, the share of rows, the columns.
    """
    first = widths[0] if widths else 1
    if first > 1 and widths.count(first) == len(widths):
        return 3, 1.0, 0
    wide = sum(width > 1 for width in widths)
    best = (0, 0.0, 0)
    for part in (widths, widths[1:]):
        width, count = Counter(part).most_common(1)[0] if len(part) > 1 else (first, 1)
        is_alike = width > 1 and count > len(part) / 2
        is_headed = first > 1 and wide > len(widths) / 2
        if is_alike or is_headed:
            kind = 2 if is_alike and width == first and min(widths[:2]) > 1 else 1
            best = max(best, (kind, count / max(len(part), 1), width))
    return best


def rows_of(lines: Sequence[str], delimiter: str, open_quotes: list[int]) -> Iterator[list[str]]:
    """
    Yield the rows of lines. A line whose quote is closed nowhere, or only inside of a field further
    down, is a row of its own in which quotes are letters.

    Args:
        lines: Without their ends.
        delimiter: One character.
        open_quotes: Gets the numbers of such lines, from 1.

    Raises:
        csv.Error: A field is longer than 10 million characters.
    """
    csv.field_size_limit(MOST_FIELD_CHARS)
    options: dict[str, Any] = {"delimiter": delimiter, "skipinitialspace": True}
    start = 0
    while start < len(lines):
        if len(open_quotes) == MOST_OPEN_QUOTES:
            yield from csv.reader(_ended(lines, start), quoting=csv.QUOTE_NONE, **options)
            return
        reader = csv.reader(_ended(lines, start), strict=True, **options)
        done = start
        try:
            for row in reader:
                done = start + reader.line_num
                yield row
        except csv.Error:
            alone = list(csv.reader([f"{lines[done]}\n", "end"], **options))
            if len(alone) == 1:
                open_quotes.append(done + 1)
                alone = list(csv.reader([lines[done]], quoting=csv.QUOTE_NONE, **options))
            yield alone[0]
            done += 1
        start = done


def has_text(row: Sequence[str]) -> bool:
    """
    Return whether any cell has text.
    """
    return any(map(str.strip, row))


def _ended(lines: Sequence[str], start: int) -> Iterator[str]:
    return (f"{lines[number]}\n" for number in range(start, len(lines)))
