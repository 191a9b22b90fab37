"""
Odd files: those that can be indexed, with what is said of them, and those that cannot, with why.
"""

from __future__ import annotations

import io
import os
import struct
import zipfile
import zlib
from pathlib import Path

import pytest

from tests.documents import archive, docx, epub, pdf, pptx, protected_pdf, xlsx

pytest.importorskip("pypdf")

CODE = "def f():\n    return 1\n" * 30
TABLE = "| a | b |\n| - | - |\n" + "| one thing | another |\n" * 130_000
"""Of 3 MB."""

LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "ha">'
    + "".join(
        f'<!ENTITY {one} "{"".join(["&", before, ";"] * 10)}">'
        for before, one in zip("abcdefghi", "bcdefghij", strict=True)
    )
    + "]>"
)
"""Entities of entities: a short text that becomes thousands of millions of letters."""


def with_laughs(document: bytes, part: str) -> bytes:
    """
    Return an Office file whose one part has the text XX replaced by entities of entities.
    """
    files: dict[str, bytes] = {}
    with zipfile.ZipFile(io.BytesIO(document)) as read:
        for name in read.namelist():
            files[name] = read.read(name)
    _, sign, body = files[part].rpartition(b"?>")
    files[part] = b'<?xml version="1.0"?>' + LAUGHS.encode() + body.replace(b"XX", b"&j;")
    assert b"&j;" in files[part], sign
    return archive(**files)


def claiming(size: int, content: bytes) -> bytes:
    """
    Return an archive whose first part claims to unpack to so many bytes.
    """
    made = bytearray(content)
    for place in (22, made.index(b"PK\x01\x02") + 24):
        made[place : place + 4] = struct.pack("<I", size)
    return bytes(made)


def pdf_bomb(size: int) -> bytes:
    """
    Return a PDF whose page unpacks to so many bytes.
    """
    page = zlib.compress(b"BT /F1 12 Tf (x) Tj ET " + b" " * size, 9)
    made = pdf([["x"]])
    start = made.index(b"<< /Length")
    end = made.index(b"endstream", start)
    head = b"<< /Length %d /Filter /FlateDecode >>\nstream\n" % len(page)
    return made[:start] + head + page + b"\n" + made[end:]


GOOD: dict[str, bytes | str] = {
    "plain.txt": "One sentence. And another.\n",
    "crlf.txt": "One\r\ntwo\r\n",
    "cr.txt": "One\rtwo\r",
    "bom.txt": b"\xef\xbb\xbfWith a mark.",
    "two-boms.txt": b"\xef\xbb\xbf\xef\xbb\xbfWith two marks.",
    "wide.txt": "Sixteen bits.".encode("utf-16"),
    "wide-be.txt": b"\xfe\xff" + "Sixteen bits, the other way.".encode("utf-16-be"),
    "mixed.md": "# Mixed\n\nEnglish, Deutsch, polski, русский, 日本語, हिन्दी.\n",
    "rtl.md": "# שלום\n\nمرحبا بالعالم. שלום עולם.\n\u202eoverride\u202c\n",
    "headings.md": "".join(f"{'#' * (n % 6 + 1)} Heading {n}\n" for n in range(40)),
    "no-headings.md": "Only text. " * 300,
    "front.md": "---\ntitle: x\n---\n# A\n\nText.\n",
    "line.txt": "x" * 30_000,
    "words.txt": "word " * 8_000,
    "table.md": "| a | b |\n| - | - |\n" + "| 1 | 2 |\n" * 3_000,
    "list.md": "As follows:\n\n" + "- item\n" * 500,
    "lists.md": "".join("  " * depth + "- x\n" for depth in range(200)),
    "quotes.md": "> " * 2_000 + "deep\n",
    "brackets.md": "[" * 5_000 + " x\n",
    "fence.md": "```py\n" + "x = 1\n" * 400 + "```\n",
    "open-fence.md": "```\nnever closed\n",
    "emoji.txt": "👩‍👩‍👧" * 400,
    "marks.txt": "o" + "\u0301" * 900,
    "nul.txt": b"one \x00 zero" + b" more words" * 60,
    "lost.txt": "caf\ufffd au lait",
    "page.html": "<nav>Menu</nav><h1>Page</h1><p>Text</p>",
    "bare.html": "no tags at all",
    "attributes.html": "<p " + "a=b " * 5_000 + ">x</p>",
    "entities.html": "&#xD800;&#0;<p>x &#x1F600;</p>",
    "rest.rst": "Title\n=====\n\nText of reStructuredText.\n",
    "code.py": CODE,
    "code.rs": "fn main() {}\n" * 50,
    "broken.py": "def f(:\n  ((((\n",
    "deep.py": "(" * 3_000 + ")" * 3_000,
    "data.json": '{"a": [1, 2, 3]}',
    "rows.csv": "a,b\n1,2\n",
    "prose.csv": '# Title\n\ntext, and "more',
    "tabs.txt": "\tindented\n\n\t\ttwice\n",
    "chat.jsonl": '{"role": "user", "content": "Where?"}\n{"role": "bot", "content": "Here."}\n'
    * 3,
    "half-pair.jsonl": '{"role": "user", "content": "half \\ud800 of a pair, 😀 whole"}\n',
    "pages.pdf": pdf([["First page"], [], ["Third page"]]),
    "word.docx": docx(("Heading1", "Title"), ("", "Text.")),
    "slides.pptx": pptx(("One", "Text")),
    "sheet.xlsx": xlsx(A=[("a", "b"), (1, 2)]),
    "book.epub": epub("<h1>One</h1><p>Text</p>"),
    "UPPER.TXT": "Loud.",
    "a b [c] (d) #e %20 'f' \"g\" ü 日本 👍.txt": "A name with everything.",
    "[/red].txt": "A name that looks like markup.",
    "new\nline.txt": "A name of two lines.",
    "-rf.txt": "A name like an option.",
}
SAID: dict[str, str] = {
    "headings.md": "has headings and no text below any of them",
    "line.txt": "has a line of 30000 characters",
    "words.txt": "has a line of 40000 characters",
    "nul.txt": "holds 1 NUL, which are kept",
    "lost.txt": "holds 1 U+FFFD",
    "entities.html": "holds 2 U+FFFD",
    "half-pair.jsonl": "holds 1 U+FFFD",
}
BAD: dict[str, tuple[bytes | str, str]] = {
    "empty.txt": ("", "is empty"),
    "blank.md": (" \n\t\n", "is empty"),
    "unseen.txt": ("\ufeff\ufeff\u200b\x00", "is empty"),
    "latin.txt": (b"caf\xe9 au lait", "is not utf-8 at byte 3"),
    "half-pair.txt": (b"\xff\xfea\x00\x00\xd8b\x00", "is not utf-16 at byte"),
    "cesu.txt": (b"half \xed\xa0\x80 of a pair", "is not utf-8 at byte 5"),
    "binary.txt": (b"GIF\x00\x01" * 90, "is binary"),
    "deep.html": ("<div>" * 5000, "nested too deep"),
    "locked.pdf": (protected_pdf(pdf([["x"]]), "secret"), "protected by a password"),
    "damaged.pdf": (b"%PDF-1.7 and no more", "is damaged or no PDF"),
    "text.pdf": ("# No PDF\n", "is damaged or no PDF"),
    "scan.pdf": (pdf([[]]), "has no text"),
    "empty.pdf": (b"", "is empty"),
    "bomb.pdf": (pdf_bomb(80_000_000), "Limit reached while decompressing"),
    "pdf.txt": (pdf([["x"]]), "is a PDF by its content"),
    "zip.md": (docx(("", "x")), "is a zip or Office file by its content"),
    "word.html": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is an older Office file by its content"),
    "pdf.docx": (pdf([["x"]]), "no zip archive"),
    "locked.docx": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "protected by a password or of an older"),
    "damaged.docx": (docx(("", "x"))[:200], "is damaged"),
    "laughs.docx": (with_laughs(docx(("", "XX")), "word/document.xml"), "is damaged or no Word"),
    "bomb.docx": (claiming(600_000_000, docx(("", "x"))), "bytes; at most 500000000 are read"),
    "damaged.pptx": (archive(a="b"), "is damaged or no PowerPoint"),
    "laughs.pptx": (
        with_laughs(pptx(("T", "XX")), "ppt/slides/slide1.xml"),
        "is damaged or no PowerPoint",
    ),
    "damaged.xlsx": (b"not a workbook", "is damaged"),
    "laughs.xlsx": (
        with_laughs(xlsx(A=[("XX",)]), "xl/worksheets/sheet1.xml"),
        "is damaged or no Ex",
    ),
    "empty.xlsx": (xlsx(A=[]), "is empty"),
    "damaged.epub": (archive(a="b"), "is damaged"),
    "lying.epub": (
        claiming(10, archive(**{"META-INF/container.xml": "x" * 1_000_000})),
        "META-INF/container.xml cannot be read",
    ),
    "locked.epub": (epub("<p>x</p>", encryption="aes"), "is protected"),
    "log.jsonl": ('{"level": "info"}\n', "line 1 is no turn of a chat"),
    "half.jsonl": ('{"role": "user", "content": "a"}\n{"role"', "line 2 is not JSON"),
    "deep.jsonl": ('{"role": "a", "content": ' + "[" * 100_000, "line 1 is not JSON"),
    "photo.png": (b"\x89PNG", "has no suffix of a text format"),
    "huge.txt": (b"x" * 5_000_000, "has 5000000 bytes; at most 4000000 are read"),
}
PLACES: dict[str, str] = {
    "circle": "is a link to a folder and not followed",
    "itself.md": "is a link that leads nowhere",
    "gone.md": "is a link that leads nowhere",
    "pipe.md": "is no file but a pipe, socket or device",
    "name\\xff.md": "has a name that is not UTF-8",
}
MOST_BYTES = 4_000_000


def write_odd_files(folder: Path) -> None:
    """
    Write all of them, and what is no file at all.
    """
    for name, content in (*GOOD.items(), *((name, one) for name, (one, _) in BAD.items())):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    inner = folder / "inner"
    inner.mkdir()
    (inner / "circle").symlink_to(folder, target_is_directory=True)
    (folder / "itself.md").symlink_to(folder / "itself.md")
    (folder / "gone.md").symlink_to(folder / "nowhere.md")
    os.mkfifo(folder / "pipe.md")
    (Path(os.fsdecode(os.fsencode(folder) + b"/name\xff.md"))).write_text("A name that is no text.")
