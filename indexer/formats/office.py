"""
Word and PowerPoint files to Markdown.
"""

from __future__ import annotations

import io
from collections import Counter
from typing import Any

from indexer.formats.charts import chart_to_table
from indexer.formats.converted import (
    Converted,
    NotConverted,
    counted,
    damaged,
    library,
    table,
    zipped,
)
from indexer.formats.equations import with_marks
from indexer.formats.html import html_to_markdown
from indexer.formats.word_text import word_text

HIDDEN = ("hidden slides", "hidden shapes")
NEWER = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
"""What stands around shapes that not every program knows; the library passes them over."""
AROUND_SHAPES = ("}spTree", "}grpSp")


def docx_to_markdown(content: bytes) -> Converted:
    """
    Return headings, paragraphs, lists and tables of a Word file. Hidden text, comments,
    charts, and the headers and footers of its pages are left out.

    Raises:
        NotConverted: It is protected or damaged.
    """
    mammoth = library("mammoth")
    try:
        shown, counts = word_text(content)
        html = mammoth.convert_to_html(
            io.BytesIO(shown), convert_image=mammoth.images.img_element(lambda _: {})
        ).value
    except NotConverted:
        raise
    except Exception as error:
        raise damaged("Word", error) from error
    found = html_to_markdown(f"<body>{html}</body>")
    told = counted(counts)
    return Converted(
        with_marks(found.text), left_out=(f"has {told}, which are left out",) if told else ()
    )


def pptx_to_markdown(content: bytes) -> Converted:
    """
    Return a headed part per slide: its texts, tables, charts as tables, and notes. Hidden slides
    and shapes, diagrams and embedded objects are left out.

    Raises:
        NotConverted: It is protected or damaged.
    """
    zipped(content).close()
    pptx = library("pptx")
    counts: Counter[str] = Counter()
    try:
        slides = list(pptx.Presentation(io.BytesIO(content)).slides)
        shown = [
            _slide(number, slide, counts)
            for number, slide in enumerate(slides, start=1)
            if not _is_hidden(slide, counts)
        ]
    except Exception as error:
        raise damaged("PowerPoint", error) from error
    kinds = sorted(counts)
    hidden = counted({kind: counts[kind] for kind in kinds if kind in HIDDEN})
    others = counted({kind: counts[kind] for kind in kinds if kind not in HIDDEN})
    left_out = (
        *([f"has {hidden} left out; show them to have them indexed"] if hidden else []),
        *([f"has {others} left out"] if others else []),
    )
    text = "\n\n".join(shown) + "\n"
    return Converted(text, {"pages": len(slides)}, left_out)


def _is_hidden(slide: Any, counts: Counter[str]) -> bool:
    is_hidden = slide.element.get("show") in ("0", "false")
    counts[HIDDEN[0]] += is_hidden
    return is_hidden


def _slide(number: int, slide: Any, counts: Counter[str]) -> str:
    title = slide.shapes.title
    name = " ".join(title.text_frame.text.split()) if title is not None else ""
    parts = [f"## {name or f'Slide {number}'}"]
    parts += _shapes([one for one in slide.shapes if title is None or one != title], counts)
    around = [one.getparent().tag for one in slide.element.iter(NEWER)]
    counts["objects of newer programs"] += sum(tag.endswith(AROUND_SHAPES) for tag in around)
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None:
        parts += [f"Notes: {notes.text.strip()}"] if notes.text.strip() else []
    return "\n\n".join(parts)


def _shapes(shapes: Any, counts: Counter[str]) -> list[str]:
    found: list[str] = []
    for shape in shapes:
        if shape.element.xpath("./*[1]/p:cNvPr[@hidden='1' or @hidden='true']"):
            counts[HIDDEN[1]] += 1
        elif hasattr(shape, "shapes"):
            found += _shapes(shape.shapes, counts)
        elif getattr(shape, "has_table", False):
            rows = [[cell.text for cell in row.cells] for row in shape.table.rows]
            found.append(table(rows).rstrip("\n"))
        elif getattr(shape, "has_chart", False):
            chart = _chart(shape)
            counts["charts without values"] += not chart
            found += [chart] if chart else []
        elif shape.element.tag.endswith("}graphicFrame"):
            uri = shape.element.xpath("string(.//a:graphicData/@uri)")
            counts["diagrams" if uri.endswith("/diagram") else "embedded objects"] += 1
        elif shape.has_text_frame:
            lines = [one.text.replace("\v", "\n").strip() for one in shape.text_frame.paragraphs]
            text = "\n".join(line for line in lines if line)
            found += [text] if text else []
    return found


def _chart(shape: Any) -> str:
    try:
        return chart_to_table(shape.chart.element)
    except (KeyError, ValueError):  # its part is missing, or has no numbers
        return ""
