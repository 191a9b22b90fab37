"""
Files that are not text become source text, or say why they cannot.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from pathlib import Path

import pytest

from indexer.formats import converted
from indexer.formats.converted import Converted, NotConverted, library, table, zipped
from indexer.formats.html import html_to_markdown
from indexer.read_source import Unreadable, media_type_of, read_source
from tests.documents import archive, docx, epub, pdf, pptx, protected_pdf, xlsx

pytest.importorskip("pypdf")

FONT = "http://www.idpf.org/2008/embedding"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600


def read(folder: Path, name: str, content: bytes | str) -> Converted:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    media_type = media_type_of(path)
    assert media_type is not None
    return read_source(path, media_type)


def test_a_pdf_knows_where_its_pages_begin(tmp_path: Path) -> None:
    lines = ["It is paid at once.", "So it was.", "Nobody asks.", "It is so.", "All."]
    pages = [
        ["The Report", *(f"{line} {chr(96 + n)}" for line in lines), f"- {n} -"]
        for n in range(1, 5)
    ]
    found = read(tmp_path, "a.pdf", pdf(pages))

    assert found.text.count("The Report") == 1
    assert "- 1 -" not in found.text
    starts = found.metadata["page_starts"]
    assert found.metadata["pages"] == 4
    for number in range(1, 5):
        place = found.text.index(f"Nobody asks. {chr(96 + number)}")
        assert bisect_right(starts, place) == number


def test_a_pdf_that_opens_without_a_password_is_read(tmp_path: Path) -> None:
    content = protected_pdf(pdf([["Open to all"]]), "")
    assert "Open to all" in read(tmp_path, "a.pdf", content).text


def test_word_headings_and_tables_become_markdown(tmp_path: Path) -> None:
    content = docx(
        *(("Heading1", "Travel"), ("", "By train."), ("Heading2", "Limits")),
        rows=[("city", "limit"), ("Oslo", "180")],
    )
    text = read(tmp_path, "a.docx", content).text
    assert text.startswith("# Travel\n\nBy train.\n\n## Limits\n")
    assert "| Oslo | 180 |" in text


def test_slides_become_headed_parts(tmp_path: Path) -> None:
    content = pptx(
        *(("First", "One\nTwo"), ("", "Three")),
        notes="Say it slowly.",
        rows=[("a", "b"), ("1", "x|y")],
    )
    found = read(tmp_path, "a.pptx", content)
    assert found.text.startswith("## First\n\nOne\nTwo\n\n## Slide 2\n\nThree\n")
    assert "| 1 | x\\|y |" in found.text
    assert found.text.endswith("Notes: Say it slowly.\n")
    assert found.metadata == {"pages": 2}


def test_sheets_become_headed_tables(tmp_path: Path) -> None:
    content = xlsx(Limits=[("city", "limit"), ("Oslo", 180), (None, None), ("Bergen",)], Empty=[])
    assert read(tmp_path, "a.xlsx", content).text == (
        "# Limits\n\n| city | limit |\n| --- | --- |\n| Oslo | 180 |\n| Bergen |  |\n"
    )


def test_a_book_is_read_in_the_order_of_its_spine(tmp_path: Path) -> None:
    chapters = ("<h1>One</h1><p>a</p>", "<h1>Two</h1><p>b</p>")
    expected = "# One\n\na\n\n# Two\n\nb\n"
    assert read(tmp_path, "a.epub", epub(*chapters)).text == expected
    assert read(tmp_path, "b.epub", epub(*chapters, encryption=FONT)).text == expected


def test_rows_become_a_table_whatever_parts_them(tmp_path: Path) -> None:
    expected = "| city | note |\n| --- | --- |\n| Oslo | a, b \\| c |\n| Bergen |  |\n"
    assert read(tmp_path, "a.csv", 'city,note\nOslo,"a, b | c"\n\nBergen,\n').text == expected
    assert read(tmp_path, "b.csv", "city;note\r\nOslo;a, b | c\r\nBergen;\r\n").text == expected
    assert read(tmp_path, "c.csv", "alone\nb\n").text == "| alone |\n| --- |\n| b |\n"


def test_chats_become_turns(tmp_path: Path) -> None:
    rows = [
        {"role": "user", "content": "Where?", "timestamp": "10:32"},
        {"from": "gpt", "value": [{"type": "text", "text": "Here"}, "and there"]},
        {
            "title": "Second chat",
            "messages": [{"role": "user", "content": None}, {"speaker": "Ada", "text": 5}],
        },
        {"conversation": [{"user": "Bob", "message": {"content": "hi"}}]},
    ]
    text = "\n".join(json.dumps(one) for one in rows)
    assert read(tmp_path, "a.jsonl", text).text == (
        "[10:32] **user:** Where?\n\n**gpt:** Here\nand there\n\n# Second chat\n\n"
        "**Ada:** 5\n\n# Conversation\n\n**Bob:** hi\n"
    )


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.pdf", protected_pdf(pdf([["x"]]), "secret"), "is protected by a password; save it"),
        ("a.pdf", b"%PDF-1.4\nnothing", "is damaged or no PDF"),
        ("a.pdf", b"no pdf at all", "is damaged or no PDF"),
        ("a.pdf", pdf([[" "]]), "has no text; pages that are pictures"),
        ("a.pdf", b"", "is empty"),
        ("a.docx", OLE, "is protected by a password or of an older format"),
        ("a.docx", b"PK\x03\x04broken", "is damaged: no zip archive"),
        ("a.docx", archive(x="y"), "is damaged or no Word file"),
        ("a.docx", docx(("", " ")), "is empty"),
        ("a.pptx", archive(x="y"), "is damaged or no PowerPoint file"),
        ("a.xlsx", archive(x="y"), "is damaged or no Excel file"),
        ("a.xlsx", xlsx(Empty=[]), "is empty"),
        ("a.epub", archive(x="y"), "is damaged: META-INF/container.xml cannot be read"),
        ("a.epub", archive(**{"META-INF/container.xml": "<a/>"}), "it names no package"),
        ("a.epub", epub("<p>x</p>", encryption="aes"), "is protected; only books without"),
        ("a.csv", "a,b\n" + "x" * 10_000_001, "is no CSV: field larger"),
        ("a.jsonl", '{"role": "user"', "line 1 is not JSON"),
        ("a.jsonl", '\n{"role": "user"}\n', "line 2 is no turn of a chat: it needs one of role"),
        ("a.jsonl", '{"messages": ["x"]}', "line 1 is no turn of a chat"),
        ("a.jsonl", "[1]", "line 1 is no turn of a chat"),
        ("a.jsonl", "\n\n", "is empty"),
    ],
)
def test_what_cannot_be_read_says_why(
    tmp_path: Path, name: str, content: bytes | str, reason: str
) -> None:
    with pytest.raises(Unreadable) as refused:
        read(tmp_path, name, content)
    assert reason in refused.value.reason


def test_archives_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    content = archive(a="x" * 1000)
    zipped(content).close()
    monkeypatch.setattr(converted, "MOST_UNPACKED", 999)
    with pytest.raises(NotConverted, match="unpacks to 1000 bytes; at most 999"):
        zipped(content)


def test_a_locked_archive_is_not_opened() -> None:
    content = bytearray(archive(a="x"))
    content[content.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(NotConverted, match="protected by a password"):
        zipped(bytes(content))


def test_a_missing_library_is_named_with_its_remedy() -> None:
    with pytest.raises(NotConverted, match=r"needs nowhere_to_be_found.*context-assembler\[form"):
        library("nowhere_to_be_found")
    assert library("json") is json


def test_a_table_has_as_many_cells_in_every_row() -> None:
    assert table([]) == ""
    assert table([["a"], ["b", "c\nd"]]) == "| a |  |\n| --- | --- |\n| b | c d |\n"


def test_html_leaves_out_the_site_and_keeps_the_page(tmp_path: Path) -> None:
    html = (
        "<body><header>Logo</header><div role='navigation'>Menu</div><aside>Ads</aside>"
        "<header><h1>Title</h1></header><article><p>Text<a href='#t'>¶</a></p>"
        "<aside>A note.</aside></article><footer>Legal</footer></body>"
    )
    found = read(tmp_path, "a.html", html)
    assert found.text == "# Title\n\nText\n\nA note.\n"
    assert found.left_out == ("has 1 words beside its main part, which are left out",)


@pytest.mark.parametrize(
    ("html", "text", "words"),
    [
        ("<title>T</title><p>Not yet</p><main><h2>In</h2>Text</main>now", "## In\n\nText\n", 3),
        ("<body><nav>N</nav><main>In</main><footer>F</footer><script>s</script>", "In\n", 0),
        ("<body>a<main>In</main><aside>b<div role=complementary>c d</div></aside>", "In\n", 4),
        ("<main>One</main><main>Two</main>", "One\n\nTwo\n", 0),
        ("<body><p>a</p><aside>b</aside><dialog open>c</dialog>", "a\n\nb\n\nc\n", 0),
        ("<p>a</p><aside><article>b</article></aside>", "a\n\nb\n", 0),
        (
            "<article>a<aside>b</aside></article><aside><article>c d</article></aside>",
            "a\n\nb\n",
            2,
        ),
        ("<main>a<aside>b</aside><dialog open>c</dialog>d</main>", "a\n\nb\n\nc\n\nd\n", 0),
        ("<details><summary>a</summary>b</details>c", "a\n\nb\n\nc\n", 0),
        ("<h2>a<details>b</details>c</h2><form> </form>", "## a b c\n", 0),
        ("<select><optgroup><option>a<option>b<optgroup><option>c</select>", "a\nb\nc\n", 0),
    ],
)
def test_words_beside_the_main_part_of_a_page_are_counted(html: str, text: str, words: int) -> None:
    found = html_to_markdown(html)
    told = (f"has {words} words beside its main part, which are left out",) if words else ()
    assert (found.text, found.left_out) == (text, told)


def test_a_page_whose_main_part_is_empty_is_read_whole(tmp_path: Path) -> None:
    page = read(tmp_path, "a.html", "<p>All of it</p><main></main>")
    assert page.text == "All of it\n"
