"""
From rows to figures: per system and budget the mean of every measure with its interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any

from bench.quality import baselines
from bench.quality.measured import Measured, Row
from bench.quality.run import AUTO, FULL
from evaluation.bootstrap import Estimate, difference_of, mean_of, miss_ratio_of

HEADLINE_BUDGETS = (512, 1024, 2048, 4096)
DIGITS = 6


@dataclass(frozen=True)
class Results:
    """
    Everything that was measured of one set.

    Attributes:
        cells: What was measured of each question, in their order, by system and budget.
    """

    name: str
    questions: int
    settings: Mapping[str, Any]
    cells: Mapping[tuple[str, int], tuple[Measured, ...]]

    @classmethod
    def of(
        cls, name: str, questions: int, settings: Mapping[str, Any], rows: Iterable[Row]
    ) -> Results:
        """
        Return the results of rows that are sorted by question.
        """
        cells: dict[tuple[str, int], list[Measured]] = {}
        for row in rows:
            cells.setdefault((row.system, row.budget), []).append(row.measured)
        frozen = {key: tuple(found) for key, found in cells.items()}
        return cls(name, questions, settings, frozen)

    @property
    def systems(self) -> tuple[str, ...]:
        """
        Return every system that was measured, ours first.
        """
        return tuple(dict.fromkeys(system for system, _ in self.cells))

    @property
    def budgets(self) -> tuple[int, ...]:
        """
        Return the budgets, as they were asked for.
        """
        return tuple(dict.fromkeys(budget for _, budget in self.cells))

    @property
    def over_budget(self) -> int:
        """
        Return how many contexts of any system have more tokens than their budget.
        """
        return int(sum(one.over_budget for found in self.cells.values() for one in found))

    def values(self, system: str, budget: int, measure: str) -> list[float]:
        """
        Return one measure of every question.
        """
        return [getattr(one, measure) for one in self.cells[system, budget]]

    def mean(self, system: str, budget: int, measure: str) -> Estimate:
        """
        Return the mean of a measure over the questions.
        """
        return mean_of(self.values(system, budget, measure))

    def best_same(self, budget: int) -> str | None:
        """
        Return the line of the same ingredients that misses least; None without baselines.
        """
        there = [name for name in baselines.SAME if (name, budget) in self.cells]
        return min(there, key=lambda name: self.mean(name, budget, "missed").value, default=None)

    def misses(self, budget: int) -> tuple[list[float], list[float]] | None:
        """
        Return what ours with FULL and the best same-ingredient line miss of each question.
        """
        best = self.best_same(budget)
        if best is None or (FULL, budget) not in self.cells:
            return None
        return self.values(FULL, budget, "missed"), self.values(best, budget, "missed")

    def change(self, system: str, budget: int) -> Estimate:
        """
        Return how much more of the evidence a system has than ours with FULL.
        """
        measure = "evidence_recall"
        return difference_of(
            self.values(system, budget, measure), self.values(FULL, budget, measure)
        )


def headline(sets: Iterable[Results], budgets: Sequence[int]) -> Estimate | None:
    """
    Return what ours misses of what the best same-ingredient lines miss, in the mean over sets.

    Over several budgets, a set's figure is the mean of its budgets'.
    """
    groups = [[pair for at in budgets if (pair := one.misses(at)) is not None] for one in sets]
    return miss_ratio_of(groups) if groups and all(groups) else None


def as_json(results: Results, peers: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """
    Return the results as they are written: FULL on top; AUTO, baselines, ablations, peers below.

    Args:
        results: What was measured of a set.
        peers: The report of `bench.peers` on the same set.
    """
    has_full = FULL in results.systems
    shape: dict[str, Any] = {
        "set": results.name,
        "questions": results.questions,
        "settings": dict(results.settings),
        "budgets": _budgets(results, FULL if has_full else AUTO),
    }
    if AUTO in results.systems:
        shape["auto"] = {"budgets": _budgets(results, AUTO)}
    known = (FULL, AUTO)
    for name, there in (
        ("baselines", [one for one in results.systems if one in baselines.NAMES]),
        ("ablations", [one for one in results.systems if one not in (*known, *baselines.NAMES)]),
    ):
        if there:
            shape[name] = {one: {"budgets": _budgets(results, one)} for one in there}
    if peers is not None:
        shape["peers"] = dict(peers)
    ratios = {
        str(budget): {"best_same": results.best_same(budget), **_ratio(ratio)}
        for budget in results.budgets
        if (ratio := headline([results], [budget])) is not None
    }
    return {**shape, "miss_ratio": ratios} if ratios else shape


def _budgets(results: Results, system: str) -> dict[str, dict[str, Any]]:
    return {str(budget): _cell(results, system, budget) for budget in results.budgets}


def _cell(results: Results, system: str, budget: int) -> dict[str, Any]:
    cell: dict[str, Any] = {}
    for one in fields(Measured):
        if one.name == "over_budget":
            cell[one.name] = int(sum(results.values(system, budget, one.name)))
            continue
        estimate = results.mean(system, budget, one.name)
        name = "context_tokens_mean" if one.name == "context_tokens" else one.name
        cell[name] = round(estimate.value, DIGITS)
        cell[f"{name}_interval"] = [round(estimate.low, DIGITS), round(estimate.high, DIGITS)]
    return cell


def _ratio(estimate: Estimate) -> dict[str, Any]:
    """
    Return a ratio as JSON has it, which knows neither infinity nor what is not a number.
    """
    value, low, high = (one if math.isfinite(one) else None for one in astuple(estimate))
    return {"ratio": value, "interval": [low, high]}
