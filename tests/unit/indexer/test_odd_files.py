"""
Odd files of every format in one run: what can be read is there whole, and all else is named.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from assembler.model import FOREVER
from indexer.index import run_index
from indexer.request import IndexRequest
from tests.documents import archive, docx, epub, pdf, pptx, protected_pdf, xlsx
from tests.fakes import FakeEmbedder, FakeIndex
from tests.small_index import SmallIndex

pytest.importorskip("pypdf")
pytest.importorskip("tree_sitter")

CODE = "def f():\n    return 1\n" * 30
GOOD: dict[str, bytes | str] = {
    "plain.txt": "One sentence. And another.\n",
    "crlf.txt": "One\r\ntwo\r\n",
    "bom.txt": b"\xef\xbb\xbfWith a mark.",
    "wide.txt": "Sixteen bits.".encode("utf-16"),
    "mixed.md": "# Mixed\n\nEnglish, Deutsch, polski, русский, 日本語, हिन्दी.\n",
    "rtl.md": "# שלום\n\nمرحبا بالعالم. שלום עולם.\n",
    "headings.md": "".join(f"{'#' * (n % 6 + 1)} Heading {n}\n" for n in range(40)),
    "no-headings.md": "Only text. " * 300,
    "front.md": "---\ntitle: x\n---\n# A\n\nText.\n",
    "line.txt": "x" * 30_000,
    "words.txt": "word " * 8_000,
    "table.md": "| a | b |\n| - | - |\n" + "| 1 | 2 |\n" * 3_000,
    "list.md": "As follows:\n\n" + "- item\n" * 500,
    "fence.md": "```py\n" + "x = 1\n" * 400 + "```\n",
    "emoji.txt": "👩‍👩‍👧" * 400,
    "marks.txt": "o" + "\u0301" * 900,
    "nul.txt": b"one \x00 zero" + b" more words" * 60,
    "page.html": "<nav>Menu</nav><h1>Page</h1><p>Text</p>",
    "rest.rst": "Title\n=====\n\nText of reStructuredText.\n",
    "code.py": CODE,
    "code.rs": "fn main() {}\n" * 50,
    "broken.py": "def f(:\n  ((((\n",
    "data.json": '{"a": [1, 2, 3]}',
    "rows.csv": "a,b\n1,2\n",
    "tabs.txt": "\tindented\n\n\t\ttwice\n",
    "chat.jsonl": '{"role": "user", "content": "Where?"}\n{"role": "bot", "content": "Here."}\n'
    * 3,
    "pages.pdf": pdf([["First page"], [], ["Third page"]]),
    "word.docx": docx(("Heading1", "Title"), ("", "Text.")),
    "slides.pptx": pptx(("One", "Text")),
    "sheet.xlsx": xlsx(A=[("a", "b"), (1, 2)]),
    "book.epub": epub("<h1>One</h1><p>Text</p>"),
}
BAD: dict[str, tuple[bytes | str, str]] = {
    "empty.txt": ("", "is empty"),
    "blank.md": (" \n\t\n", "is empty"),
    "latin.txt": (b"caf\xe9 au lait", "is not utf-8 at byte 3"),
    "binary.txt": (b"GIF\x00\x01" * 90, "is binary"),
    "deep.html": ("<div>" * 5000, "nested too deep"),
    "locked.pdf": (protected_pdf(pdf([["x"]]), "secret"), "protected by a password"),
    "damaged.pdf": (b"%PDF-1.7 and no more", "is damaged or no PDF"),
    "scan.pdf": (pdf([[]]), "has no text"),
    "empty.pdf": (b"", "is empty"),
    "locked.docx": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "protected by a password or of an older"),
    "damaged.docx": (docx(("", "x"))[:200], "is damaged"),
    "damaged.pptx": (archive(a="b"), "is damaged or no PowerPoint"),
    "damaged.xlsx": (b"not a workbook", "is damaged"),
    "empty.xlsx": (xlsx(A=[]), "is empty"),
    "damaged.epub": (archive(a="b"), "is damaged"),
    "locked.epub": (epub("<p>x</p>", encryption="aes"), "is protected"),
    "log.jsonl": ('{"level": "info"}\n', "line 1 is no turn of a chat"),
    "half.jsonl": ('{"role": "user", "content": "a"}\n{"role"', "line 2 is not JSON"),
    "photo.png": (b"\x89PNG", "has no suffix of a text format"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, content in (*GOOD.items(), *((name, one) for name, (one, _) in BAD.items())):
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


@pytest.mark.parametrize("strategy", ["structure", "auto", "sliding"])
def test_fifty_odd_files_are_indexed_or_named(folder: Path, strategy: str) -> None:
    assert len(GOOD) + len(BAD) == 50
    store = FakeIndex()
    request = IndexRequest("docs", (folder,), strategy=strategy)

    summary = run_index(request, store, FakeEmbedder(), lambda *_: None)

    (listing,) = store.listings("")
    rows = {row.source_id: row for row in listing.ledger.rows if row.to_rev == FOREVER}
    assert set(rows) == set(GOOD)
    assert all(row.chunks for row in rows.values())
    named = {Path(one.path).name: one.reason for one in summary.unreadable}
    assert set(named) == set(BAD)
    for name, (_, reason) in BAD.items():
        assert reason in named[name], name
    if strategy == "auto":
        assert summary.reasons["code: syntax tree"] == 3
        assert summary.reasons["conversation: turns of speakers"] == 1


async def test_a_citation_of_a_pdf_can_name_the_page(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    small = SmallIndex(folder)
    (folder / "a.pdf").write_bytes(pdf([["Trains are slow."], ["Refunds of tickets are quick."]]))
    small.index()

    reply = await small.ask("Refunds tickets", metadata_fields=("page_starts", "pages"))

    (passage,) = reply.passages
    facts = dict(passage.sources[0].metadata)
    assert facts["pages"] == 2
    _, second = facts["page_starts"]
    place = passage.sources[0].spans[0].source
    assert place.start <= second < place.end
