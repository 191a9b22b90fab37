"""
Values of Excel cells are written as a reader of the sheet sees them.
"""

from __future__ import annotations

import io
from datetime import datetime, time, timedelta

import pytest

from indexer.formats import excel
from indexer.formats.converted import NotConverted
from indexer.formats.excel import xlsx_to_markdown
from tests.documents import xlsx

openpyxl = pytest.importorskip("openpyxl")

DAY, MINUTE = datetime(2026, 1, 5), datetime(2026, 1, 5, 13, 5)  # noqa: DTZ001 - Excel has no zones


@pytest.mark.parametrize(
    ("value", "shape", "shown"),
    [
        (DAY, "yyyy-mm-dd", "2026-01-05"),
        (DAY, '[$-407]d. mmmm yyyy" Uhr"', "2026-01-05"),
        (DAY, "yyyy-mm-dd hh:mm", "2026-01-05 00:00:00"),
        (MINUTE, "yyyy-mm-dd", "2026-01-05 13:05:00"),
        (time(9, 30), "h:mm", "09:30:00"),
        (timedelta(hours=30), "[h]:mm", "1 day, 6:00:00"),
        (0.25, "0%", "25%"),
        (0.125, "0.0%", "12.5%"),
        (0.07, "0%", "7%"),
        (-12, "0%", "-1200%"),
        (1 / 3, "0.00%", "33.3333333333%"),
        (7, '0" %"', "7"),
        (12345678901234567890, "General", "12345678901234570000"),
        (-1.5e-7, "General", "-0.00000015"),
        (1e300, "General", "1E+300"),
        (1234.5, "#,##0.00", "1234.5"),
        (1067, "00000", "01067"),
        (5, "0", "5"),
        (True, "General", "True"),
        ("text", "0%", "text"),
        ("unseen", ";;;", ""),
    ],
)
def test_values_are_written_by_their_format(value: object, shape: str, shown: str) -> None:
    book = openpyxl.Workbook()
    book.active.append(["head", "end"])
    book.active.append([value, "x"])
    book.active["A2"].number_format = shape
    out = io.BytesIO()
    book.save(out)

    text = xlsx_to_markdown(out.getvalue()).text

    assert text.splitlines()[-1] == f"| {shown} | x |"


def test_a_sheet_of_too_many_cells_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    content = xlsx(A=[("a", "b"), ("c", "d")])
    monkeypatch.setattr(excel, "MOST_CELLS", 4)
    assert xlsx_to_markdown(content).text.endswith("| c | d |\n")
    monkeypatch.setattr(excel, "MOST_CELLS", 3)
    with pytest.raises(NotConverted, match="more than 3 cells; split it"):
        xlsx_to_markdown(content)
