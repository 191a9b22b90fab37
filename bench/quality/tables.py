"""
Results as a person reads them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from bench.quality import baselines
from bench.quality.results import HEADLINE_BUDGETS, Results, headline
from bench.quality.run import AUTO, FULL
from evaluation.bootstrap import Estimate

PERCENT = 100.0
MILLI = 1000.0
WIDTH = 150
COLUMNS = (
    ("evidence_recall", "recall %", PERCENT),
    ("fully_covered", "fully %", PERCENT),
    ("precision", "precision %", PERCENT),
    ("hit_at_5", "hit@5 %", PERCENT),
    ("mrr", "MRR", 1.0),
    ("sections_reached", "sections", 1.0),
    ("duplication_ratio", "repeated %", PERCENT),
    ("context_tokens", "tokens", 1.0),
    ("seconds", "ms", MILLI),
)
WITH_INTERVAL = frozenset(["evidence_recall", "fully_covered", "precision"])


def wide_console() -> Console:
    """
    Return the terminal, or where it is none or too narrow, lines of `WIDTH`.
    """
    console = Console(highlight=False, markup=False)
    return Console(highlight=False, markup=False, width=max(console.width, WIDTH))


def show(console: Console, results: Results) -> None:
    """
    Print what was measured of one set.
    """
    console.print(_ours(results))
    if any(one in baselines.NAMES for one in results.systems):
        console.print(_recalls(results))
    ablations = [one for one in results.systems if one not in (FULL, AUTO, *baselines.NAMES)]
    if ablations:
        console.print(_changes(results, ablations))


def show_headline(console: Console, sets: Sequence[Results]) -> None:
    """
    Print what ours misses of what the best same-ingredient lines miss.
    """
    budgets = [one for one in HEADLINE_BUDGETS if all(one in found.budgets for found in sets)]
    if not budgets or headline(sets, budgets) is None:
        return
    columns = [[one] for one in budgets] + [budgets]
    table = Table(
        "set",
        *map(str, budgets),
        "their mean",
        title="missed by ours / by the best same-ingredient line, of what could fit (FULL)",
    )
    for found in sets:
        table.add_row(found.name, *(_ratio([found], one) for one in columns))
    if len(sets) > 1:
        table.add_section()
        table.add_row("mean over sets", *(_ratio(sets, one) for one in columns))
    console.print(table)


def _ours(results: Results) -> Table:
    table = Table(
        "fill",
        "budget",
        *(title for _, title, _ in COLUMNS),
        "over",
        title=f"{results.name}: {results.questions} questions, means with 95 % intervals",
    )
    for system in (FULL, AUTO):
        for budget in results.budgets if system in results.systems else ():
            figures = (
                _figure(results.mean(system, budget, name), factor, is_sure=name in WITH_INTERVAL)
                for name, _, factor in COLUMNS
            )
            over = int(sum(results.values(system, budget, "over_budget")))
            table.add_row(system.rpartition(" ")[2], str(budget), *figures, str(over))
    return table


def _recalls(results: Results) -> Table:
    table = Table("system", *map(str, results.budgets), title=f"{results.name}: evidence recall %")
    for system in results.systems:
        if system in (FULL, AUTO, *baselines.NAMES):
            means = (
                results.mean(system, budget, "evidence_recall").value for budget in results.budgets
            )
            table.add_row(system, *(f"{PERCENT * mean:.1f}" for mean in means))
    return table


def _changes(results: Results, ablations: Sequence[str]) -> Table:
    table = Table(
        "ours, full",
        *map(str, results.budgets),
        title=f"{results.name}: change of evidence recall in points",
    )
    for system in ablations:
        changes = (results.change(system, budget) for budget in results.budgets)
        table.add_row(system, *(_figure(one, PERCENT, is_sure=True, sign="+") for one in changes))
    return table


def _ratio(sets: Sequence[Results], budgets: Sequence[int]) -> str:
    estimate = headline(sets, budgets)
    if estimate is None or math.isnan(estimate.value):
        return "neither misses any"
    is_one = len(sets) == len(budgets) == 1
    name = f"\n{sets[0].best_same(budgets[0])}" if is_one else ""
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]{name}"


def _figure(estimate: Estimate, factor: float, *, is_sure: bool, sign: str = "") -> str:
    digits = 1 if factor > 1.0 or estimate.high > 1.0 else 2
    value = f"{factor * estimate.value:{sign}.{digits}f}"
    if not is_sure:
        return value
    low, high = factor * estimate.low, factor * estimate.high
    return f"{value} [{low:{sign}.{digits}f}, {high:{sign}.{digits}f}]"
