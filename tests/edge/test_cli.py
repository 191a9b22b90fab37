"""
The command line, as a person types it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.edge_store import EdgeStore
from server.settings import Settings


@pytest.fixture
def run(settings: Settings, tmp_path: Path):
    """
    Return a function that runs a command with an index folder of its own.
    """
    environment = {
        **os.environ,
        "CONTEXT_ASSEMBLER_DATA_DIR": str(tmp_path / "data"),
        "CONTEXT_ASSEMBLER_MODEL_DIR": str(settings.model_dir),
        "CONTEXT_ASSEMBLER_TOKENIZER_DIR": str(settings.tokenizer_dir),
        "COLUMNS": "200",
    }

    def command(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "cli", *words],
            env={**environment, **more},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return command


def test_indexing_reports_what_it_did_and_what_it_could_not_read(run, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "good.md").write_text("# Good\n\nThis is a good page about refunds.\n")
    (docs / "broken.md").write_bytes(b"caf\xe9 is not UTF-8")
    (docs / "empty.txt").write_text("")
    (docs / "photo.png").write_bytes(b"\x89PNG")

    first = run("index", str(docs), "--index", "mine")
    second = run("index", str(docs), "--index", "mine")
    listed = run("indexes", "list")

    assert first.returncode == 0, first.stderr
    assert "1 documents (1 written" in first.stdout
    for name in ("broken.md", "empty.txt", "photo.png"):
        assert name in first.stdout
    assert "nothing changed" in second.stdout
    assert "mine" in listed.stdout


def test_documents_are_cut_as_asked_and_stay_so(run, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# A\n\n" + "This is a page about refunds. " * 40)
    (docs / "b.txt").write_text("User: a\nBot: b\nUser: c\nBot: d\n")
    asked = ("--strategy", "sliding", "--setting", "size=40", "--setting", "overlap=8")

    first = run("index", str(docs), "--index", "mine", *asked)
    again = run("index", str(docs), "--index", "mine")
    other = run("index", str(docs), "--index", "mine", "--strategy", "auto")

    assert first.returncode == 0, first.stderr
    assert "11 chunks" in first.stdout  # 322 tokens in 10 windows, and 12 tokens in one
    assert "nothing changed" in again.stdout
    assert "1 documents cut by conversation: turns of speakers" in other.stdout
    assert "1 documents cut by structure: headings" in other.stdout
    shown = run("strategies").stdout
    assert "overlap=28" in shown
    assert "whole turns, as many together as fit" in " ".join(shown.split())


def test_wrong_calls_are_one_line_and_say_what_to_do(run, tmp_path: Path) -> None:
    for words, said in (
        (("index", str(tmp_path / "nope"), "--index", "mine"), "does not exist"),
        (("index", "--index", "mine"), "name files or folders"),
        (("index", str(tmp_path), "--index", "Bad Name"), "a-z"),
        (
            ("index", str(tmp_path), "--index", "mine", "--profile", "nope"),
            "default, multilingual-e5-small",
        ),
        (
            ("index", str(tmp_path), "--index", "mine", "--strategy", "best"),
            "'best' is not one of structure",
        ),
        (
            ("index", str(tmp_path), "--index", "mine", "--setting", "size"),
            "'size' is not key=value",
        ),
        (("count", str(tmp_path / "nope")), "nope"),
        (("ask", "x", "--index", "a", "--budget", "5", "--address", "127.0.0.1:1"), "UNAVAILABLE"),
    ):
        done = run(*words)
        assert done.returncode == 1, words
        assert said in done.stderr.replace("\n", " "), done.stderr
        assert "Traceback" not in done.stderr
    wrong = run("serve", CONTEXT_ASSEMBLER_PORT="many")
    assert wrong.returncode == 2
    assert "CONTEXT_ASSEMBLER_PORT" in wrong.stderr


def test_a_wrong_file_of_profiles_stops_the_start(run, tmp_path: Path) -> None:
    path = tmp_path / "profiles.toml"
    path.write_text("[mine]\nbm52 = 0.4\n")

    done = run("serve", CONTEXT_ASSEMBLER_PROFILES_FILE=str(path))

    assert done.returncode == 1
    for part in ("profiles.toml", "'mine'", "'bm52'", "there are: dense, bm25"):
        assert part in done.stderr.replace("\n", ""), done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_that_another_process_writes_is_left_alone(run, tmp_path: Path) -> None:

    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# A\n\nText of a page about refunds.\n")
    with EdgeStore(tmp_path / "data").publication("mine", ""):
        done = run("index", str(docs), "--index", "mine")

    assert done.returncode == 1
    assert str(os.getpid()) in done.stderr


def test_asking_shows_the_context_and_its_account(run, address: str) -> None:
    words = ("ask", "Are fines paid back?", "--index", "handbook", "--budget", "200")
    more = ("--principal", "staff", "--address", address)

    shown = run(*words, *more, "--explain")
    as_json = run(*words, *more, "--json", "--order", "edges", "--format", "xml")
    wrong = run(*words, *more, "--order", "best")

    assert shown.returncode == 0, shown.stderr
    for part in ("Fines are never paid", "[1]", "travel/expenses.md", "of 200 tokens", "embed"):
        assert part in shown.stdout
    reply = json.loads(as_json.stdout)
    assert reply["effective"]["layout"]["order"] == "ORDER_EDGES"
    assert '<passage id="1"' in reply["context"]
    assert wrong.returncode == 2
    assert "relevance, document, edges" in wrong.stderr


def test_sources_tokenizers_and_counts_are_shown(run, address: str, tmp_path: Path) -> None:
    more = ("--index", "handbook", "--principal", "staff", "--address", address)
    page = Path(__file__).parents[2] / "examples" / "handbook" / "travel" / "expenses.md"
    text = tmp_path / "text.txt"
    text.write_text("hello <|endoftext|>")

    assert run("source", "travel/expenses.md", *more).stdout == page.read_text(encoding="utf-8")
    assert "NOT_FOUND" in run("source", "nope.md", *more).stderr
    assert "o200k_base" in run("tokenizers").stdout
    assert int(run("count", str(text)).stdout.split()[0]) > 3


def test_help_is_enough_to_begin(run) -> None:
    for words in ((), ("index",), ("ask",), ("serve",), ("model", "export")):
        done = run(*words, "--help")
        assert done.returncode == 0
        assert len(done.stdout) > 200
