"""
Verdicts as figures: what part of the answers is supported, and what the run cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.answers.asking import BEST, Judged
from bench.answers.chat import Reply
from bench.quality.run import AUTO, FULL
from evaluation.bootstrap import Estimate, difference_of, mean_of

PERCENT = 100.0
SYSTEMS = (FULL, AUTO, BEST)
DIGITS = 6


class Figures:
    """
    What became of all contexts, by system and budget, question by question.
    """

    def __init__(self, found: Sequence[Judged]) -> None:
        self._cells: dict[tuple[str, int], list[Judged]] = {}
        for one in sorted(found, key=lambda each: each.asked.question):
            self._cells.setdefault((one.asked.system, one.asked.budget), []).append(one)
        self.budgets = tuple(dict.fromkeys(one.asked.budget for one in found))

    def cell(self, system: str, budget: int) -> Sequence[Judged]:
        """
        Return what became of one system's contexts, in the order of the questions.
        """
        return self._cells[system, budget]

    def supported(self, system: str, budget: int) -> Estimate:
        """
        Return the part of the answers that is supported; one without a verdict is not.
        """
        return mean_of(self._supported(system, budget))

    def gain(self, system: str, budget: int) -> Estimate:
        """
        Return how much more is supported than from the best same-ingredient line, in pairs.
        """
        return difference_of(self._supported(system, budget), self._supported(BEST, budget))

    def _supported(self, system: str, budget: int) -> list[float]:
        return [float(one.verdict.is_supported is True) for one in self.cell(system, budget)]


def show(console: Console, figures: Figures, title: str) -> None:
    """
    Print a line per budget and system.
    """
    table = Table(
        "budget", "context", "supported %", "more than the best line", "declined %", "no verdict",
        "context tokens", "prompt tokens", title=title,
    )  # fmt: skip
    for budget in figures.budgets:
        for system in SYSTEMS:
            cell = figures.cell(system, budget)
            name = system if system != BEST else f"{system}: {cell[0].asked.line}"
            gain = "" if system == BEST else _figure(figures.gain(system, budget), sign="+")
            table.add_row(
                str(budget),
                name,
                _figure(figures.supported(system, budget)),
                gain,
                f"{PERCENT * _mean([one.verdict.is_declined for one in cell]):.1f}",
                str(sum(one.verdict.is_supported is None for one in cell)),
                f"{_mean([one.asked.shown.tokens for one in cell]):.0f}",
                f"{_mean([one.verdict.answered.prompt_tokens for one in cell]):.0f}",
            )
    console.print(table)


def show_cost(console: Console, found: Sequence[Judged]) -> None:
    """
    Print what the endpoint says that this run cost, kept replies apart.
    """
    for name, replies in (
        ("answers", [one.verdict.answered for one in found]),
        ("verdicts", [reply for one in found for reply in one.verdict.judged]),
    ):
        fresh = [one for one in replies if not one.is_cached]
        console.print(
            f"{name}: {len(fresh)} asked, {_sum(fresh, 'prompt')} prompt tokens and "
            f"{_sum(fresh, 'completion')} completion tokens; {len(replies) - len(fresh)} kept from "
            "before"
        )


def as_json(figures: Figures) -> dict[str, Any]:
    """
    Return the figures as they are written.
    """
    return {
        str(budget): {system: _shape(figures, system, budget) for system in SYSTEMS}
        for budget in figures.budgets
    }


def _shape(figures: Figures, system: str, budget: int) -> dict[str, Any]:
    cell = figures.cell(system, budget)
    shape = {
        "line": cell[0].asked.line,
        "supported": _rounded(figures.supported(system, budget)),
        "declined": sum(one.verdict.is_declined for one in cell),
        "no_verdict": sum(one.verdict.is_supported is None for one in cell),
        "context_tokens_mean": round(_mean([one.asked.shown.tokens for one in cell]), DIGITS),
    }
    return shape if system == BEST else {**shape, "gain": _rounded(figures.gain(system, budget))}


def _rounded(one: Estimate) -> list[float]:
    return [round(part, DIGITS) for part in astuple(one)]


def _figure(one: Estimate, sign: str = "") -> str:
    value, low, high = (PERCENT * part for part in astuple(one))
    return f"{value:{sign}.1f} [{low:{sign}.1f}, {high:{sign}.1f}]"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _sum(replies: Sequence[Reply], kind: str) -> int:
    return sum(getattr(one, f"{kind}_tokens") for one in replies)
