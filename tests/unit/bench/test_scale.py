"""
The benches of scale, from a folder of documents to figures: what they count is what there is.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from bench.budgets import budgets
from bench.recall import recall
from bench.sizes import sizes
from bench.soak import soak
from bench.wire import measure

FIGURES = "figures.json"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    Return a folder for documents and indexes.
    """
    place = tmp_path_factory.mktemp("scale")
    (place / "docs").mkdir()
    for animal in ("dog", "cat", "owl", "hen"):
        parts = (
            f"# The {animal}\n\nAn {animal} number {n} needs {n} cups of grain, and a quiet place "
            f"beside the {n}th gate of the old farm.\n"
            for n in range(12)
        )
        (place / "docs" / f"{animal}.md").write_text("\n".join(parts), encoding="utf-8")
    return place


@pytest.fixture
def figures(
    place: Path, model_folder: Path, tokenizer_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., dict[str, Any]]:
    """
    Return what runs a bench on the documents, and returns its figures.
    """
    for name, value in {
        "MODEL_DIR": model_folder,
        "TOKENIZER_DIR": tokenizer_folder,
        "MAX_WAIT_SECONDS": 60,
    }.items():
        monkeypatch.setenv(f"CONTEXT_ASSEMBLER_{name}", str(value))

    def ran(bench: Callable[..., None], *arguments: object) -> dict[str, Any]:
        app = typer.Typer()
        app.command()(bench)
        options = ("--data", place / "docs", "--work", place / "work", "--json", place / FIGURES)
        result = CliRunner().invoke(
            app, [str(one) for one in (*options, *arguments)], catch_exceptions=False
        )
        assert result.exit_code == 0, result.output
        found: dict[str, Any] = json.loads((place / FIGURES).read_text(encoding="utf-8"))
        return found

    return ran


def test_recall_is_told_for_every_share(figures: Callable[..., dict[str, Any]]) -> None:
    found = figures(
        recall, "--chunks", 200, "--share", 0.1, "--share", 0.5, "--requests", 3, "--budget", 256
    )

    small, large = found["tenants"]
    assert found["chunks"] >= 200
    assert (small["share"], large["share"]) == (0.1, 0.5)
    assert 20 <= small["chunks"] < 100 <= large["chunks"]
    # so few vectors are searched exactly
    assert small["recall"] == small["worst"] == {"served": 1.0, "approximate": 1.0}
    assert set(large["search_ms"]) == {"served", "approximate", "exact"}


def test_budgets_are_filled_by_turns(figures: Callable[..., dict[str, Any]]) -> None:
    found = figures(
        budgets, "--chunks", 200, "--budget", 1024, "--budget", 256, "--queries", 2, "--requests", 2
    )

    small, large = found["budgets"]
    assert (small["budget"], large["budget"]) == (256, 1024)
    assert small["tokens"] <= 256 < large["tokens"] <= 1024
    assert len(found["cpu_over_tokens"]) == 1


def test_sizes_are_compared_with_the_smallest(figures: Callable[..., dict[str, Any]]) -> None:
    found = figures(sizes, "--chunks", 200, "--chunks", 100, "--requests", 2, "--budget", 256)

    small, large = found["sizes"]
    assert 100 <= small["chunks"] < 200 <= large["chunks"]
    assert found["p50_over_smallest"] == [1.0, large["p50_ms"] / small["p50_ms"]]


def test_bytes_of_both_directions_are_counted(figures: Callable[..., dict[str, Any]]) -> None:
    found = figures(measure, "--chunks", 100, "--requests", 3, "--budget", 512)

    both = found["sent_bytes"] + found["received_bytes"]
    assert found["bytes_over_context"] == pytest.approx(both / found["context_bytes"])
    # answers travel compressed
    assert 0 < found["received_bytes"] < found["hits_bytes"] + found["sections_bytes"]
    assert found["conversion_cpu_ms"] > 0


def test_a_soak_counts_every_request(figures: Callable[..., dict[str, Any]]) -> None:
    found = figures(soak, "--chunks", 100, "--seconds", 1, "--warm-up", 1)

    assert found["answered"] > 0
    assert (found["refused"], found["other_errors"], found["wrong"]) == (0, 0, 0)
    samples, rss = found["samples_mb"], found["rss_mb"]
    assert rss["largest"] == max(samples) >= rss["start"] > 100
