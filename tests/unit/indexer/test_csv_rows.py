"""
Columns are found where there are some, and a quote that is never closed swallows nothing.
"""

from __future__ import annotations

import pytest

from indexer.formats.csv_rows import MOST_OPEN_QUOTES, NO_DELIMITER, delimiter_of, rows_of
from indexer.formats.rows import csv_to_markdown


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("name,price\na,1\nb,2", ","),
        ("a;b;c\n1;2,5;3", ";"),
        ("a\tb\n1\t2, or 3", "\t"),
        ("a|b\n1|2", "|"),
        ("a,b,c", ","),
        ("only\nvalue one.\nvalue two, with comma", NO_DELIMITER),
        ("only\nvalue, one", NO_DELIMITER),
        ("only", NO_DELIMITER),
        ("", NO_DELIMITER),
        ("\n \n", NO_DELIMITER),
        ("Report of 2026\n\nname,price\na,1\nb,2,extra,more\nc\nd,3", ","),
        ("a,b,c\n1,2\n3\n4,5,6\n7,8", ","),
        ('"a, b";c\n"d, e";f', ";"),
        ("Posten;Betrag\nHotel;40,50\nTaxi;12,30", ";"),
        ("Posten;Betrag;Anteil\nHotel;40,50;0,25\nTaxi;12,30;0,75", ";"),
        ("Posten;Betrag\nHotel;1,5,5\nTaxi;2,5,5", ";"),
        ("Posten\tBetrag\nHotel\t40,50\nTaxi\t12,30", "\t"),
        ("Posten|Betrag\nHotel|40,50\nTaxi|12,30", "|"),
        ("Posten;Betrag\nHotel;40,50\nTaxi;12\nBus;3", ";"),
        ("Posten;Betrag\nHotel;40,50\nTaxi;12,30\nBus;3,10;bar", ";"),
        ("Posten;Betrag;Anteil\nHotel;40,50;0,25\nTaxi;12,30;0,75\nBus;3,10", ";"),
        ("Bericht, 2026\nPosten;Betrag\nHotel;40,50\nTaxi;12,30", ";"),
        ("Name, Vorname;Betrag\nMeier, Ida;40,50\nAbt, Karl;12,30", ";"),
        ("name,tags\na,x;y\nb,x;z", ","),
        ("name,tags\na,x|y\nb,x|z\nc,x|y|z", ","),
        ("name,tags,more\na,x;y\nb,x;z,3\nc,u;v,4", ","),
    ],
)
def test_a_delimiter_is_one_where_most_rows_have_the_same_columns(
    text: str, delimiter: str
) -> None:
    assert delimiter_of(text.split("\n")) == delimiter


def test_the_rows_of_a_file_with_decimal_commas_are_whole() -> None:
    assert csv_to_markdown("Posten;Betrag\nHotel;40,50\nTaxi;12,30\n").text == (
        "| Posten | Betrag |\n| --- | --- |\n| Hotel | 40,50 |\n| Taxi | 12,30 |\n"
    )


@pytest.mark.parametrize("line", ["sep=;", "SEP=;", '"sep=;"'])
def test_a_first_line_that_names_the_delimiter_is_no_row(line: str) -> None:
    found = csv_to_markdown(f'{line}\na,b;c,d\n1,2,3;4\n5;"open\n')
    assert found.text == '| a,b | c,d |\n| --- | --- |\n| 1,2,3 | 4 |\n| 5 | "open |\n'
    assert "the first of them line 4" in found.left_out[0]


@pytest.mark.parametrize("line", ["sep=x", "sep=", "sep=;;", "sep= ", "sep"])
def test_a_first_line_that_names_no_delimiter_is_a_row(line: str) -> None:
    assert csv_to_markdown(f"{line}\na\nb\n").text.startswith(f"| {line.strip()} |\n")


def test_a_tab_may_be_named() -> None:
    assert csv_to_markdown("sep=\t\na;1\tb;2\n").text == "| a;1 | b;2 |\n| --- | --- |\n"


def test_a_comma_in_a_file_of_one_column_parts_nothing() -> None:
    found = csv_to_markdown("only\nvalue one.\nvalue two, with comma\n")
    assert found.text == "| only |\n| --- |\n| value one. |\n| value two, with comma |\n"
    assert found.left_out == ()


@pytest.mark.parametrize(
    ("lines", "rows", "opened"),
    [
        (['1,"open', "2,3", "x,y"], [["1", '"open'], ["2", "3"], ["x", "y"]], [1]),
        (['1,"open', '2,"3"', "x,y"], [["1", '"open'], ["2", "3"], ["x", "y"]], [1]),
        (["a,b", '1,"two', 'lines"', "x,y"], [["a", "b"], ["1", "two\nlines"], ["x", "y"]], []),
        (['"a"b,c', "x,y"], [["ab", "c"], ["x", "y"]], []),
        (['a "quoted" word,b', "x,y"], [['a "quoted" word', "b"], ["x", "y"]], []),
        (['1, "a, b"', '2,"say ""x"""'], [["1", "a, b"], ["2", 'say "x"']], []),
        (["x,y", '1,"'], [["x", "y"], ["1", '"']], [2]),
    ],
)
def test_a_line_with_an_open_quote_is_a_row_by_itself(
    lines: list[str], rows: list[list[str]], opened: list[int]
) -> None:
    told: list[int] = []
    assert list(rows_of(lines, ",", told)) == rows
    assert told == opened


def test_open_quotes_are_told_with_the_first_line() -> None:
    found = csv_to_markdown('a,b\n1,"open\n2,3\n')
    assert found.text == '| a | b |\n| --- | --- |\n| 1 | "open |\n| 2 | 3 |\n'
    (told,) = found.left_out
    assert told.startswith(
        "has 1 lines with a quote that is never closed, the first of them line 2"
    )


def test_after_many_open_quotes_all_quotes_are_letters() -> None:
    lines = ['a","'] * 100_000
    told: list[int] = []

    rows = list(rows_of(lines, ",", told))

    assert rows == [['a"', '"']] * 100_000
    assert told == list(range(1, MOST_OPEN_QUOTES + 1))
    assert "quotes and those after them are" in csv_to_markdown("\n".join(lines)).left_out[0]
