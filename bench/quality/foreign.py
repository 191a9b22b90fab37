"""
The stop rule where nothing can be found: another set's questions, of an index without answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Console
from rich.table import Table

from assembler.request import Fill
from bench.quality.options import Job
from bench.quality.run import Runner
from evaluation.bootstrap import Estimate, mean_of
from evaluation.question_set import Question

BUDGETS = (4096, 32000)
DIGITS = 6


@dataclass(frozen=True)
class Foreign:
    """
    Tokens of the contexts under AUTO, for a set's own questions and for another's.

    Attributes:
        own: Of every question, by budget.
        foreign: Likewise.
    """

    name: str
    other: str
    own: Mapping[int, Sequence[int]]
    foreign: Mapping[int, Sequence[int]]

    @property
    def over_budget(self) -> int:
        """
        Return how many contexts have more tokens than their budget.
        """
        asked = (*self.own.items(), *self.foreign.items())
        return sum(one > budget for budget, found in asked for one in found)


def context_tokens(
    job: Job, questions: Sequence[Question], tell: Callable[[int], None]
) -> Mapping[int, Sequence[int]]:
    """
    Return the tokens of each question's context under AUTO, by the budgets of the job.

    Args:
        job: The index that is asked.
        questions: They may be of another set: their evidence, version and documents are not used.
        tell: Told how many questions more are done.
    """
    runner = Runner(job)
    found: dict[int, list[int]] = {budget: [] for budget in job.options.budgets}
    try:
        for question in questions:
            plain = replace(question, version="", scope_doc_ids=())
            for budget, counts in found.items():
                counts.append(runner.tokens(plain, budget, Fill.AUTO))
            tell(1)
    finally:
        runner.close()
    return found


def show_foreign(console: Console, found: Foreign) -> None:
    """
    Print the mean tokens of both, and what part the foreign questions' contexts are of the own.
    """
    table = Table(
        "budget",
        f"own questions ({len(next(iter(found.own.values())))})",
        f"questions of {found.other} ({len(next(iter(found.foreign.values())))})",
        "foreign / own",
        title=f"{found.name}, fill auto: mean tokens of the context with 95 % intervals",
    )
    for budget in found.own:
        own, foreign = mean_of(found.own[budget]), mean_of(found.foreign[budget])
        ratio = f"{foreign.value / own.value:.2f}" if own.value else ""
        table.add_row(str(budget), _figure(own), _figure(foreign), ratio)
    console.print(table)


def foreign_json(found: Foreign) -> dict[str, Any]:
    """
    Return the figures as they are written.
    """
    budgets = {
        str(budget): {"own": _cell(found.own[budget]), "foreign": _cell(found.foreign[budget])}
        for budget in found.own
    }
    return {"set": found.name, "foreign": found.other, "fill": "auto", "budgets": budgets}


def _figure(one: Estimate) -> str:
    return f"{one.value:.0f} [{one.low:.0f}, {one.high:.0f}]"


def _cell(counts: Sequence[int]) -> dict[str, Any]:
    one = mean_of(counts)
    return {
        "questions": len(counts),
        "context_tokens_mean": round(one.value, DIGITS),
        "context_tokens_mean_interval": [round(one.low, DIGITS), round(one.high, DIGITS)],
    }
