"""
From contexts to verdicts: ours under FULL and AUTO, and the best line of the same ingredients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from bench.answers.chat import Chat
from bench.answers.judge import Verdict, judged
from bench.quality.baselines import SAME
from bench.quality.measured import Row
from bench.quality.results import Results
from bench.quality.run import AUTO, FULL
from evaluation.measures import Shown
from evaluation.question_set import Question

BEST = "best same-ingredient line"


@dataclass(frozen=True, slots=True)
class Asked:
    """
    A context that is to be answered from.

    Attributes:
        system: FULL, AUTO or `BEST`.
        question: The question's position.
        line: The name of the system that `BEST` stands for; else the system's own.
    """

    system: str
    budget: int
    question: int
    line: str
    shown: Shown


@dataclass(frozen=True, slots=True)
class Judged:
    """
    A context and what became of it.
    """

    asked: Asked
    verdict: Verdict


def chosen(contexts: Sequence[tuple[Row, Shown]], questions: int) -> list[Asked]:
    """
    Return ours, and per budget the line that misses least evidence over all the questions.
    """
    ours = [
        Asked(row.system, row.budget, row.question, row.system, shown)
        for row, shown in contexts
        if row.system in (FULL, AUTO)
    ]
    results = Results.of("", questions, {}, (row for row, _ in contexts))
    best = {budget: results.best_same(budget) for budget in results.budgets}
    theirs = [
        Asked(BEST, row.budget, row.question, row.system, shown)
        for row, shown in contexts
        if row.system in SAME and row.system == best[row.budget]
    ]
    return [*ours, *theirs]


def verdicts(
    chat: Chat,
    asked: Iterable[Asked],
    questions: Sequence[Question],
    *,
    answer_model: str,
    judge_model: str,
    parallel: int,
    tell: Callable[[int], None],
) -> list[Judged]:
    """
    Return what became of each context, in their order.

    Args:
        chat: The endpoint.
        asked: The contexts.
        questions: By position.
        answer_model: Answers from the context.
        judge_model: Says whether the evidence supports the answer.
        parallel: Contexts in work at once.
        tell: Told how many more are judged.

    Raises:
        EndpointFailed: The endpoint does not answer.
    """

    def one(context: Asked) -> Judged:
        question = questions[context.question]
        verdict = judged(
            chat,
            answer_model=answer_model,
            judge_model=judge_model,
            context=context.shown.text,
            question=question.text,
            evidence=[part.text for part in question.evidence],
        )
        tell(1)
        return Judged(context, verdict)

    with ThreadPoolExecutor(parallel) as pool:
        waiting = [pool.submit(one, context) for context in asked]
        try:
            return [each.result() for each in waiting]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
