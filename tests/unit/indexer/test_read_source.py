from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from indexer.read_source import CODE, MOST_BYTES, Unreadable, media_type_of, read_source


def read(folder: Path, content: bytes, media_type: str = "text/plain") -> str:
    path = folder / "a.txt"
    path.write_bytes(content)
    return read_source(path, media_type).text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"one\r\ntwo\rthree\n", "one\ntwo\nthree\n"),
        (b"\xef\xbb\xbfone", "one"),
        ("größer".encode("utf-16"), "größer"),
        (b"  kept  \n\n\n", "  kept  \n\n\n"),
        (b"<|endoftext|>", "<|endoftext|>"),
        ("שלום \u200f👩‍👩‍👧".encode(), "שלום \u200f👩‍👩‍👧"),
        (b"one\n\n\x0cpage two", "one\n\n\x0cpage two"),
    ],
)
def test_line_ends_and_the_byte_order_mark_change_and_nothing_else(
    tmp_path: Path, content: bytes, text: str
) -> None:
    assert read(tmp_path, content) == text


def test_decomposed_letters_stay_decomposed(tmp_path: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "Müllabfuhr für Ämter")
    assert read(tmp_path, decomposed.encode()) == decomposed


def test_a_lone_nul_among_text_is_kept(tmp_path: Path) -> None:
    assert read(tmp_path, b"a short text\x00 with one NUL") == "a short text\x00 with one NUL"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b" \n\t\r\n", "is empty"),
        (b"\xef\xbb\xbf\n", "is empty"),
        ("\u00a0\u2003\u3000\n".encode(), "is empty"),
        (b"\x00\x00\x00\x01\x02\x00\x00", "binary"),
        (b"a caf\xe9", "not utf-8 at byte 5"),
        (b"a\xed\xa0\x80", "not utf-8 at byte 1"),
        (b"\xff\xfea\x00\x00\xd8", "not utf-16"),
    ],
)
def test_what_is_no_text_is_refused_with_the_reason(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    with pytest.raises(Unreadable, match=reason) as refused:
        read(tmp_path, content)
    assert refused.value.path.endswith("a.txt")


def test_a_file_over_the_limit_is_not_even_opened(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    with path.open("wb") as file:
        file.truncate(2 * MOST_BYTES)
    with pytest.raises(Unreadable, match="100000000 bytes; at most 50000000"):
        read_source(path, "text/plain")
    with pytest.raises(Unreadable, match="at most 3 are read"):
        read_source(_with(tmp_path, "four"), "text/plain", most_bytes=3)
    assert read_source(_with(tmp_path, "four"), "text/plain", most_bytes=4).text == "four"


def _with(folder: Path, text: str) -> Path:
    path = folder / "b.txt"
    path.write_text(text)
    return path


def test_a_folder_or_a_missing_file_is_a_finding_too(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="directory"):
        read_source(tmp_path, "text/plain")
    with pytest.raises(Unreadable, match="No such file"):
        read_source(tmp_path / "gone.txt", "text/plain")


def test_html_becomes_markdown_without_what_is_not_read(tmp_path: Path) -> None:
    html = (
        "<html><head><title>T</title><style>p{}</style></head><body><nav>Menu</nav>"
        "<h1>Travel</h1><p>By <b>train</b>&nbsp;&amp; bus &#xD800;.</p><script>x()</script>"
        "<table><tr><th>city</th><th>limit</th></tr><tr><td>Oslo</td><td>180</td></tr></table>"
        "<pre>a\n  b</pre></body></html>"
    )
    text = read(tmp_path, html.encode(), "text/html")
    assert text.startswith("# Travel\n")
    assert "**train**" in text
    assert "| Oslo | 180 |" in text
    assert "a\n  b" in text
    assert not any(word in text for word in ("Menu", "x()", "p{}"))
    text.encode()


def test_html_without_text_is_empty(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="empty"):
        read(tmp_path, b"<html><script>only()</script></html>", "text/html")


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("a.md", "text/markdown"),
        ("A.HTML", "text/html"),
        ("a.txt", "text/plain"),
        ("a.rs", CODE),
        ("a.png", None),
        ("README", None),
    ],
)
def test_the_suffix_says_the_media_type(name: str, media_type: str | None) -> None:
    assert media_type_of(Path(name)) == media_type
