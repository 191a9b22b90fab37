"""
What repeats at the edges of pages goes, and what only looks like it stays.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.formats.pdf import pdf_to_text
from indexer.formats.running_lines import without_running_lines
from tests.documents import pdf

BODY = ("alpha", "beta", "gamma", "delta", "epsilon")


def page(number: int, *, head: str = "", foot: str = "") -> str:
    body = [f"{word} {chr(97 + number)}" for word in BODY]
    return "\n".join([*([head] if head else []), *body, *([foot] if foot else [])])


def left_out(count: int, foot: Callable[[int], str]) -> list[str]:
    """
    Return what goes of the feet of pages 1 to `count`.
    """
    pages = [page(number, foot=foot(number)) for number in range(1, count + 1)]
    return list(without_running_lines(pages).left_out)


def test_rows_of_a_statement_all_stay() -> None:
    rows = [
        [
            f"2026-0{month}-{day:02} Card payment {20 * month + day} EUR reference 77{day:03}"
            for day in range(1, 21)
        ]
        for month in range(1, 6)
    ]

    found = pdf_to_text(pdf(rows))

    assert [line for line in found.text.split("\n") if line] == [
        one for page in rows for one in page
    ]
    assert found.left_out == ()


def test_equal_heads_stand_once_and_what_went_is_told() -> None:
    pages = [page(n, head="ACME Confidential", foot=f"Page {n} of 4") for n in range(1, 5)]

    kept = without_running_lines(pages)
    told = pdf_to_text(pdf([one.split("\n") for one in pages])).left_out

    assert kept.pages == [pages[0], *(page(n) for n in range(2, 5))]
    assert kept.left_out == (
        *("ACME Confidential", "Page 2 of 4"),
        *("ACME Confidential", "Page 3 of 4"),
        *("ACME Confidential", "Page 4 of 4"),
    )
    assert told == (
        "has 6 lines left out that repeat at the edges of its pages, as 'ACME Confidential'",
    )


@pytest.mark.parametrize(
    "foot",
    [
        "Page {0} of 4",
        "Page {0}/9",
        "Seite {0}",
        "Page 34{0}",
        "Konto 77, Blatt {0} von 4",
        "Annual Report 2026 {0}",
        "{0} Terms of 1.2.2026",
    ],
)
def test_lines_that_differ_by_their_page_number_go_after_the_first(foot: str) -> None:
    assert left_out(4, foot.format) == [foot.format(number) for number in (2, 3, 4)]


@pytest.mark.parametrize("foot", ["{0}", "- {0} -", "34{0}", "{0} / 4", "[{0}]"])
def test_bare_page_numbers_all_go(foot: str) -> None:
    assert left_out(4, foot.format) == [foot.format(number) for number in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    "foot",
    [
        lambda n: f"Total: {7 * n} EUR",
        lambda n: f"Total of article {99 + n}: 7 EUR",
        lambda n: f"Contract number {99 + n}",
        lambda n: f"Article {n}",
        lambda n: f"{n}.1.2026",
        lambda n: f"2026-01-0{n}",
        lambda n: f"{n}.50",
        lambda n: f"Paid {n} EUR at once",
        lambda n: f"{n} {n}",
        lambda n: f"${n}",
        lambda n: ["i", "ii", "iii", "iv"][n - 1],
        lambda n: f"Page {n * n}",
        lambda n: f"Sheet {n}, page {n}",
        lambda n: f"{n}" * 10,
    ],
)
def test_other_lines_with_numbers_stay(foot: Callable[[int], str]) -> None:
    assert left_out(4, foot) == []


def test_heads_of_odd_and_of_even_pages_go() -> None:
    def head(number: int) -> str:
        return f"{number} Travel Rules" if number % 2 else f"Safe Trains {number}"

    pages = [page(number, head=head(number)) for number in range(1, 8)]

    kept = without_running_lines(pages)

    assert kept.left_out == tuple(head(number) for number in range(3, 8))
    assert kept.pages[0].startswith("1 Travel Rules\n")
    assert kept.pages[1].startswith("Safe Trains 2\n")


def test_a_line_that_stands_inside_of_pages_too_is_no_head() -> None:
    pages = ["\n".join(["Fee 1.00 EUR"] * 2 + [f"{word} {n}" for word in BODY]) for n in "abcd"]
    inside = [
        "\n".join(["Fee", f"a {n}", f"b {n}", "Fee", f"c {n}", f"d {n}", f"e {n}"]) for n in "abcd"
    ]
    title = ["a\nb\nACME\nc\nd\ne", *(page(number, head="ACME") for number in range(4))]

    assert without_running_lines(pages).pages == pages
    assert without_running_lines(inside).pages == inside
    assert without_running_lines(title).left_out == ("ACME",) * 3


def test_too_few_repeats_and_short_pages_stay() -> None:
    pages = [page(n, head="Head") for n in range(2)] + [page(n) for n in range(2, 8)]
    short = ["Head\na\nb\nc\nFoot"] * 5

    assert without_running_lines(pages).pages == pages
    assert without_running_lines(short).pages == short
    assert without_running_lines([]).pages == []


@given(st.lists(st.text("ab1 \n", max_size=16), max_size=8))
def test_every_line_is_kept_or_told_and_texts_with_words_stand_once_at_least(
    pages: list[str],
) -> None:
    kept = without_running_lines(pages)

    for before, after in zip(pages, kept.pages, strict=True):
        lines = iter(before.split("\n"))
        assert all(line in lines for line in after.split("\n") if line)
    given_lines = sorted(line.strip() for one in pages for line in one.split("\n") if line.strip())
    kept_lines = [line.strip() for one in kept.pages for line in one.split("\n") if line.strip()]
    assert sorted([*kept_lines, *kept.left_out]) == given_lines
    wordy = {" ".join(line.split()) for line in given_lines if line.strip(" 1")}
    told = {" ".join(line.split()) for line in kept_lines}
    assert {line for line in wordy if "1" not in line} <= told
