"""
Tables of HTML and of Word: the first row is the header, and every cell keeps its column.
"""

from __future__ import annotations

import pytest

from indexer.formats.html import html_to_markdown
from indexer.formats.office import docx_to_markdown
from tests.documents import docx

pytest.importorskip("mammoth")

HEAD = "| a | b |\n| --- | --- |\n"


def table(inside: str) -> str:
    return html_to_markdown(f"<table>{inside}</table>").text


@pytest.mark.parametrize(
    "rows",
    [
        "<tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr>",
        "<tr><td>a<td>b<tr><td>1<td>2",
        "<td>a<td>b<tr><td>1<td>2",
        "<thead><th>a<th>b<tbody><td>1<td>2",
        "<thead></thead><tbody><tr><th>a</th><td>b</td></tr><tr><td>1</td><td>2</td></tr></tbody>",
        "<colgroup><col></colgroup><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr>",
        "<tr><td></td><td> </td></tr><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr>",
    ],
)
def test_the_first_row_with_text_is_the_header(rows: str) -> None:
    assert table(rows) == f"{HEAD}| 1 | 2 |\n"


def test_pipes_and_line_ends_in_cells_part_nothing() -> None:
    rows = "<tr><td>a</td><td>b</td></tr>"
    cells = "<tr><td>x|y<br>z</td><td><p>\\|</p><pre>one\n|two</pre></td></tr>"
    assert table(rows + cells) == f"{HEAD}| x\\|y z | \\\\\\| ``` one \\|two ``` |\n"


def test_cells_that_span_stand_where_they_are_seen() -> None:
    rows = (
        "<tr><td>a</td><td colspan='2'>b</td></tr><tr><td rowspan='3'>r</td><td>1</td><td>2</td>"
        "</tr><tr><td>3</td><td>4</td></tr><tr></tr><tr><td>5</td><td rowspan='x'></td></tr>"
    )
    assert table(rows) == (
        "| a | b |  |\n| --- | --- | --- |\n| r | 1 | 2 |\n| r | 3 | 4 |\n| r |  |  |\n| 5 |  |  |\n"
    )


def test_a_long_cell_that_spans_rows_is_not_repeated() -> None:
    rows = f"<tr><td>a</td><td>b</td></tr><tr><td rowspan=2>{'x' * 201}</td><td>1</td></tr>"
    assert table(f"{rows}<tr><td>2</td></tr>") == f"{HEAD}| {'x' * 201} | 1 |\n|  | 2 |\n"


def test_a_caption_and_a_table_in_a_cell_are_text() -> None:
    rows = "<caption>Of <b>rates</b></caption><tr><td>a</td><td>b</td></tr>"
    inner = "<table><caption>in</caption><tr><td>x</td><td>y|z</td></tr></table>"
    assert table(f"{rows}<tr><td>{inner}</td><td>2</td></tr>") == (
        f"Of **rates**\n\n{HEAD}| in x y\\|z | 2 |\n"
    )


def test_cells_outside_of_a_table_and_an_empty_table_leave_no_marks() -> None:
    text = html_to_markdown("<div><tr><td>x</td><td>y</td></tr></div><table></table><p>z</p>").text
    assert text.split() == ["x", "y", "z"]
    assert text.isascii()


def test_text_of_a_table_that_stands_in_no_cell_stands_above_it() -> None:
    rows = "x<tr><td>a</td><td>b</td>y</tr>z<tr><td>1</td><td>2</td></tr><p>w"
    assert table(rows) == f"x\n\nz\n\nw\n\ny\n\n{HEAD}| 1 | 2 |\n"
    assert table("only") == "only\n"


def test_a_table_of_word_has_its_own_header() -> None:
    rows = [("country", "rate"), ("NL|BE", "3"), ("DE", "5")]
    assert docx_to_markdown(docx(("", "Rates:"), rows=rows)).text == (
        "Rates:\n\n| country | rate |\n| --- | --- |\n| NL\\|BE | 3 |\n| DE | 5 |\n"
    )
