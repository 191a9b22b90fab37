"""
Files and sources files that are wrong in ways nobody plans: a finding or a clear error, no crash.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assembler.errors import InvalidRequest
from indexer.index import IndexRequest, Summary, run_index
from indexer.read_source import Unreadable, read_source
from indexer.sources import find_sources, is_code
from tests.fake_index import FakeIndex
from tests.fakes import FakeEmbedder


def run(*paths: Path) -> Summary:
    request = IndexRequest("docs", paths)
    return run_index(request, FakeIndex(), FakeEmbedder(), lambda *_: None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# A\n\nText.\n")
    return docs


def test_a_file_name_that_is_no_text_is_a_finding_and_stops_nothing(folder: Path) -> None:
    with open(os.fsencode(folder) + b"/b\xff.md", "wb") as file:  # noqa: PTH123 - a name in bytes
        file.write(b"# B\n")

    summary = run(folder)

    assert summary.written == 1
    (finding,) = summary.unreadable
    assert finding.reason == "has a name that is not UTF-8"
    assert str(finding).encode()


@pytest.mark.parametrize("html", ["<div>" * 5000 + "x", "<ul><li>" * 2000 + "x"])
def test_html_that_is_nested_too_deep_is_a_finding_and_stops_nothing(
    folder: Path, html: str
) -> None:
    (folder / "deep.html").write_text(html)

    summary = run(folder)

    assert summary.written == 1
    assert [one.reason for one in summary.unreadable] == [
        "has HTML that is nested too deep to convert"
    ]


def test_the_title_in_the_header_of_an_html_article_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text("<article><header><h1>Title</h1></header><p>x</p><footer>y</footer></article>")

    assert read_source(path, "text/html").text == "# Title\n\nx\n\ny\n"


@pytest.mark.parametrize("encoding", ["utf-32", "utf-32-be"])
def test_utf_32_is_not_taken_for_text_with_nuls(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("a longer text".encode(encoding))

    with pytest.raises(Unreadable, match="is binary"):
        read_source(path, "text/plain")


def test_two_folders_with_a_file_of_one_name_do_not_replace_each_other(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "README.md").write_text(f"The text of {name}.\n")

    with pytest.raises(InvalidRequest, match=r"one/README\.md and .*two/README\.md are both"):
        run(tmp_path / "one", tmp_path / "two")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (r'{"path": "a.md", "title": "\ud800"}', "title has half of a surrogate pair"),
        (r'{"path": "a.md", "readers": ["\ud800"]}', "readers has half of a surrogate pair"),
        (r'{"path": "a.md", "metadata": {"\udc00": 1}}', "metadata has half of a surrogate pair"),
        ('{"path": "a.md", "metadata": {"n": NaN}}', "metadata 'n' is a number beyond 64 bits"),
        ('{"path": "a.md", "metadata": {"n": 1e999}}', "metadata 'n' is a number beyond 64 bits"),
        ('{"path": "a.md", "metadata": {"n": 9223372036854775808}}', "beyond 64 bits"),
        ('{"path": "a.md", "metadata": ' + "[" * 100_000 + "}", "is not JSON"),
    ],
)
def test_what_json_allows_and_an_index_cannot_hold_is_refused(
    folder: Path, line: str, problem: str
) -> None:
    sources = folder.parent / "sources.jsonl"
    sources.write_text("\n" + line + "\n")

    with pytest.raises(InvalidRequest, match=problem) as refused:
        find_sources([folder], sources_file=sources)

    assert f"{sources}:2: " in str(refused.value)


def test_a_line_ends_at_a_line_feed_only_and_a_path_is_taken_as_it_is_meant(folder: Path) -> None:
    sources = folder.parent / "sources.jsonl"
    sources.write_text('{"path": "./a.md", "title": "one\u2028two\u0085three"}\r\n')

    (found,), _ = find_sources([folder], sources_file=sources)

    assert found.title == "one\u2028two\u0085three"


def test_a_line_that_is_silent_on_readers_says_nothing_of_them(folder: Path) -> None:
    sources = folder.parent / "sources.jsonl"
    said = []
    for line in ('{"path": "a.md"}', '{"path": "a.md", "readers": null}'):
        sources.write_text(line)
        (found,), _ = find_sources([folder], sources_file=sources)
        said.append((found.names_readers, found.readers))

    assert said == [(False, None), (True, None)]


@pytest.mark.parametrize(
    ("media_type", "expected"),
    [
        ("text/x-code", True),
        ("text/x-python", True),
        ("text/x-rst", False),
        ("text/x-markdown", False),
        ("text/plain", False),
    ],
)
def test_media_types_of_code_are_cut_by_lines(media_type: str, expected: bool) -> None:
    assert is_code(media_type) is expected
