from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assembler.errors import InvalidRequest
from assembler.model import FieldType
from indexer.sources import filterable, find_sources


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("docs/b.md", "docs/a.txt", "docs/sub/c.py", "docs/.hidden/d.md", "docs/.e.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text")
    return tmp_path / "docs"


def told(folder: Path, *facts: Any) -> Path:
    path = folder.parent / "sources.jsonl"
    lines = [fact if isinstance(fact, str) else json.dumps(fact) for fact in facts]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_folders_are_searched_in_order_and_hidden_files_are_passed_over(folder: Path) -> None:
    hidden: list[str] = []
    found, skipped = find_sources([folder], hidden=hidden)
    assert [one.source_id for one in found] == ["a.txt", "b.md", "sub/c.py"]
    assert not skipped
    assert hidden == [str(folder / ".e.md"), str(folder / ".hidden")]
    assert [one.source_id for one in find_sources([folder / ".hidden"])[0]] == ["d.md"]


def test_a_sources_file_may_give_absolute_paths_below_the_folders(folder: Path) -> None:
    (folder / "link.md").symlink_to(folder / "b.md")
    facts = [
        {"path": str(folder / "sub" / "c.py"), "title": "Code"},
        {"path": str(folder / "sub" / ".." / "a.txt"), "title": "A"},
        {"path": str(folder / "link.md"), "title": "Link"},
    ]

    found, _ = find_sources([folder / "b.md", folder], sources_file=told(folder, *facts))
    single, _ = find_sources([folder / "a.txt"], sources_file=told(folder, facts[1]))

    assert {one.source_id: one.title for one in found if one.title} == {
        "a.txt": "A",
        "link.md": "Link",
        "sub/c.py": "Code",
    }
    assert [one.title for one in single] == ["A"]


def test_an_absolute_path_elsewhere_is_refused(folder: Path) -> None:
    for path in (folder.parent / "other.md", folder):
        with pytest.raises(InvalidRequest, match=r"lies in none of the given folders"):
            find_sources([folder], sources_file=told(folder, {"path": str(path)}))


def test_an_absolute_path_and_its_short_one_are_the_same_file(folder: Path) -> None:
    facts = [{"path": "a.txt"}, {"path": str(folder / "a.txt")}]
    with pytest.raises(InvalidRequest, match=r"path 'a\.txt' stands there twice"):
        find_sources([folder], sources_file=told(folder, *facts))


def test_a_loop_of_links_ends(folder: Path) -> None:
    (folder / "sub" / "loop").symlink_to(folder)
    found, _ = find_sources([folder])
    assert [one.source_id for one in found] == ["a.txt", "b.md", "sub/c.py"]


LEADS_OUT = "is a link to a file outside of the folder and not followed; give the file itself"


def test_links_to_files_are_followed_inside_of_the_folder_alone(folder: Path) -> None:
    outside = folder.parent / "docs-private.md"
    outside.write_text("secret")
    (folder / "sub" / "out.md").symlink_to(outside)
    (folder / "sub" / "twice.md").symlink_to(folder / "sub" / "out.md")
    (folder / "sub" / "in.md").symlink_to(Path("..") / "b.md")
    way = folder.parent / "way"
    way.symlink_to(folder, target_is_directory=True)

    for root in (folder, way):
        found, skipped = find_sources([root])
        assert [one.source_id for one in found] == ["a.txt", "b.md", "sub/c.py", "sub/in.md"]
        assert [(one.path, one.reason) for one in skipped] == [
            (str(root / "sub" / "out.md"), LEADS_OUT),
            (str(root / "sub" / "twice.md"), LEADS_OUT),
        ]
    named, _ = find_sources([folder / "sub" / "out.md"])
    assert [one.source_id for one in named] == ["out.md"]
    facts = told(folder, {"path": "sub/out.md"})
    with pytest.raises(InvalidRequest, match=r"no file 'sub/out\.md' was found: it is a link to a"):
        find_sources([folder], sources_file=facts)


def test_files_without_a_suffix_of_text_are_named_and_passed_over(folder: Path) -> None:
    (folder / "logo.png").write_bytes(b"\x89PNG")
    found, skipped = find_sources([folder])
    assert len(found) == 3
    assert [Path(one.path).name for one in skipped] == ["logo.png"]


def test_a_single_file_is_named_by_its_name_whatever_its_suffix(folder: Path) -> None:
    (folder / "NOTES").write_text("text")
    found, _ = find_sources([folder / "NOTES"], version="v1", language="de")
    (only,) = found
    assert (only.source_id, only.media_type) == ("NOTES", "text/plain")
    assert (only.version, only.language) == ("v1", "de")


def test_a_path_that_is_not_there_is_refused(folder: Path) -> None:
    with pytest.raises(InvalidRequest, match="gone does not exist"):
        find_sources([folder / "gone"])


def test_the_sources_file_says_more_of_a_file_and_wins_over_the_options(folder: Path) -> None:
    facts = {
        "path": "sub/c.py",
        "source_id": "code",
        "version": "2",
        "active": True,
        "title": "Code",
        "uri": "https://example.com/c",
        "media_type": "text/plain",
        "language": "en",
        "readers": ["group:b", "group:a", "group:b"],
        "metadata": {"team": "x", "tags": ["a", "b"], "page": 3, "none": None},
    }
    found, _ = find_sources([folder], sources_file=told(folder, facts, ""), version="1")
    code = found[-1]
    assert (code.source_id, code.version, code.is_active) == ("code", "2", True)
    assert (code.title, code.uri, code.language) == ("Code", "https://example.com/c", "en")
    assert code.media_type == "text/plain"
    assert code.readers == ("group:a", "group:b")
    assert code.metadata == {"team": "x", "tags": ("a", "b"), "page": 3, "none": None}
    assert (found[0].version, found[0].readers) == ("1", None)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a JSON object"),
        ({"source_id": "x"}, "path is missing"),
        ({"path": ""}, "path is missing"),
        ({"path": "b.md", "titel": "x"}, "'titel' is not one of"),
        ({"path": "b.md", "version": 2}, "version must be a text"),
        ({"path": "b.md", "source_id": ""}, "source_id must be a text that is not empty"),
        ({"path": "b.md", "title": "x" * 2000}, "title is longer than 1024"),
        ({"path": "b.md", "active": "yes"}, "active must be true or false"),
        ({"path": "b.md", "readers": "me"}, "readers must be a list of names"),
        ({"path": "b.md", "readers": [""]}, "readers must be a list of names"),
        ({"path": "b.md", "metadata": []}, "metadata must be an object"),
        ({"path": "b.md", "metadata": {"a": {"b": 1}}}, "metadata 'a' must be a value or a list"),
    ],
)
def test_a_wrong_line_is_named_with_file_line_and_field(
    folder: Path, line: Any, problem: str
) -> None:
    path = told(folder, {"path": "a.txt"}, line)
    with pytest.raises(InvalidRequest, match=problem) as refused:
        find_sources([folder], sources_file=path)
    assert f"{path}:2: " in str(refused.value)


def test_a_path_twice_or_of_no_file_is_refused(folder: Path) -> None:
    twice = told(folder, {"path": "a.txt"}, {"path": "a.txt"})
    with pytest.raises(InvalidRequest, match=r"'a\.txt' stands there twice"):
        find_sources([folder], sources_file=twice)
    gone = told(folder, {"path": "gone.md"})
    with pytest.raises(InvalidRequest, match=r"no file 'gone\.md' was found"):
        find_sources([folder], sources_file=gone)


SCHEMA = {
    "team": FieldType.KEYWORD,
    "tags": FieldType.KEYWORD_LIST,
    "public": FieldType.BOOL,
    "year": FieldType.INT64,
    "changed": FieldType.TIMESTAMP,
}


def test_declared_fields_get_their_types_and_others_stay_out() -> None:
    metadata = {"team": "x", "tags": ("a",), "public": False, "year": 2026, "page": 3}
    assert filterable({**metadata, "changed": "1970-01-01T01:00:00.25+01:00"}, SCHEMA) == {
        "team": "x",
        "tags": ("a",),
        "public": False,
        "year": 2026,
        "changed": 250_000,
    }
    assert filterable({"tags": "one", "changed": "1970-01-01T00:00:00Z"}, SCHEMA) == {
        "tags": ("one",),
        "changed": 0,
    }
    assert filterable({"changed": "1969-12-31T23:59:59.75Z"}, SCHEMA) == {"changed": -250_000}
    assert filterable({"team": None}, SCHEMA) == {}
    for year in (-(2**63), 2**53 + 1, 2**63 - 1):
        assert filterable({"year": year}, SCHEMA) == {"year": year}


@pytest.mark.parametrize(
    "metadata",
    [
        {"team": 3},
        {"tags": ("a", 1)},
        {"public": 1},
        {"year": True},
        {"year": 1.0},
        {"year": 2**63},
        {"year": -(2**63) - 1},
        {"changed": "2026-01-01"},
        {"changed": "2026-01-01T00:00:00"},
        {"changed": 0},
    ],
)
def test_a_value_of_another_type_is_named(metadata: dict[str, Any]) -> None:
    (name,) = metadata
    with pytest.raises(ValueError, match=f"metadata '{name}' is .* the schema says"):
        filterable(metadata, SCHEMA)
