"""
Small real files of every format, made here.
"""

from __future__ import annotations

import importlib
import io
import zipfile
from collections.abc import Sequence


def pdf(pages: Sequence[Sequence[str]]) -> bytes:
    """
    Return a PDF whose pages have these lines.
    """
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    resources = "/MediaBox [0 0 600 800] /Resources << /Font << /F1 3 0 R >> >>"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, lines in enumerate(pages):
        shown = " ".join(f"({line}) Tj 0 -20 Td" for line in lines)
        stream = f"BT /F1 12 Tf 50 750 Td {shown} ET"
        objects += [
            f"<< /Type /Page /Parent 2 0 R {resources} /Contents {5 + 2 * number} 0 R >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    out = b"%PDF-1.4\n"
    places = []
    for number, one in enumerate(objects, start=1):
        places.append(len(out))
        out += f"{number} 0 obj\n{one}\nendobj\n".encode()
    start = len(out)
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    out += (
        f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
        f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    ).encode()
    return out


def protected_pdf(content: bytes, password: str, owner: str = "owner") -> bytes:
    """
    Return a PDF that a password protects.
    """
    pypdf = importlib.import_module("pypdf")
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(content))
    writer.encrypt(password, owner, algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def archive(**files: str | bytes) -> bytes:
    """
    Return a zip archive of these files.
    """
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in files.items():
            made.writestr(name, text)
    return out.getvalue()


WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def docx(*paragraphs: tuple[str, str], rows: Sequence[Sequence[str]] = ()) -> bytes:
    """
    Return a Word file of paragraphs (style, text) and a table.
    """
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="Heading{n}"><w:name w:val="heading {n}"/></w:style>'
        for n in (1, 2)
    )
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'
        for style, text in paragraphs
    )
    cells = "".join(
        "<w:tr>"
        + "".join(f"<w:tc><w:p><w:r><w:t>{cell}</w:t></w:r></w:p></w:tc>" for cell in row)
        + "</w:tr>"
        for row in rows
    )
    kinds = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    return archive(
        **{
            "[Content_Types].xml": (
                '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
                '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
                'relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
                f'<Override PartName="/word/document.xml" ContentType="{kinds}.document.main+xml"/>'
                f'<Override PartName="/word/styles.xml" ContentType="{kinds}.styles+xml"/></Types>'
            ),
            "_rels/.rels": (
                f'<Relationships xmlns="{RELATIONS}"><Relationship Id="r1" '
                f'Type="{OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>'
            ),
            "word/_rels/document.xml.rels": (
                f'<Relationships xmlns="{RELATIONS}"><Relationship Id="r1" '
                f'Type="{OFFICE}/styles" Target="styles.xml"/></Relationships>'
            ),
            "word/styles.xml": f'<w:styles xmlns:w="{WORD}">{styles}</w:styles>',
            "word/document.xml": (
                f'<w:document xmlns:w="{WORD}"><w:body>{body}'
                f"{f'<w:tbl>{cells}</w:tbl>' if cells else ''}</w:body></w:document>"
            ),
        }
    )


def pptx(*slides: tuple[str, str], notes: str = "", rows: Sequence[Sequence[str]] = ()) -> bytes:
    """
    Return a presentation of slides (title, text); notes and a table stand on the last.
    """
    library = importlib.import_module("pptx")
    made = library.Presentation()
    for title, text in slides:
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = text
    if notes:
        slide.notes_slide.notes_text_frame.text = notes
    if rows:
        shape = slide.shapes.add_table(len(rows), len(rows[0]), 0, 0, 999999, 999999)
        for at, row in enumerate(rows):
            for column, cell in enumerate(row):
                shape.table.cell(at, column).text = cell
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


def xlsx(**sheets: Sequence[Sequence[object]]) -> bytes:
    """
    Return a workbook of sheets by name.
    """
    made = importlib.import_module("openpyxl").Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


def epub(*chapters: str, encryption: str = "") -> bytes:
    """
    Return a book; the spine has the chapters in reverse order of their files.
    """
    numbers = range(len(chapters))
    items = "".join(
        f'<item id="c{n}" href="text/c%20{n}.xhtml" media-type="application/xhtml+xml"/>'
        for n in numbers
    )
    order = "".join(f'<itemref idref="c{n}"/>' for n in reversed(numbers))
    files = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container><rootfiles><rootfile full-path="in/book.opf"/>'
        "</rootfiles></container>",
        "in/book.opf": f"<package><manifest>{items}"
        f'<item id="css" href="a.css" media-type="text/css"/></manifest>'
        f'<spine><itemref idref="gone"/>{order}</spine></package>',
        **{
            f"in/text/c {number}.xhtml": f"<html><body>{chapter}</body></html>"
            for number, chapter in zip(numbers, reversed(chapters), strict=True)
        },
    }
    if encryption:
        files["META-INF/encryption.xml"] = (
            f'<encryption><enc:EncryptedData><enc:EncryptionMethod Algorithm="{encryption}"/>'
            "</enc:EncryptedData></encryption>"
        )
    return archive(**files)
