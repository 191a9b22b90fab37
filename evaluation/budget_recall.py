"""
Evidence recall of assembled contexts at budgets, through the product's own path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from assembler.assemble import ContextAssembler
from assembler.errors import InvalidRequest
from assembler.ports import TokenCounter
from assembler.request import AssembleRequest, Budget, ContextTokens, Query, Target
from evaluation.json_lines import QuestionSetInvalid
from evaluation.measures import evidence_recall
from evaluation.question_set import Question
from evaluation.shown import DocumentName, shown_of


async def budget_recall(
    assembler: ContextAssembler,
    questions: Sequence[Question],
    target: Target,
    *,
    budgets: Sequence[int],
    counter: TokenCounter,
    name: DocumentName,
    sources: Callable[[Question], tuple[str, ...]],
    tell: Callable[[int], None],
) -> dict[str, tuple[float, ...]]:
    """
    Return the evidence recall of every question by budget.

    Args:
        assembler: Over the index.
        questions: With their evidence.
        target: The index.
        budgets: Tokens of the contexts.
        counter: Of the tokenizer that counts them.
        name: Names a document by source id and version, as the evidence does.
        sources: The sources that a question is asked of; () for all.
        tell: Told how many contexts more are there.

    Raises:
        QuestionSetInvalid: A question cannot be asked.
    """
    found: dict[str, list[float]] = {f"evidence_recall@{budget}": [] for budget in budgets}
    for question in questions:
        scope = replace(target.scope, source_ids=sources(question))
        for budget in budgets:
            request = AssembleRequest(
                queries=(Query(question.text),),
                targets=(replace(target, scope=scope),),
                budget=Budget(counter.name, ContextTokens(budget)),
            )
            try:
                context = await assembler.assemble(request)
            except InvalidRequest as error:
                raise QuestionSetInvalid(question.id, "question", str(error)) from error
            shown = shown_of(context, name, counter)
            found[f"evidence_recall@{budget}"].append(evidence_recall(question.evidence, shown))
            tell(1)
    return {measure: tuple(values) for measure, values in found.items()}
