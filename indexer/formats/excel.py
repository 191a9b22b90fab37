"""
Excel files to Markdown: a headed table per sheet, as a reader of the sheet sees it.
"""

from __future__ import annotations

import io
import re
import warnings
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from decimal import Decimal
from typing import Any
from xml.etree import ElementTree as ET

from indexer.formats.converted import (
    Converted,
    NotConverted,
    counted,
    damaged,
    library,
    table,
    zipped,
)
from indexer.formats.number_formats import duration, with_words

MOST_CELLS = 2_000_000
MOST_DIGITS = 40
"""Longer numbers stay in the notation with an exponent."""

PERCENT_DIGITS = 12
UNSEEN = ";;;"
"""The number format that shows nothing."""

HIDDEN = ("hidden sheets", "hidden rows", "hidden columns")
NO_VALUE = "formulas without a stored value"
SAVE_IT = "whose cells are empty; open and save the file in a spreadsheet program"
BESIDE = {
    "cell comments": (
        re.compile(r"xl/(?:comments/)?comments?\d*\.xml"),
        re.compile(rb"<(?:\w+:)?comment\s"),
    ),
    "charts": (
        re.compile(r"xl/charts/chart(?:Ex)?\d*\.xml"),
        re.compile(rb"<(?:\w+:)?chartSpace\b"),
    ),
    "text boxes": (re.compile(r"xl/drawings/drawing\d*\.xml"), re.compile(rb"<(?:\w+:)?txBody>")),
}
"""What stands beside the cells: the parts of the file that hold it, and where each begins."""

_QUOTED = re.compile(r'"[^"]*"|\\.|_.|\[[^\]]*\]')
_TIME = re.compile(r"[hs]|am/pm", re.IGNORECASE)
_ZEROS = re.compile(r"0{2,}")


@dataclass(slots=True)
class Hidden:
    """
    Rows and columns of a sheet that are not shown, numbered from 1, and how many formulas have no
    stored value.
    """

    rows: set[int] = field(default_factory=set)
    columns: list[tuple[int, int]] = field(default_factory=list)
    no_value: int = 0

    def has_column(self, number: int) -> bool:
        """
        Return whether a column is hidden.
        """
        return any(first <= number <= last for first, last in self.columns)


def xlsx_to_markdown(content: bytes) -> Converted:
    """
    Return a headed table per sheet; formulas are shown by their last value. Hidden sheets, rows
    and columns, comments, charts and text boxes are left out.

    Raises:
        NotConverted: It is protected or damaged, or has too many cells.
    """
    openpyxl = library("openpyxl")
    parts: list[str] = []
    counts: Counter[str] = Counter(dict.fromkeys(HIDDEN, 0))
    try:
        with zipped(content) as archive:
            beside = {
                name: sum(
                    len(tag.findall(archive.read(one)))
                    for one in archive.namelist()
                    if where.fullmatch(one)
                )
                for name, (where, tag) in BESIDE.items()
            }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of parts that have no text
            book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
            for sheet in book.worksheets:
                if sheet.sheet_state != "visible":
                    counts[HIDDEN[0]] += 1
                elif rows := _rows(sheet, counts):
                    parts.append(f"# {' '.join(sheet.title.split())}\n\n{table(rows)}")
            book.close()
    except NotConverted:
        raise
    except Exception as error:
        raise damaged("Excel", error) from error
    hidden = counted({kind: counts[kind] for kind in HIDDEN})
    left_out = (
        (hidden, "left out; show them to have them indexed"),
        (counted({NO_VALUE: counts[NO_VALUE]}), SAVE_IT),
        (counted(beside), "left out"),
    )
    return Converted(
        "\n".join(parts), left_out=tuple(f"has {told} {why}" for told, why in left_out if told)
    )


def _rows(sheet: Any, counts: Counter[str]) -> list[list[str]]:
    """
    Return the shown cells, and count the hidden rows and columns that have some.
    """
    hidden = _hidden_of(sheet)
    counts[NO_VALUE] += hidden.no_value
    rows: list[list[str]] = []
    columns: set[int] = set()
    cells = 0
    for number, row in enumerate(sheet.iter_rows(), start=1):
        cells += len(row)
        if cells > MOST_CELLS:
            raise NotConverted(f"has a sheet of more than {MOST_CELLS} cells; split it")
        shown = _filled([_shown(cell) for cell in row])
        if number in hidden.rows:
            counts[HIDDEN[1]] += bool(shown)
            continue
        if hidden.columns:
            out = {at for at in range(len(shown)) if hidden.has_column(at + 1)}
            columns.update(at for at in out if shown[at].strip())
            shown = _filled([one for at, one in enumerate(shown) if at not in out])
        rows += [shown] if shown else []
    counts[HIDDEN[2]] += len(columns)
    return rows


def _hidden_of(sheet: Any) -> Hidden:
    """
    Return what is hidden; a reading that keeps no cells does not tell it.
    """
    found = Hidden()
    number = 0
    with sheet._get_source() as source:  # noqa: SLF001 - the reader keeps it from its users
        for _, tag in ET.iterparse(source):  # noqa: S314 - expat bounds how far entities grow
            name = tag.tag.rpartition("}")[2]
            if name == "row":
                number = int(float(tag.get("r", number + 1)))
                if _is_hidden(tag, "ht"):
                    found.rows.add(number)
                else:
                    found.no_value += sum(map(_has_no_value, tag))
                tag.clear()
            elif name == "col" and _is_hidden(tag, "width"):
                found.columns.append((int(tag.get("min", 0)), int(tag.get("max", 0))))
            elif name == "sheetData":
                break
    return found


def _has_no_value(cell: ET.Element) -> bool:
    """
    Return whether a cell is a formula that no program has calculated.
    """
    inner = {one.tag.rpartition("}")[2]: one.text for one in cell}
    return "f" in inner and not inner.get("v") and cell.get("t") != "str"


def _is_hidden(tag: ET.Element, size: str) -> bool:
    return tag.get("hidden") in ("1", "true") or float(tag.get(size, 1)) == 0


def _shown(cell: Any) -> str:
    value = cell.value
    if value is None or value == "":
        return ""
    shape = _QUOTED.sub("", str(cell.number_format))
    if shape == UNSEEN:
        return ""
    if isinstance(value, datetime):
        is_day = value.time() == time() and not _TIME.search(shape)
        return value.date().isoformat() if is_day else str(value)
    if isinstance(value, timedelta):
        return duration(value, str(cell.number_format))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return _number(value, shape, str(cell.number_format))


def _number(value: float, shape: str, whole: str) -> str:
    if "%" in shape:
        percent = Decimal(repr(value)) * 100
        return f"{_digits(Decimal(f'{percent:.{PERCENT_DIGITS}g}'))}%"
    if isinstance(value, int) and _ZEROS.fullmatch(shape.strip()):
        number = str(value).zfill(len(shape.strip()))
    else:
        number = _digits(Decimal(repr(value))) if "e" in repr(value) else str(value)
    return with_words(number, value, whole)


def _digits(number: Decimal) -> str:
    """
    Return a number without an exponent, unless that takes too many digits.
    """
    if not number.is_finite() or abs(number.adjusted()) > MOST_DIGITS:
        return str(number)
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _filled(row: list[str]) -> list[str]:
    """
    Return a row without the empty cells at its end.
    """
    while row and not row[-1].strip():
        row.pop()
    return row
