"""
A team compares ways to cut its own documents, with the real model.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from assembler.errors import InvalidRequest
from cli.commands import app
from evaluation.json_lines import QuestionSetInvalid
from server.settings import Settings

SUBJECTS = ("refunds", "tickets", "trains", "hotels", "meals", "visas", "taxis", "ferries")


@pytest.fixture
def run(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CONTEXT_ASSEMBLER_MODEL_DIR", str(settings.model_dir))
    monkeypatch.setenv("CONTEXT_ASSEMBLER_TOKENIZER_DIR", str(settings.tokenizer_dir))
    monkeypatch.chdir(tmp_path)

    def command(*words: str):
        done = CliRunner().invoke(app, ["compare", *words], env={"COLUMNS": "200"})
        if isinstance(done.exception, InvalidRequest | QuestionSetInvalid):
            raise done.exception
        assert done.exception is None, done.output
        return done.stdout

    return command


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, subjects in (("a.md", SUBJECTS[:4]), ("b.md", SUBJECTS[4:])):
        parts = (
            f"# About {one}\n\nThe rule of {one} is short. Nobody forgets {one}.\n"
            for one in subjects
        )
        (docs / name).write_text("\n".join(parts))
    (docs / "broken.md").write_bytes(b"\xff\xfe\x00")
    rows = [
        {
            "question": f"What is the rule of {one}?",
            "evidence": [
                {
                    "source_id": "a.md" if number < 4 else "b.md",
                    "text": f"The rule of {one} is short.",
                }
            ],
        }
        for number, one in enumerate(SUBJECTS)
    ]
    lines = [json.dumps(one) for one in [*rows, *rows]]
    (tmp_path / "questions.jsonl").write_text("\n".join(lines))
    return docs


def test_a_comparison_is_told_written_and_resumed(run, docs: Path, tmp_path: Path) -> None:
    words = (
        *(str(docs), "--questions", "questions.jsonl", "--out", "found", "--top", "2"),
        *("--strategy", "structure", "--strategy", "fixed:size=6", "--budgets", "60"),
    )
    first = run(*words)
    told = json.loads((tmp_path / "found" / "report.json").read_text())
    again = run(*words)

    assert "broken.md" in first
    assert "structure: 8 chunks" in first
    assert again.count("measured before") == 2
    assert json.loads((tmp_path / "found" / "report.json").read_text()) == told
    structure, fixed = told["ways"]
    assert told["questions"] == 16
    assert structure["measures"]["recall@2"]["mean"] == 1.0
    assert structure["measures"]["hit@2"]["mean"] == 1.0
    assert (
        fixed["measures"]["precision_omega"]["mean"]
        > (structure["measures"]["precision_omega"]["mean"])
    )
    assert structure["measures"]["evidence_recall@60"]["mean"] > 0.9
    assert structure["index_bytes"] > 1000
    assert structure["vector_bytes"] == 8 * 384 * 4
    assert (tmp_path / "found" / "report.html").read_text().startswith("<!doctype html>")
    assert "fixed size=6,fixed,recall@2" in (tmp_path / "found" / "report.csv").read_text()


def test_late_vectors_are_compared_as_others_are(run, docs: Path, tmp_path: Path) -> None:
    run(
        *(str(docs), "--questions", "questions.jsonl", "--out", "found", "--top", "2"),
        *("--strategy", "structure", "--strategy", "late", "--budgets", "60"),
    )

    structure, late = json.loads((tmp_path / "found" / "report.json").read_text())["ways"]

    assert late["chunks"] == structure["chunks"] == 8
    assert late["embedded"] == 8
    assert late["measures"]["recall@2"]["mean"] > 0.5
    assert late["measures"]["evidence_recall@60"]["mean"] > 0.5
    assert 1000 < late["index_bytes"] < 100_000_000


def test_a_question_set_brings_its_own_documents(run, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    (folder / "docs").mkdir(parents=True)
    text = "The rule is short.\n\nNobody forgets it.\n"
    (folder / "docs" / "one.txt").write_text(text)
    document = {"doc_id": "one", "lang": "en", "format": "text"}
    (folder / "docs.jsonl").write_text(json.dumps(document) + "\n")
    evidence = {"doc_id": "one", "start": 0, "end": 18, "text": text[:18]}
    question = {"id": "q", "question": "Rule?", "evidence": [evidence], "scope_doc_ids": ["one"]}
    (folder / "questions.dev.jsonl").write_text(json.dumps(question) + "\n")

    shown = run("--set", str(folder), "--strategy", "structure", "--out", "found")

    assert "structure: 1 chunks" in shown
    assert "only structure was measured" in shown


def test_what_is_missing_or_too_much_is_said(run, docs: Path, tmp_path: Path) -> None:
    for words, problem in (
        ((str(docs),), "documents are needed"),
        ((str(docs), "--set", str(docs)), "leave out the others"),
        (
            (str(docs), "--questions", "questions.jsonl", "--strategy", "fixed:size=300"),
            "at most 254 here",
        ),
    ):
        with pytest.raises(InvalidRequest, match=problem):
            run(*words)
    wrong = {"question": "?", "evidence": [{"source_id": "c.md", "text": "x"}]}
    Path("wrong.jsonl").write_text(json.dumps(wrong))
    with pytest.raises(QuestionSetInvalid, match="is not among the documents"):
        run(str(docs), "--questions", "wrong.jsonl")
    wrong["evidence"][0] |= {"source_id": "a.md", "version": "9"}
    Path("wrong.jsonl").write_text(json.dumps(wrong))
    with pytest.raises(QuestionSetInvalid, match="'9' is not among the documents"):
        run(str(docs), "--questions", "wrong.jsonl")
