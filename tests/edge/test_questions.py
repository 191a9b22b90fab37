"""
A team makes and checks its questions from the command line.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from rich.console import Console
from typer.testing import CliRunner

from assembler.errors import ContextAssemblerError, InvalidRequest
from cli.commands import app
from cli.index import index_paths
from indexer.request import IndexRequest
from server.settings import Settings

RULE = "Refunds are paid within a week."


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, settings: Settings) -> Path:
    root = tmp_path_factory.mktemp("questions")
    docs = root / "docs"
    docs.mkdir()
    (docs / "a.md").write_text(f"# Refunds\n\n{RULE} Nobody forgets it.\n")
    (docs / "b.md").write_text("# Trains\n\nNobody forgets it. Nobody forgets it.\n")
    (docs / "secret.md").write_text("Salaries are secret.\n")
    (docs / "empty.md").write_text("")
    facts = root / "sources.jsonl"
    readers = {"a.md": ["all"], "b.md": ["all"], "secret.md": ["ada"]}
    rows = ({"path": name, "readers": who} for name, who in readers.items())
    facts.write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    mine = settings.model_copy(update={"data_dir": root / "data"})
    index_paths(
        IndexRequest(index="mine", paths=(docs,), sources_file=facts), mine, Console(quiet=True)
    )
    asked = [
        {"question": "When?", "evidence": [{"source_id": "a.md", "text": RULE}]},
        {"question": "Who?", "evidence": [{"source_id": "b.md", "text": "Nobody forgets it."}]},
    ]
    (root / "q.jsonl").write_text("".join(json.dumps(one) + "\n" for one in asked))
    return root


@pytest.fixture
def run(place: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CONTEXT_ASSEMBLER_DATA_DIR", str(place / "data"))
    monkeypatch.chdir(place)

    def command(*words: str) -> Result:
        done = CliRunner().invoke(app, ["questions", *words], env={"COLUMNS": "200"})
        if isinstance(done.exception, ContextAssemblerError):
            raise done.exception
        assert done.exception is None or isinstance(done.exception, SystemExit), done.output
        return done

    return command


@pytest.mark.parametrize("texts", [("--docs", "docs"), ("--index", "mine", "--principal", "all")])
def test_a_file_is_checked_against_documents_or_an_index(run, place: Path, texts) -> None:
    done = run("check", "q.jsonl", *texts, "--out", "ready.jsonl")

    assert done.exit_code == 1
    assert "wrong q.jsonl:2: evidence[0].text stands in 'b.md' at" in done.stdout
    assert "1 questions can be used" in done.stdout
    (line,) = (place / "ready.jsonl").read_text().splitlines()
    (evidence,) = json.loads(line)["evidence"]
    assert (evidence["start"], evidence["end"], evidence["text"]) == (11, 42, RULE)
    assert run("check", "ready.jsonl", *texts).exit_code == 0


@pytest.mark.parametrize("texts", [("--docs", "docs"), ("--index", "mine", "--principal", "all")])
def test_a_passage_is_found_and_what_is_ambiguous_is_told(run, texts) -> None:
    once = run("find", RULE, *texts)
    nearly = run("find", "refunds  are paid", *texts)
    several = run("find", "Nobody forgets it.", *texts)
    fewer = run("find", "Nobody forgets it.", *texts, "--source", "a.md")
    nowhere = run("find", "Planes", *texts)

    assert json.loads(once.stdout)["source_id"] == "a.md"
    assert json.loads(once.stdout)["start"] == 11
    assert (once.exit_code, once.stderr.splitlines()[-1]) == (0, "stands as it is once")
    assert json.loads(nearly.stdout)["text"] == "Refunds are paid"
    assert "stands nearly so once" in nearly.stderr
    assert len(several.stdout.splitlines()) == 3
    assert (several.exit_code, fewer.exit_code) == (1, 0)
    assert "stands as it is at 3 places: ambiguous" in several.stderr
    assert (nowhere.exit_code, nowhere.stdout) == (1, "")
    assert "stands nowhere" in nowhere.stderr


def test_an_index_shows_what_the_principals_may_read(run) -> None:
    words = ("find", "Salaries are secret.", "--index", "mine", "--principal")
    assert [run(*words, who).exit_code for who in ("all", "ada")] == [1, 0]


def test_what_is_missing_is_said(run) -> None:
    for words, problem in (
        (("find", "x"), "or docs is needed, and not both"),
        (("check", "q.jsonl", "--docs", "docs", "--index", "mine"), "not both"),
        (("find", "x", "--docs", "docs", "--source", "z"), "'z' is not among the documents"),
    ):
        with pytest.raises(InvalidRequest, match=problem):
            run(*words)
    with pytest.raises(ContextAssemblerError, match="none"):
        run("find", "x", "--index", "none")
    assert "not read docs/empty.md: is empty" in run("find", RULE, "--docs", "docs").stderr
