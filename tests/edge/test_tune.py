"""
Fitting one weight on a team's own questions, from the command line to a profile that is served.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from rich.console import Console
from typer.testing import CliRunner

from assembler.errors import ContextAssemblerError, InvalidRequest, ProfileUnknown
from cli.commands import app
from cli.index import index_paths
from evaluation.json_lines import QuestionSetInvalid
from indexer.request import IndexRequest
from server.profiles import ProfilesInvalid, read_profiles
from server.settings import Settings

CODES = [f"{7 * number + 4_000_319}" for number in range(24)]
ALIKE = "This page describes what to do when the machine shows the code {}. Note {} and call us."
WITHOUT_WORDS = """
[blind]
dense = 1.0
bm25 = 0.0
neighbour = 0.0
section = 0.0
section_best = 0.0
document = 0.0
"""


def lines(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def asked(code: str) -> dict[str, Any]:
    evidence = {"source_id": f"{code}.txt", "text": f"Note {code} and call us."}
    return {"question": f"Code {code}?", "evidence": [evidence]}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, settings: Settings) -> Path:
    """
    Return a folder with an index of pages that differ by a code only, so that words alone decide.
    """
    root = tmp_path_factory.mktemp("tune")
    docs = root / "docs"
    docs.mkdir()
    for code in CODES:
        (docs / f"{code}.txt").write_text(ALIKE.format(code, code), encoding="utf-8")
    mine = settings.model_copy(update={"data_dir": root / "data"})
    index_paths(IndexRequest(index="codes", paths=(docs,)), mine, Console(quiet=True))
    versions = root / "versions"
    versions.mkdir()
    (versions / "a1.md").write_text("# Fares\n\nDogs pay half.\n")
    (versions / "a2.md").write_text("# Fares\n\nDogs are free.\n\nDogs are free.\n")
    facts = [{"path": f"a{n}.md", "source_id": "a", "version": n} for n in "12"]
    request = IndexRequest(
        index="fares", paths=(versions,), sources_file=lines(root / "sources.jsonl", facts)
    )
    index_paths(request, mine, Console(quiet=True))
    (root / "profiles.toml").write_text(WITHOUT_WORDS)
    return root


@pytest.fixture
def run(place: Path, settings: Settings) -> Callable[..., Result]:
    """
    Return how to call the command; what it refuses is raised.
    """

    def command(questions: Path, *words: str, index: str = "codes") -> Result:
        result = CliRunner().invoke(
            app,
            ["tune", "--index", index, "--questions", str(questions), *words],
            env={
                "CONTEXT_ASSEMBLER_DATA_DIR": str(place / "data"),
                "CONTEXT_ASSEMBLER_MODEL_DIR": str(settings.model_dir),
                "CONTEXT_ASSEMBLER_TOKENIZER_DIR": str(settings.tokenizer_dir),
                "CONTEXT_ASSEMBLER_PROFILES_FILE": str(place / "profiles.toml"),
                "COLUMNS": "200",
            },
        )
        if isinstance(result.exception, Exception):
            raise result.exception
        return result

    return command


def test_the_value_that_is_right_is_found_and_written(run: Any, tmp_path: Path) -> None:
    questions = lines(tmp_path / "mine.jsonl", [asked(code) for code in CODES])
    out = tmp_path / "tuned.toml"

    done = run(
        questions, "--profile", "blind", "--values", "0.0,0.9", "--budgets", "40,80",
        "--write", str(out), "--name", "mine",
    )  # fmt: skip

    assert "bm25 = 0.9: recall is significantly higher" in done.stdout
    assert "24 questions, fill full" in done.stdout
    tuned = read_profiles(out)["mine"]
    assert (tuned.bm25, tuned.dense, tuned.section) == (0.9, 0.1, 0.0)


def test_where_nothing_is_better_nothing_is_written(run: Any, tmp_path: Path) -> None:
    questions = lines(tmp_path / "mine.jsonl", [asked(code) for code in CODES])
    out = tmp_path / "tuned.toml"

    done = run(
        questions, "--values", "0.35,0.45", "--budgets", "4000", "--limit", "12",
        "--write", str(out), "--name", "mine",
    )  # fmt: skip
    few = run(questions, "--values", "0.9", "--budgets", "40", "--limit", "3")

    assert "keep what you have: no value is significantly better; nothing is written" in done.stdout
    assert "keep what you have: 3 questions cannot tell values apart" in few.stdout
    assert not out.exists()


def test_a_price_is_shown_with_its_tokens(run: Any, tmp_path: Path) -> None:
    questions = lines(tmp_path / "mine.jsonl", [asked(code) for code in CODES])

    done = run(questions, "--weight", "price", "--values", "0,0.95", "--budgets", "400")

    assert "fill auto" in done.stdout
    assert "tokens at 400" in done.stdout
    assert "price = 0.95: contexts are significantly shorter" in done.stdout


@pytest.mark.parametrize(
    ("evidence", "parts"),
    [
        ({"text": "Note 4000319"}, [":1: evidence[0].source_id must be a text"]),
        ({"source_id": "no.txt", "text": "x"}, ["evidence[0].source_id", "'no.txt'", "not known"]),
        ({"source_id": "4000319.txt", "version": "9", "text": "x"}, ["evidence[0].version", "@9"]),
        (
            {"source_id": "4000319.txt", "text": "Note 7"},
            ["evidence[0].text does not stand", "copy"],
        ),
        (
            {"source_id": "4000319.txt", "text": "4000319"},
            ["evidence[0].text stands", "give more of it"],
        ),
        ({"source_id": "4000319.txt"}, ["evidence[0].text is missing"]),
        ({"source_id": "4000319.txt", "start": 5}, ["evidence[0].start and end must be"]),
        (
            {"source_id": "4000319.txt", "start": 0, "end": 4, "text": "That"},
            ["is not what stands"],
        ),
        ("4000319", ["evidence[0] is not an object"]),
    ],
)
def test_evidence_that_is_not_there_is_named_by_line_and_field(
    run: Any, tmp_path: Path, evidence: Any, parts: list[str]
) -> None:
    questions = lines(tmp_path / "mine.jsonl", [{"question": "4000319?", "evidence": [evidence]}])

    with pytest.raises(QuestionSetInvalid) as caught:
        run(questions)

    for part in ("mine.jsonl:1", *parts):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("evidence", "words", "part"),
    [
        ({"text": "Dogs pay half."}, [], "does not stand in 'a'"),
        ({"version": "1", "text": "Dogs pay half."}, [], "is superseded in version '1'"),
        ({"text": "Dogs pay half."}, ["--all-versions"], "is missing; there are '1', '2'"),
        ({"version": "2", "text": "Dogs are free."}, [], "at 9 and at 25"),
    ],
)
def test_a_version_that_does_not_decide_is_named(
    run: Any, tmp_path: Path, evidence: Any, words: list[str], part: str
) -> None:
    row = {"question": "Dogs?", "evidence": [{"source_id": "a", **evidence}]}
    questions = lines(tmp_path / "mine.jsonl", [row])

    with pytest.raises(QuestionSetInvalid) as caught:
        run(questions, *words, index="fares")

    assert part in str(caught.value)


def test_ranges_and_versions_may_be_given(run: Any, tmp_path: Path) -> None:
    evidence = [
        {"source_id": "a", "version": "1", "text": "Dogs pay half."},
        {"source_id": "a", "version": "2", "start": 25, "end": 39},
    ]
    questions = lines(tmp_path / "mine.jsonl", [{"question": "Dogs?", "evidence": evidence}])

    done = run(questions, "--all-versions", "--values", "0.5", "--budgets", "100", index="fares")

    assert done.stdout.count("100.0") >= 2


@pytest.mark.parametrize(
    ("words", "error", "part"),
    [
        (["--values", "0.4"], InvalidRequest, "another one than 0.4"),
        (["--values", "1.5"], InvalidRequest, "bm25 must be 0 to 1"),
        (["--values", "nan"], InvalidRequest, "finite"),
        (["--values", "much"], InvalidRequest, "numbers with commas"),
        (["--weight", "price", "--values", "-1"], InvalidRequest, "price must be finite"),
        (["--budgets", "0"], InvalidRequest, "above 0"),
        (["--profile", "nobody"], ProfileUnknown, "blind, default"),
        (["--write", "x.toml"], InvalidRequest, "go together"),
        (["--write", "x.toml", "--name", "My own"], ProfilesInvalid, "must be named"),
        (["--tokenizer", "none"], ContextAssemblerError, "none"),
    ],
)
def test_what_is_asked_wrongly_is_said(
    run: Any, tmp_path: Path, words: list[str], error: type[Exception], part: str
) -> None:
    questions = lines(tmp_path / "mine.jsonl", [asked("4000319")])

    with pytest.raises(error, match=part):
        run(questions, *words)


def test_a_file_without_questions_is_refused(run: Any, tmp_path: Path) -> None:
    with pytest.raises(QuestionSetInvalid, match="has no question"):
        run(lines(tmp_path / "mine.jsonl", []))
