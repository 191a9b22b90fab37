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
        (timedelta(hours=30), "[h]:mm", "30:00"),
        (timedelta(hours=30, seconds=5), "[h]:mm", "30:00:05"),
        (timedelta(hours=30), "[h]:mm:ss", "30:00:00"),
        (timedelta(hours=-1.5), "[h]:mm", "-1:30"),
        (timedelta(minutes=90), "[mm]:ss", "90:00"),
        (timedelta(minutes=2), "[ss]", "120"),
        (1234.5, '"$"#,##0.00', "$1234.5"),
        (-1234.5, '"$"#,##0.00', "-$1234.5"),
        (-5, "[$€-407] #,##0;[Red]([$€-407] #,##0)", "-€ 5"),
        (5, '#,##0.00\\ "€"', "5 €"),
        (5, "[$CHF] 0", "CHF 5"),
        (5, '_("$"* #,##0.00_);_("$"* \\(#,##0.00\\);_("$"* "-"??_);_(@_)', "$5"),
        (0, '_("$"* #,##0.00_);_("$"* \\(#,##0.00\\);_("$"* "-"??_);_(@_)', "$0"),
        (3, '0 "pcs"', "3 pcs"),
        (3, 'General" kg"', "3 kg"),
        (5000, '$#,##0,"k"', "$5000"),
        (5000, '[>=1000]0,"k";0" EUR"', "5000"),
        (7, '"A-"000', "A-007"),
        (5, "+0;-0", "5"),
        (1, '"yes";"no"', "1"),
        (1.5, "0.00E+00", "1.5"),
        (-2, "0\\", "-2"),
        (-2, "0 g;", "-2"),
        (0.25, "0%", "25%"),
        (0.125, "0.0%", "12.5%"),
        (0.07, "0%", "7%"),
        (-12, "0%", "-1200%"),
        (1 / 3, "0.00%", "33.3333333333%"),
        (7, '0" %"', "7 %"),
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


def test_formulas_without_a_stored_value_are_counted() -> None:
    book = openpyxl.Workbook()
    book.active.append(["sum", "=1+1", "=2+2"])
    book.active.append(["unseen", "=3+3"])
    book.active.row_dimensions[2].hidden = True
    out = io.BytesIO()
    book.save(out)

    found = xlsx_to_markdown(out.getvalue())

    assert found.text == "# Sheet\n\n| sum |\n| --- |\n"
    assert found.left_out == (
        "has 1 hidden rows left out; show them to have them indexed",
        f"has 2 formulas without a stored value {excel.SAVE_IT}",
    )
    assert excel.SAVE_IT.endswith("open and save the file in a spreadsheet program")


def test_what_stands_beside_the_cells_is_counted() -> None:
    book = openpyxl.Workbook()
    book.active.append(["a", 1])
    for cell in ("A1", "B1"):
        book.active[cell].comment = openpyxl.comments.Comment("why?", "me")
    chart = openpyxl.chart.BarChart()
    chart.add_data(openpyxl.chart.Reference(book.active, 2, 1, 2, 1))
    book.active.add_chart(chart)
    out = io.BytesIO()
    book.save(out)

    found = xlsx_to_markdown(out.getvalue())

    assert found.text == "# Sheet\n\n| a | 1 |\n| --- | --- |\n"
    assert found.left_out == ("has 2 cell comments, 1 charts left out",)


def test_a_sheet_of_too_many_cells_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    content = xlsx(A=[("a", "b"), ("c", "d")])
    monkeypatch.setattr(excel, "MOST_CELLS", 4)
    assert xlsx_to_markdown(content).text.endswith("| c | d |\n")
    monkeypatch.setattr(excel, "MOST_CELLS", 3)
    with pytest.raises(NotConverted, match="more than 3 cells; split it"):
        xlsx_to_markdown(content)
