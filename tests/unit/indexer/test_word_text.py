"""
What a Word file says beside its runs is kept as plain text, or told.
"""

from __future__ import annotations

import io
import zipfile

import pytest

from indexer.formats.office import docx_to_markdown
from tests.documents import WORD, archive, docx

pytest.importorskip("mammoth")

MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"


def word(paragraph: str, **more: str) -> bytes:
    """
    Return a Word file of one paragraph, and more parts by name.
    """
    with zipfile.ZipFile(io.BytesIO(docx(("", "XX")))) as read:
        files = {name: read.read(name).decode() for name in read.namelist()}
    document = files["word/document.xml"].replace("<w:r><w:t>XX</w:t></w:r>", paragraph)
    files["word/document.xml"] = document.replace("xmlns:w=", f'xmlns:m="{MATH}" xmlns:w=', 1)
    for name, body in more.items():
        files[f"word/{name}.xml"] = f'<w:parts xmlns:w="{WORD}">{body}</w:parts>'
    return archive(**files)


def run(text: str, looks: str = "") -> str:
    align = f'<w:rPr><w:vertAlign w:val="{looks}"/></w:rPr>' if looks else ""
    return f'<w:r>{align}<w:t xml:space="preserve">{text}</w:t></w:r>'


def sup(text: str) -> str:
    return run(text, "superscript")


def sub(text: str) -> str:
    return run(text, "subscript")


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        (run("10") + sup("3") + run(" m"), "10^3 m"),
        (run("H") + sub("2") + run("O"), "H_2O"),
        (run("10") + sup("-") + sup("12"), "10^-12"),
        (run("x") + sub("i") + sup("10"), "x_i^10"),
        (run("(1+r)") + sup("n"), "(1+r)^n"),
        (run("10 ") + sup("3"), "10 3"),
        (sup("2") + run("H"), "^2H"),
        (run("1") + sup("st") + run(" of May"), "1st of May"),
        (run("x") + sup("*"), "x*"),
        (run("10") + "<w:r><w:tab/></w:r>" + sup("3"), "10 3"),
        (run("a_b") + run("3", "baseline"), "a\\_b3"),
    ],
)
def test_raised_and_lowered_text_keeps_its_value(runs: str, text: str) -> None:
    assert docx_to_markdown(word(runs)).text.strip() == text.replace("*", "\\*")


@pytest.mark.parametrize(
    "around",
    [
        '<w:fldSimple w:instr="SEQ">{}</w:fldSimple>',
        "<w:fldSimple><w:fldSimple>{}</w:fldSimple></w:fldSimple>",
        '<w:dir w:val="rtl">{}</w:dir>',
        "<w:hyperlink><w:fldSimple>{}</w:fldSimple></w:hyperlink>",
        "<w:r><w:ruby><w:rt><w:r><w:t>read</w:t></w:r></w:rt><w:rubyBase>{}</w:rubyBase></w:ruby></w:r>",
    ],
)
def test_text_of_fields_and_the_like_stands_in_its_place(around: str) -> None:
    found = docx_to_markdown(word(run("Table ") + around.format(run("4")) + run(": costs")))
    assert (found.text, found.left_out) == ("Table 4: costs\n", ())


def m(text: str) -> str:
    return f"<m:r><m:rPr/><m:t>{text}</m:t></m:r>"


def e(text: str) -> str:
    return f"<m:e>{m(text)}</m:e>"


FRACTION = f"<m:f><m:num>{m('1')}</m:num><m:den>{m('2a')}</m:den></m:f>"
SUM = '<m:naryPr><m:chr m:val="∑"/></m:naryPr>'


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        (m("E=m") + f"<m:sSup>{e('c')}<m:sup>{m('2')}</m:sup></m:sSup>", "E=mc^2"),
        (f"<m:sSub>{e('v')}<m:sub>{m('max')}</m:sub></m:sSub>", "v_(max)"),
        (f"<m:sSubSup>{e('x')}<m:sub>{m('i')}</m:sub><m:sup>{m('2')}</m:sup></m:sSubSup>", "x_i^2"),
        (FRACTION, "1/(2a)"),
        (f"<m:rad><m:deg/>{e('2')}</m:rad>", "√2"),
        (f"<m:rad><m:deg>{m('3')}</m:deg>{e('x+1')}</m:rad>", "^3√(x+1)"),
        (f"<m:d>{e('a+b')}</m:d>", "(a+b)"),
        (f'<m:d><m:dPr><m:begChr m:val="["/><m:endChr/></m:dPr>{e("a")}{e("b")}</m:d>', "[a|b"),
        (f"<m:nary>{SUM}<m:sub>{m('i')}</m:sub>{e('x')}</m:nary>", "∑_i x"),
        (f"<m:m><m:mPr/><m:mr>{e('1')}{e('2')}</m:mr><m:mr>{e('3')}</m:mr></m:m>", "1, 2; 3"),
        (f"<m:eqArr>{e('x=1')}{e('y=2')}</m:eqArr>", "x=1; y=2"),
    ],
)
def test_equations_are_written_in_a_line(inner: str, text: str) -> None:
    body = f"{run('so ')}<m:oMath>{inner}</m:oMath>{run(' holds')}"
    assert docx_to_markdown(word(body)).text == f"so {text} holds\n"
    alone = f"<m:oMathPara><m:oMath>{inner}</m:oMath></m:oMathPara>"
    assert docx_to_markdown(word(alone)).text == f"{text}\n"


def test_equations_that_are_nested_deep_are_gone_through_once() -> None:
    depth = 60
    inner = "<m:f><m:num>" * depth + m("1") + f"</m:num><m:den>{m('2')}</m:den></m:f>" * depth
    found = docx_to_markdown(word(f"<m:oMath>{inner}</m:oMath>"))
    assert found.text == "(" * (depth - 1) + "1" + "/2)" * (depth - 1) + "/2\n"


def test_hidden_rows_of_tables_are_left_out_and_counted() -> None:
    with zipfile.ZipFile(io.BytesIO(docx(rows=[("a",), ("unseen",), ("b",)]))) as read:
        files = {name: read.read(name).decode() for name in read.namelist()}
    before, after = files["word/document.xml"].split("unseen")
    at = before.rindex("<w:tr>") + len("<w:tr>")
    before = f"{before[:at]}<w:trPr><w:hidden/></w:trPr>{before[at:]}"
    files["word/document.xml"] = f"{before}unseen{after}"

    found = docx_to_markdown(archive(**files))

    assert found.text == "| a |\n| --- |\n| b |\n"
    assert found.left_out == ("has 1 hidden rows of tables, which are left out",)


def test_comments_charts_and_heads_of_pages_are_counted() -> None:
    found = docx_to_markdown(
        word(
            run("seen"),
            comments=f"<w:comment w:id='0'><w:p>{run('why?')}</w:p></w:comment><w:comment w:id='1'/>",
            header1=f"<w:p>{run('Draft')}</w:p>",
            footer1=f"<w:p>{run('3')}</w:p>",
            **{"charts/chart1": ""},
        )
    )
    assert found.text == "seen\n"
    (told,) = found.left_out
    assert told == "has 1 comments, 1 charts, 1 page headers and footers, which are left out"
