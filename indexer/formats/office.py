"""
Word, PowerPoint and Excel files to Markdown.
"""

from __future__ import annotations

import io
import warnings
from typing import Any

from indexer.formats.converted import Converted, NotConverted, library, table, zipped
from indexer.formats.html import html_to_markdown

MOST_CELLS = 2_000_000


def docx_to_markdown(content: bytes) -> Converted:
    """
    Return headings, paragraphs, lists and tables of a Word file.

    Raises:
        NotConverted: It is protected or damaged.
    """
    zipped(content).close()
    mammoth = library("mammoth")
    try:
        html = mammoth.convert_to_html(
            io.BytesIO(content), convert_image=mammoth.images.img_element(lambda _: {})
        ).value
    except Exception as error:
        raise _damaged("Word", error) from error
    return html_to_markdown(f"<body>{html}</body>")


def pptx_to_markdown(content: bytes) -> Converted:
    """
    Return a headed part per slide: its texts, tables and notes.

    Raises:
        NotConverted: It is protected or damaged.
    """
    zipped(content).close()
    pptx = library("pptx")
    try:
        slides = [
            _slide(number, slide)
            for number, slide in enumerate(pptx.Presentation(io.BytesIO(content)).slides, start=1)
        ]
    except Exception as error:
        raise _damaged("PowerPoint", error) from error
    return Converted("\n\n".join(slides) + "\n", {"pages": len(slides)})


def _slide(number: int, slide: Any) -> str:
    title = slide.shapes.title
    name = " ".join(title.text_frame.text.split()) if title is not None else ""
    parts = [f"## {name or f'Slide {number}'}"]
    parts += _shapes([one for one in slide.shapes if title is None or one != title])
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None:
        parts += [f"Notes: {notes.text.strip()}"] if notes.text.strip() else []
    return "\n\n".join(parts)


def _shapes(shapes: Any) -> list[str]:
    found: list[str] = []
    for shape in shapes:
        if hasattr(shape, "shapes"):
            found += _shapes(shape.shapes)
        elif getattr(shape, "has_table", False):
            rows = [[cell.text for cell in row.cells] for row in shape.table.rows]
            found.append(table(rows).rstrip("\n"))
        elif shape.has_text_frame:
            lines = [one.text.replace("\v", "\n").strip() for one in shape.text_frame.paragraphs]
            text = "\n".join(line for line in lines if line)
            found += [text] if text else []
    return found


def xlsx_to_markdown(content: bytes) -> Converted:
    """
    Return a headed table per sheet; formulas are shown by their last value.

    Raises:
        NotConverted: It is protected or damaged, or has too many cells.
    """
    zipped(content).close()
    openpyxl = library("openpyxl")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of parts that have no text
            book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
            sheets = [(sheet.title, _rows(sheet)) for sheet in book.worksheets]
            book.close()
    except NotConverted:
        raise
    except Exception as error:
        raise _damaged("Excel", error) from error
    return Converted(
        "\n".join(f"# {' '.join(name.split())}\n\n{table(rows)}" for name, rows in sheets if rows)
    )


def _rows(sheet: Any) -> list[list[str]]:
    rows: list[list[str]] = []
    cells = 0
    for row in sheet.iter_rows(values_only=True):
        cells += len(row)
        if cells > MOST_CELLS:
            raise NotConverted(f"has a sheet of more than {MOST_CELLS} cells; split it")
        filled = _filled(["" if one is None else str(one) for one in row])
        rows += [filled] if filled else []
    return rows


def _filled(row: list[str]) -> list[str]:
    """
    Return a row without the empty cells at its end.
    """
    while row and not row[-1].strip():
        row.pop()
    return row


def _damaged(kind: str, error: Exception) -> NotConverted:
    return NotConverted(f"is damaged or no {kind} file: {error or type(error).__name__}")
