"""
How benches are run, and where their figures go.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rich.console import Console

from bench.command import command, run, show_figures, write_json
from bench.served import Answer, check_answers, stage_ms


def test_an_error_of_a_bench_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> None:
        msg = "there are no documents[/]"
        raise ValueError(msg)

    monkeypatch.setattr(sys, "argv", ["bench"])
    with pytest.raises(SystemExit, match="2"):
        run(command(broken))

    assert capsys.readouterr().err == "error: there are no documents[/]\n"


def test_only_the_failures_that_are_named_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(sys, "argv", ["bench"])
    with pytest.raises(KeyError, match="a bug"):
        run(command(broken), (ValueError,))


def test_nested_figures_have_the_outer_name_before_them() -> None:
    console = Console(width=60)
    figures = {"chunks": 30_000, "rss_mb": {"start": 1234.5, "samples": 7}, "p50_ms": 0.125}

    with console.capture() as shown:
        show_figures(console, "a title", figures)

    lines = [line.split("│")[1:3] for line in shown.get().splitlines() if "│" in line]
    assert [(name.strip(), value.strip()) for name, value in lines] == [
        ("chunks", "30,000"),
        ("rss_mb: start", "1,234.50"),
        ("rss_mb: samples", "7"),
        ("p50_ms", "0.12"),
    ]
    assert "a title" in shown.get()


def test_figures_are_written_where_they_go(tmp_path: Path) -> None:
    write_json(tmp_path / "new" / "figures.json", {"a": [1.5]}, indent=1)
    write_json(None, {"a": object()})

    assert (tmp_path / "new" / "figures.json").read_text() == '{\n "a": [\n  1.5\n ]\n}\n'


def test_stages_are_medians_and_one_that_was_not_there_took_no_time() -> None:
    answers = [
        Answer(0.1, "OK", stages={"embed": 0.004, "search": 0.010}),
        Answer(0.1, "OK", stages={"search": 0.020}),
        Answer(0.1, "UNAVAILABLE"),
    ]

    assert stage_ms(answers) == {"embed": 0.0, "search": 10.0}
    assert stage_ms([]) == {}


def test_wrong_answers_are_not_measured() -> None:
    good = Answer(0.1, "OK", 5)
    check_answers([good, good])

    with pytest.raises(RuntimeError, match="1 of 2 answers are wrong, the first: UNAVAILABLE"):
        check_answers([good, Answer(0.1, "UNAVAILABLE")])
    with pytest.raises(RuntimeError, match="1 of 1 answers are wrong, the first: OK"):
        check_answers([Answer(0.1, "OK", 9, is_wrong=True)])
