"""
Question sets are read whole, and what is wrong in them is named by file, line and field.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assembler.span import Span
from evaluation.json_lines import QuestionSetInvalid
from evaluation.question_set import Evidence, Question, read_set

TEXT = "Zażółć 🚀 refunds.\nNever on Sundays.\n"


def a_set(folder: Path, **changes: Any) -> Path:
    document = {
        "doc_id": "a",
        "title": "A",
        "lang": "pl",
        "format": "text",
        "source": "a.txt",
        "version": "",
        **changes.get("document", {}),
    }
    evidence = {"doc_id": "a", "start": 7, "end": 17, "text": "🚀 refunds."}
    evidence |= changes.get("evidence", {})
    question = {"id": "q1", "question": "What?", "lang": "pl", "evidence": [evidence]}
    question |= changes.get("question", {})
    place = folder / "tiny"
    (place / "docs").mkdir(parents=True)
    (place / "docs" / "a.txt").write_bytes(TEXT.encode())
    (place / "docs.jsonl").write_text(json.dumps(document) + "\n")
    (place / "questions.dev.jsonl").write_text("\n" + json.dumps(question) + "\n")
    return place


def test_a_set_is_read_with_offsets_in_code_points(tmp_path: Path) -> None:
    found = read_set(a_set(tmp_path))

    assert found.name == "tiny"
    assert found.documents["a"].text == TEXT
    assert found.questions == (
        Question("q1", "What?", "pl", (Evidence("a", Span(7, 17), "🚀 refunds."),)),
    )


def test_questions_may_lie_elsewhere(tmp_path: Path) -> None:
    place = a_set(tmp_path)
    other = tmp_path / "others.jsonl"
    row = {
        "id": "q2",
        "question": "When?",
        "version": "2",
        "scope_doc_ids": ["a"],
        "evidence": [{"doc_id": "a", "start": 18, "end": 23, "text": "Never"}],
    }
    other.write_text(json.dumps(row))

    (question,) = read_set(place, other).questions

    assert (question.id, question.version, question.scope_doc_ids) == ("q2", "2", ("a",))


@pytest.mark.parametrize(
    ("changes", "file", "line", "field"),
    [
        ({"evidence": {"text": "refunds"}}, "questions.dev.jsonl", 2, "evidence[0].text"),
        ({"evidence": {"end": 999}}, "questions.dev.jsonl", 2, "evidence[0].start"),
        ({"evidence": {"start": 17}}, "questions.dev.jsonl", 2, "evidence[0].start"),
        ({"evidence": {"start": True}}, "questions.dev.jsonl", 2, "evidence[0].start"),
        ({"evidence": {"doc_id": "b"}}, "questions.dev.jsonl", 2, "evidence[0].doc_id"),
        ({"question": {"evidence": []}}, "questions.dev.jsonl", 2, "evidence"),
        ({"question": {"evidence": ["a"]}}, "questions.dev.jsonl", 2, "evidence[0]"),
        ({"question": {"question": ""}}, "questions.dev.jsonl", 2, "question"),
        ({"question": {"id": 7}}, "questions.dev.jsonl", 2, "id"),
        ({"question": {"scope_doc_ids": ["b"]}}, "questions.dev.jsonl", 2, "scope_doc_ids"),
        ({"question": {"scope_doc_ids": "a"}}, "questions.dev.jsonl", 2, "scope_doc_ids"),
        ({"document": {"format": "pdf"}}, "docs.jsonl", 1, "format"),
        ({"document": {"lang": None}}, "docs.jsonl", 1, "lang"),
        ({"document": {"sha256": "0"}}, "docs.jsonl", 1, "sha256"),
        ({"document": {"version": "1", "source": ""}}, "docs.jsonl", 1, "source"),
    ],
)
def test_what_is_wrong_is_named_by_file_line_and_field(
    tmp_path: Path, changes: dict[str, Any], file: str, line: int, field: str
) -> None:
    place = a_set(tmp_path, **changes)

    with pytest.raises(QuestionSetInvalid) as raised:
        read_set(place)

    assert raised.value.place == f"{place / file}:{line}"
    assert raised.value.field == field
    assert str(raised.value).startswith(f"{place / file}:{line}: {field} ")


def test_a_name_that_stands_twice_is_refused(tmp_path: Path) -> None:
    place = a_set(tmp_path)
    for name, field in (("questions.dev.jsonl", "id"), ("docs.jsonl", "doc_id")):
        path = place / name
        kept = path.read_text()
        path.write_text(kept + kept)

        with pytest.raises(QuestionSetInvalid, match="twice") as raised:
            read_set(place)

        assert raised.value.field == field
        path.write_text(kept)


def test_two_documents_cannot_be_one_version_of_one_source(tmp_path: Path) -> None:
    place = a_set(tmp_path, document={"version": "1"})
    (place / "docs" / "b.txt").write_text("b")
    twin = {"doc_id": "b", "lang": "pl", "format": "text", "source": "a.txt", "version": "1"}
    with (place / "docs.jsonl").open("a") as file:
        file.write(json.dumps(twin) + "\n")

    with pytest.raises(QuestionSetInvalid, match=r"version '1' of 'a\.txt' is 'a' too"):
        read_set(place)


@pytest.mark.parametrize(("line", "problem"), [("{", "is not JSON"), ("[]", "is not a JSON obj")])
def test_a_line_that_is_no_object_is_named(tmp_path: Path, line: str, problem: str) -> None:
    place = a_set(tmp_path)
    (place / "questions.dev.jsonl").write_text(line)

    with pytest.raises(QuestionSetInvalid, match=rf"questions.dev.jsonl:1: {problem}"):
        read_set(place)


def test_a_missing_or_empty_file_is_named(tmp_path: Path) -> None:
    place = a_set(tmp_path)
    (place / "questions.dev.jsonl").write_text("\n")
    with pytest.raises(QuestionSetInvalid, match="has no question"):
        read_set(place)

    (place / "docs" / "a.txt").unlink()
    with pytest.raises(QuestionSetInvalid, match=r"a\.txt: cannot be read"):
        read_set(place)

    (place / "docs.jsonl").write_text("")
    with pytest.raises(QuestionSetInvalid, match="has no document"):
        read_set(place)


def test_a_question_without_evidence_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="no evidence"):
        Question("q", "What?", "en", ())
