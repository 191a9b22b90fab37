"""
A run of the bench of answers, from contexts to figures.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bench.answers.__main__ import app
from tests.unit.bench.chat_endpoint import Endpoint

PAGES = {
    "trains": "# Trains\n\nTickets are refunded until the day before.\n\nDogs travel for free.\n",
    "bread": "# Bread\n\nLet the dough rest for nine hours in a cool cellar.\n",
    "tea": "# Tea\n\nGreen tea is brewed at seventy degrees for two minutes.\n",
}
ASKED = {
    "trains": ("What do dogs pay?", "Dogs travel for free."),
    "bread": ("How long does dough rest?", "nine hours"),
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """
    Return a folder with one set of three pages and two questions.
    """
    place = tmp_path / "sets" / "tiny"
    (place / "docs").mkdir(parents=True)
    docs, questions = [], []
    for name, text in PAGES.items():
        (place / "docs" / f"{name}.txt").write_text(text, encoding="utf-8")
        docs.append({"doc_id": name, "lang": "en", "format": "markdown"})
    for name, (question, part) in ASKED.items():
        start = PAGES[name].index(part)
        found = {"doc_id": name, "start": start, "end": start + len(part), "text": part}
        questions.append({"id": name, "question": question, "evidence": [found]})
    for file, rows in (("docs.jsonl", docs), ("questions.dev.jsonl", questions)):
        (place / file).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return tmp_path / "sets"


def test_a_run_from_contexts_to_figures(
    endpoint: Endpoint,
    data: Path,
    tmp_path: Path,
    model_folder: Path,
    tokenizer_folder: Path,
) -> None:
    def say(body: dict[str, Any]) -> tuple[int, str]:
        """
        Answer with the whole context; support what holds the evidence.
        """
        content = body["messages"][1]["content"]
        if body["model"] == "answers":
            return 200, content
        given = json.loads(content)
        is_there = all(one in given["answer"] for one in given["evidence"])
        return 200, json.dumps({"supported": is_there})

    endpoint.say = say
    out = tmp_path / "figures.json"
    words = ["--data", data, "--set", "tiny", "--endpoint", endpoint.url, "--work", tmp_path]
    words += ["--answer-model", "answers", "--judge-model", "judges", "--budgets", "5,200"]
    words += ["--json", out, "--api-key-env", "ENDPOINT_KEY", "--model", model_folder]
    given = {
        "CONTEXT_ASSEMBLER_TOKENIZER_DIR": str(tokenizer_folder),
        "ENDPOINT_KEY": "secret",
    }

    def run(**environment: str) -> Any:
        done = CliRunner().invoke(app, [str(one) for one in words], env={**given, **environment})
        if done.exception is not None:
            raise done.exception
        return done

    done = run()
    asked = len(endpoint.asked)
    again = run()

    found = json.loads(out.read_text())["budgets"]
    for system in ("ours, full", "ours, auto", "best same-ingredient line"):
        assert found["200"][system]["supported"] == [1.0, 1.0, 1.0]
        assert found["5"][system]["supported"][0] < 1.0
        assert found["200"][system]["no_verdict"] == 0
    assert found["200"]["ours, full"]["gain"] == [0.0, 0.0, 0.0]
    assert "answered by answers, judged by judges" in done.stdout
    assert "prompt tokens" in done.stdout
    assert len(endpoint.asked) == asked
    assert "answers: 0 asked, 0 prompt tokens" in again.stdout
    with pytest.raises(ValueError, match="ENDPOINT_KEY, which is not set"):
        run(ENDPOINT_KEY="")
