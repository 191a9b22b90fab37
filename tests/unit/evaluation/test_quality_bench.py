"""
The quality bench from a folder to figures, with the product's own indexer and model.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bench.quality.__main__ import app
from bench.quality.baselines import NAMES
from bench.quality.picture import PictureImpossible, check_drawing
from bench.quality.stored import EvidenceMoved
from evaluation.json_lines import QuestionSetInvalid

TRAINS = "# Trains\n\nTickets are refunded until the day before the journey.\n\n## Dogs\n\n"
DOGS = {"1": "Dogs travel for free on all trains.\n", "2": "Dogs pay half of the usual fare.\n"}
BREAD = "# Bread\n\nLet the dough rest for nine hours in a cool cellar before you bake it.\n"


def evidence(doc_id: str, text: str, part: str) -> dict[str, Any]:
    start = text.index(part)
    return {"doc_id": doc_id, "start": start, "end": start + len(part), "text": part}


def written(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    Return a folder with one set: a page in two versions, and a page without.
    """
    root = tmp_path_factory.mktemp("sets")
    place = root / "tiny"
    (place / "docs").mkdir(parents=True)
    texts = {"t1": TRAINS + DOGS["1"], "t2": TRAINS + DOGS["2"], "bread": BREAD}
    for doc_id, text in texts.items():
        (place / "docs" / f"{doc_id}.txt").write_text(text, encoding="utf-8")
    common = {"lang": "en", "format": "markdown"}
    written(
        place / "docs.jsonl",
        [
            {"doc_id": "t1", "source": "trains.md", "version": "1", **common},
            {"doc_id": "t2", "source": "trains.md", "version": "2", **common},
            {"doc_id": "bread", "source": "bread.md", "version": "", **common},
        ],
    )
    ask = "What do dogs pay on trains?"
    written(
        place / "questions.dev.jsonl",
        [
            {
                "id": f"dogs-{version}",
                "question": ask,
                "lang": "en",
                "version": version,
                "scope_doc_ids": [f"t{version}"],
                "evidence": [evidence(f"t{version}", texts[f"t{version}"], DOGS[version].strip())],
            }
            for version in ("1", "2")
        ],
    )
    return root


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("work")


@pytest.fixture
def run(folder: Path, work: Path, model_folder: Path, tokenizer_folder: Path, tmp_path: Path):
    """
    Return how to run the bench: with further options, to the figures that it wrote.
    """

    def ran(*options: str, exit_code: int = 0) -> Any:
        out = tmp_path / "figures.json"
        given = ["--data", folder, "--set", "tiny", "--work", work, "--model", model_folder]
        given += ["--processes", 1, "--json", out, *options]
        result = CliRunner().invoke(
            app,
            [str(one) for one in given],
            env={"CONTEXT_ASSEMBLER_TOKENIZER_DIR": str(tokenizer_folder)},
        )
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == exit_code, result.output
        return json.loads(out.read_text())

    return ran


def test_figures_are_reported_for_both_fills_and_every_baseline(run: Any) -> None:
    found = run("--budgets", "16,256", "--ablations")

    assert (found["set"], found["questions"]) == ("tiny", 2)
    assert found["budgets"]["256"]["evidence_recall"] == 1.0
    assert found["budgets"]["256"]["fully_covered_interval"] == [1.0, 1.0]
    assert found["budgets"]["256"]["hit_at_5"] == 1.0
    assert 0 < found["budgets"]["16"]["context_tokens_mean"] <= 16
    assert set(found["auto"]["budgets"]) == {"16", "256"}
    assert tuple(found["baselines"]) == NAMES
    assert "without bm25" in found["ablations"]
    every = [found, found["auto"], *found["baselines"].values(), *found["ablations"].values()]
    assert [one["budgets"][at]["over_budget"] for one in every for at in ("16", "256")] == (
        [0] * 2 * len(every)
    )


def test_a_pinned_or_scoped_question_reads_its_version_alone(run: Any) -> None:
    for option in ("--pinned", "--scoped"):
        found = run("--budgets", "256", "--fill", "full", option, "--no-baselines")

        budget = found["budgets"]["256"]
        assert "auto" not in found
        assert budget["evidence_recall"] == 1.0
        # both parts of one version and nothing else: of 32 to 35 characters in 92 to 95
        assert 0.3 < budget["precision"] < 0.4
        assert budget["sections_reached"] == 1.0


def test_questions_may_lie_outside_the_folder(run: Any, tmp_path: Path) -> None:
    part = "nine hours in a cool cellar"
    asked = [
        {
            "id": "bread",
            "question": "How long does dough rest?",
            "evidence": [evidence("bread", BREAD, part)],
        }
    ]
    path = written(tmp_path / "mine.jsonl", asked)

    found = run("--questions", path, "--budgets", "64", "--fill", "auto", "--no-baselines")

    assert found["questions"] == 1
    assert found["budgets"] == found["auto"]["budgets"]
    assert found["budgets"]["64"]["evidence_recall"] == 1.0
    assert "baselines" not in found


def test_choices_are_read_in_any_case(run: Any) -> None:
    choices = ("--fill", "FULL", "--expansion", "Chunk", "--order", "EDGES", "--format", "xMl")

    found = run("--budgets", "64", "--no-baselines", *choices, "--mode", "Coarse_To_Fine")

    names = ("fill", "expansion", "order", "format", "mode")
    assert [found["settings"][name] for name in names] == [
        "full",
        "chunk",
        "edges",
        "xml",
        "coarse_to_fine",
    ]


@pytest.mark.parametrize("option", ["--fill", "--expansion", "--order", "--format", "--mode"])
def test_a_choice_that_is_none_is_said(option: str, folder: Path) -> None:
    result = CliRunner().invoke(app, ["--data", str(folder), "--set", "tiny", option, "fullest"])

    assert result.exit_code == 2
    assert "'fullest' is not one of" in result.output


def test_foreign_questions_are_asked_for_their_tokens_alone(run: Any, folder: Path) -> None:
    """
    The stop rule is seen beside the set's own questions, also with more budget than there is text.
    """
    other = folder / "other"
    (other / "docs").mkdir(parents=True)
    (other / "docs" / "b.txt").write_text(BREAD, encoding="utf-8")
    written(other / "docs.jsonl", [{"doc_id": "b", "lang": "en", "format": "markdown"}])
    asked = [{"id": "q", "question": "Rest?", "evidence": [evidence("b", BREAD, "nine hours")]}]
    written(other / "questions.dev.jsonl", [{**asked[0], "scope_doc_ids": ["b"]}])

    found = run("--foreign", "other", "--scoped")

    assert (found["set"], found["foreign"], found["fill"]) == ("tiny", "other", "auto")
    assert set(found["budgets"]) == {"4096", "32000"}
    for one in found["budgets"].values():
        assert (one["own"]["questions"], one["foreign"]["questions"]) == (2, 1)
        assert 0 < one["own"]["context_tokens_mean"] < 200
        assert one["foreign"]["context_tokens_mean"] > 0
    assert set(run("--foreign", "other", "--budgets", "20")["budgets"]) == {"20"}
    with pytest.raises(ValueError, match="does not hold nobody"):
        run("--foreign", "nobody")
    with pytest.raises(ValueError, match="one set"):
        run("--foreign", "other", "--set", "other")


def test_a_large_budget_is_measured_under_auto(run: Any) -> None:
    found = run("--budgets", "32000", "--fill", "auto", "--no-baselines")

    assert found["budgets"]["32000"]["evidence_recall"] == 1.0
    assert found["budgets"]["32000"]["over_budget"] == 0


def test_the_same_documents_are_indexed_once(run: Any, work: Path) -> None:
    run("--budgets", "64", "--no-baselines")
    before = {one: one.stat().st_mtime_ns for one in (work / "indexes").glob("*/CURRENT")}

    run("--budgets", "64", "--no-baselines")
    after = {one: one.stat().st_mtime_ns for one in (work / "indexes").glob("*/CURRENT")}
    run("--budgets", "64", "--no-baselines", "--fresh")
    (path,) = (work / "indexes").glob("*/CURRENT")

    assert before == after
    assert path.stat().st_mtime_ns > after[path]


def test_evidence_that_does_not_stand_in_the_stored_text_is_refused(
    run: Any, folder: Path, tmp_path: Path
) -> None:
    """
    The indexer removes a byte order mark, so that every offset after it moves.
    """
    place = folder / "moved"
    (place / "docs").mkdir(parents=True)
    text = "\ufeff" + BREAD
    (place / "docs" / "b.txt").write_bytes(text.encode())
    written(place / "docs.jsonl", [{"doc_id": "b", "lang": "en", "format": "markdown"}])
    asked = [{"id": "q", "question": "Rest?", "evidence": [evidence("b", text, "nine hours")]}]
    written(place / "questions.dev.jsonl", asked)

    with pytest.raises(EvidenceMoved, match="question 'q'"):
        run("--set", "moved", "--budgets", "64")


def test_what_is_asked_wrongly_is_said(run: Any) -> None:
    with pytest.raises(ValueError, match="does not hold nowhere"):
        run("--set", "nowhere")
    with pytest.raises(ValueError, match="numbers with commas"):
        run("--budgets", "many")
    with pytest.raises(ValueError, match="above 0"):
        run("--budgets", "0")
    with pytest.raises(ValueError, match="take one"):
        run("--pinned", "--scoped")
    with pytest.raises(QuestionSetInvalid, match="cannot be read"):
        run("--questions", "/nowhere.jsonl")


def test_recall_is_drawn(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "pictures" / "recall.png"

    run("--budgets", "32,64", "--picture", path)

    assert path.read_bytes().startswith(b"\x89PNG")


def test_what_drawing_needs_is_named_where_it_is_missing() -> None:
    with pytest.raises(PictureImpossible, match="pip install --group bench"):
        check_drawing("package_that_nobody_has")
