"""
What a reader of a document does not see is not read, and how much that is is told.
"""

from __future__ import annotations

import importlib
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from indexer.formats.epub import epub_to_markdown
from indexer.formats.excel import xlsx_to_markdown
from indexer.formats.html import html_to_markdown
from indexer.formats.office import docx_to_markdown, pptx_to_markdown
from indexer.read_source import Unreadable, read_source
from tests.documents import archive, docx, epub, pptx, xlsx
from tests.small_index import SmallIndex

pytest.importorskip("openpyxl")

HIDDEN_ELEMENT = "has 1 hidden elements, which are left out"


@pytest.mark.parametrize(
    "element",
    [
        "<p hidden>unseen</p>",
        "<p HIDDEN='hidden'>unseen</p>",
        "<p style='display:none'>unseen</p>",
        "<p style='color: red; Display : None !important;'>unseen</p>",
        "<span style='visibility: hidden'>un<b hidden>se</b>en</span>",
        "<p style='visibility:collapse'>unseen</p>",
        "<p style='font-size:0px'>unseen</p>",
        "<p style='opacity: 0.0'>unseen</p>",
        "<dialog><p>unseen</p></dialog>",
    ],
)
def test_hidden_elements_are_left_out_and_counted(element: str) -> None:
    found = html_to_markdown(f"<body><p>seen</p>{element}<p hidden></p></body>")
    assert (found.text, found.left_out) == ("seen\n", (HIDDEN_ELEMENT,))


@pytest.mark.parametrize(
    "element",
    [
        "<!-- unseen -->",
        "<template><p>unseen</p></template>",
        "<noscript>unseen</noscript>",
        "<![CDATA[unseen]]>",
        "<?php unseen ?>",
    ],
)
def test_what_is_never_shown_is_left_out_without_a_word(element: str) -> None:
    found = html_to_markdown(f"<body><p>seen</p>{element}</body>")
    assert (found.text, found.left_out) == ("seen\n", ())


@pytest.mark.parametrize(
    "element",
    [
        "<p hidden='until-found'>seen</p>",
        "<p style='opacity:0.5; font-size: 0.8em'>seen</p>",
        "<p style='background: url(display:none)'>seen</p>",
        "<details><p>seen</p></details>",
        "<dialog open><p>seen</p></dialog>",
        "<p aria-hidden='true'>seen</p>",
    ],
)
def test_what_a_reader_can_see_stays(element: str) -> None:
    found = html_to_markdown(f"<body style='display:none'>{element}</body>")
    assert (found.text, found.left_out) == ("seen\n", ())


def test_a_book_names_the_chapter_of_what_is_hidden() -> None:
    found = epub_to_markdown(epub("<p>One</p>", "<p>Two</p><p hidden>unseen</p>"))
    assert (found.text, found.left_out) == ("One\n\nTwo\n", (f"{HIDDEN_ELEMENT} (chapter 2)",))


def changed(kind: str, content: bytes, change: Callable[[Any], None]) -> bytes:
    """
    Return an Office file, changed by the library that writes it.
    """
    library = importlib.import_module(kind)
    opened = {"openpyxl": "load_workbook", "pptx": "Presentation"}[kind]
    document = getattr(library, opened)(io.BytesIO(content))
    change(document)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def sheets(change: Callable[[Any], None], **rows: list[tuple[object, ...]]) -> bytes:
    return changed("openpyxl", xlsx(**rows), change)


def test_hidden_sheets_rows_and_columns_are_left_out_and_counted() -> None:
    rows: list[tuple[object, ...]] = [("a", "unseen", "", "b"), ("unseen",), ("1", "unseen", "", 2)]

    def hide(book: Any) -> None:
        book["Gone"].sheet_state = "hidden"
        book["Secret"].sheet_state = "veryHidden"
        book["Seen"].row_dimensions[2].hidden = True
        book["Seen"].row_dimensions[9].hidden = True
        book["Seen"].column_dimensions["B"].hidden = True
        book["Seen"].column_dimensions["F"].width = 0

    found = xlsx_to_markdown(sheets(hide, Seen=rows, Gone=[("unseen",)], Secret=[("unseen",)]))

    assert found.text == "# Seen\n\n| a |  | b |\n| --- | --- | --- |\n| 1 |  | 2 |\n"
    (told,) = found.left_out
    assert told.startswith("has 2 hidden sheets, 1 hidden rows, 1 hidden columns left out; show")


def test_a_workbook_of_hidden_sheets_says_why_it_is_empty(tmp_path: Path) -> None:
    def hide(book: Any) -> None:
        book["Gone"].sheet_state = "hidden"

    path = tmp_path / "a.xlsx"
    path.write_bytes(sheets(hide, Gone=[("unseen",)], Seen=[]))

    with pytest.raises(Unreadable) as refused:
        read_source(path, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet")
    assert refused.value.reason == (
        "is empty; it has 1 hidden sheets left out; show them to have them indexed"
    )


def test_a_run_warns_of_what_it_left_out_when_it_writes_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.html").write_text("<p>seen</p><p hidden>unseen</p>")
    small = SmallIndex(folder)

    first, second = small.index(), small.index()

    assert first.warnings == [f"a.html {HIDDEN_ELEMENT}"]
    assert (second.warnings, second.unchanged) == ([], 1)


def test_hidden_slides_and_shapes_are_left_out_and_counted() -> None:
    def hide(document: Any) -> None:
        document.slides[1].element.set("show", "0")
        body = document.slides[0].placeholders[1]
        body.element.nvSpPr.cNvPr.set("hidden", "1")

    slides = pptx(("One", "unseen"), ("unseen", "unseen"), ("", "Three"))
    found = pptx_to_markdown(changed("pptx", slides, hide))

    assert found.text == "## One\n\n## Slide 3\n\nThree\n"
    assert found.metadata == {"pages": 3}
    assert found.left_out == (
        "has 1 hidden shapes, 1 hidden slides left out; show them to have them indexed",
    )


def test_a_presentation_that_hides_nothing_leaves_out_nothing() -> None:
    assert pptx_to_markdown(pptx(("One", "Two"))).left_out == ()


def with_runs(body: str, styles: str = "", style: str = "") -> bytes:
    """
    Return a Word file of these runs in one paragraph of a style, and more styles.
    """
    with zipfile.ZipFile(io.BytesIO(docx((style, "XX")))) as read:
        files = {name: read.read(name).decode() for name in read.namelist()}
    document = files["word/document.xml"]
    files["word/document.xml"] = document.replace("<w:r><w:t>XX</w:t></w:r>", body)
    files["word/styles.xml"] = files["word/styles.xml"].replace(
        "</w:styles>", f"{styles}</w:styles>"
    )
    return archive(**files)


HIDING = "".join(
    f'<w:style w:type="{kind}" w:styleId="{name}"><w:rPr><w:vanish/></w:rPr></w:style>'
    for kind, name in (("character", "Off"), ("paragraph", "Gone"))
)


@pytest.mark.parametrize("properties", ["<w:vanish/>", '<w:rStyle w:val="Off"/>'])
def test_hidden_text_of_word_is_left_out_and_counted(properties: str) -> None:
    run = f"<w:r><w:rPr>{properties}</w:rPr><w:t>unseen</w:t></w:r>"
    empty = "<w:r><w:rPr><w:vanish/></w:rPr></w:r>"
    body = f"<w:r><w:t>seen</w:t></w:r>{run}<w:hyperlink>{run}{empty}</w:hyperlink>"

    found = docx_to_markdown(with_runs(body, HIDING))

    assert found.text == "seen\n"
    assert found.left_out == ("has 2 hidden pieces of text, which are left out",)


def test_a_run_may_show_what_its_paragraph_hides() -> None:
    body = (
        '<w:r><w:t>unseen</w:t></w:r><w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>seen</w:t></w:r>'
    )

    found = docx_to_markdown(with_runs(body, HIDING, "Gone"))

    assert found.text == "seen\n"
    assert found.left_out == ("has 1 hidden pieces of text, which are left out",)


def test_text_of_word_that_is_not_hidden_stays() -> None:
    run = '<w:r><w:rPr><w:vanish w:val="false"/></w:rPr><w:t>seen</w:t></w:r>'
    found = docx_to_markdown(with_runs(run))
    assert (found.text, found.left_out) == ("seen\n", ())
