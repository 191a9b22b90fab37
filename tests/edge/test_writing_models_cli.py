"""
From the command line to an endpoint that writes, and what is kept of it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from adapters.chat import ChatUnavailable
from assembler.errors import ContextAssemblerError, InvalidRequest
from cli.commands import app
from server.settings import Settings
from tests.chat_server import Said, chat_server, saying


@pytest.fixture
def run(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name, value in (
        ("MODEL_DIR", settings.model_dir),
        ("TOKENIZER_DIR", settings.tokenizer_dir),
        ("DATA_DIR", tmp_path / "data"),
        ("CHAT_ANSWERS_FILE", tmp_path / "answers.sqlite"),
        ("CHAT_API_KEY", "secret"),
    ):
        monkeypatch.setenv(f"CONTEXT_ASSEMBLER_{name}", str(value))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n\nTrains are slow.\n\n# B\n\nMeals are paid.\n")
    monkeypatch.chdir(tmp_path)

    def command(*words: str) -> Result:
        done = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
        if isinstance(done.exception, ContextAssemblerError | ChatUnavailable):
            raise done.exception
        assert done.exception is None, done.output
        return done

    return command


ASKED = ("docs", "--index", "mine", "--setting", "context=small")


def test_a_run_asks_once_a_plan_never_and_a_purge_forgets(
    run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with chat_server(lambda _: saying("It is about travel.")) as server:
        monkeypatch.setenv("CONTEXT_ASSEMBLER_CHAT_URL", server.url)

        planned = run("indexes", "plan", *ASKED)
        nothing = len(server.asked)
        told = run("index", *ASKED)
        facts = json.loads(run("index", *ASKED[:3], "--strategy", "fixed", "--json").stdout)
        again = json.loads(run("index", *ASKED, "--strategy", "structure", "--json").stdout)
        asked = len(server.asked)
        run("indexes", "purge", "a.md", "--index", "mine")
        run("indexes", "unpurge", "a.md", "--index", "mine")
        run("index", *ASKED)

        assert "2 chunks" in planned.stdout
        assert (nothing, asked, len(server.asked)) == (0, 2, 4)
        assert set(server.keys) == {"Bearer secret"}
        assert "2 chunks embedded with a sentence of context" in told.stdout
        assert "borders: 1 structure: heading" in told.stdout
        assert facts["counts"] == {}
        assert facts["report"]["borders"] == {"structure: heading": 1}
        assert again["counts"] == {"chunks embedded with a sentence of context": 2}
        assert (again["embedded"], again["reused"]) == (0, 2), "the sentences are the same"


def test_without_an_answer_the_run_ends_or_goes_on_as_the_setting_says(
    run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with chat_server(lambda _: Said(b"no", 401)) as server:
        monkeypatch.setenv("CONTEXT_ASSEMBLER_CHAT_URL", server.url)
        with pytest.raises(ChatUnavailable, match="answers 401: no"):
            run("index", *ASKED)
        monkeypatch.setenv("CONTEXT_ASSEMBLER_CHAT_FAILURES", "leave_out")
        assert "2 chunks embedded without a sentence of context" in run("index", *ASKED).stdout


def test_without_an_endpoint_it_is_asked_for(run) -> None:
    with pytest.raises(InvalidRequest, match="set CONTEXT_ASSEMBLER_CHAT_URL"):
        run("index", *ASKED)
