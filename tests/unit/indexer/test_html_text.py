"""
Raised and lowered text of HTML keeps apart from what it stands at.
"""

from __future__ import annotations

import io
import zipfile

import pytest

from indexer.formats.html import html_to_markdown
from indexer.formats.office import docx_to_markdown
from tests.documents import archive, docx


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("10<sup>3</sup>", "10^3"),
        ("m<sup>2</sup>, H<sub>2</sub>O", "m^2, H_2O"),
        ("10<sup>-6</sup> m", "10^-6 m"),
        ("10<sup>\u22126</sup> m", "10^\u22126 m"),
        ("x<sup>n+1</sup>", "x^(n+1)"),
        ("x<sup> 1,5 </sup>", "x^(1,5)"),
        ("(a)<sup>2</sup>", "(a)^2"),
        ("<b>10</b><sup>3</sup>", "**10**^3"),
        ("x<sup><i>n</i></sup>", "x^n"),
        ("x<sup><i>n</i>+1</sup>", "x^(*n*+1)"),
        ("2<sup>x<sup>2</sup></sup>", "2^(x^2)"),
        ("CO<sub>3</sub><sup>2-</sup>", "CO_3^(2-)"),
        ("<sup>14</sup>C", "^14C"),
        ("<sup>14</sup><sub>6</sub>C", "^14_6C"),
        ("<i><sup>14</sup></i><b></b><b>C</b>", "*^14***C**"),
        ("a<sub>i</sub>b, 10<sup>3</sup>5", "a_(i)b, 10^(3)5"),
        ("<code>10<sup>3</sup></code>", "`10^3`"),
        ("end.<sup>1</sup>", "end.^1"),
        ("1<sup>st</sup> and 2<sup>ND</sup>", "1st and 2ND"),
        ("x<sup>th</sup>", "x^th"),
        ("a <sup>small</sup> word", "a small word"),
        ("a<br><sup>1</sup> b", "a  \n1 b"),
        ("a<sup>*</sup>, b<sup></sup>c", "a\\*, bc"),
        ("a<sup><a href='#n'>1</a></sup>", "a[1](#n)"),
        ("a<a href='#n'><sup>1</sup></a>", "a[1](#n)"),
        ("<a href='#n'>10<sup>3</sup></a>", "[10^3](#n)"),
        ("a<sup>b<rt>c</sup>", "a^(bc)"),
        ("a<sup>1<img alt=b src=c></sup>", "a^(1![b](c))"),
    ],
)
def test_raised_and_lowered_text_has_a_mark_where_it_would_run_together(
    html: str, text: str
) -> None:
    assert html_to_markdown(f"<body><p>{html}</p></body>").text == f"{text}\n"


def test_raised_text_at_the_beginning_of_a_block_has_no_mark() -> None:
    assert html_to_markdown("<p>a</p><sup>1</sup> b<p><sup>2</sup></p>").text == "a\n\n1 b\n\n2\n"
    assert html_to_markdown("<sup>1</sup>").text == "1\n"


def test_cells_mark_raised_text() -> None:
    rows = "<tr><td>area<td>10<sup>3</sup> m<sup>2</sup><tr><td><sup>a</sup> note<td>b<sup>c</sup>"
    assert html_to_markdown(f"<table>{rows}</table>").text == (
        "| area | 10^3 m^2 |\n| --- | --- |\n| a note | b^c |\n"
    )


def test_raised_text_of_word_has_a_mark() -> None:
    pytest.importorskip("mammoth")
    with zipfile.ZipFile(io.BytesIO(docx(("", "10XX m")))) as read:
        files = {name: read.read(name).decode() for name in read.namelist()}
    raised = '<w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>3</w:t></w:r>'
    parts = f"10</w:t></w:r><w:r>{raised}<w:r><w:t xml:space='preserve'>"
    files["word/document.xml"] = files["word/document.xml"].replace("10XX", parts)

    assert docx_to_markdown(archive(**files)).text == "10^3 m\n"
