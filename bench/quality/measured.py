"""
One context of one question, measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assembler.span import Span
from evaluation import measures
from evaluation.measures import Shown
from evaluation.question_set import Question


@dataclass(frozen=True, slots=True)
class Measured:
    """
    What is known of one context; figures that are means or counts over questions in reports.

    Attributes:
        missed: Of the evidence that the budget could hold, the part that is not there.
        seconds: What the system took after its searches.
    """

    evidence_recall: float
    fully_covered: float
    precision: float
    context_tokens: float
    over_budget: float
    hit_at_5: float
    mrr: float
    sections_reached: float
    duplication_ratio: float
    seconds: float
    missed: float


@dataclass(frozen=True, slots=True)
class Row:
    """
    A measured context, and of what.

    Attributes:
        question: The question's position in the set.
    """

    system: str
    budget: int
    question: int
    measured: Measured


def measured(
    question: Question,
    shown: Shown,
    *,
    budget: int,
    evidence_tokens: int,
    sections: Mapping[str, Sequence[Span]],
    seconds: float,
) -> Measured:
    """
    Return everything that is measured of a context.

    Args:
        question: With its evidence.
        shown: The context.
        budget: Most tokens that it may have.
        evidence_tokens: Tokens of all its evidence.
        sections: Where the sections of the shown documents are.
        seconds: What making it took after the searches.
    """
    evidence = question.evidence
    recall = measures.evidence_recall(evidence, shown)
    attainable = measures.attainable_recall(evidence_tokens, budget)
    return Measured(
        evidence_recall=recall,
        fully_covered=float(measures.is_fully_covered(evidence, shown)),
        precision=measures.precision(evidence, shown),
        context_tokens=shown.tokens,
        over_budget=float(shown.tokens > budget),
        hit_at_5=float(measures.is_hit(evidence, shown)),
        mrr=measures.reciprocal_rank(evidence, shown),
        sections_reached=measures.sections_reached(shown, sections),
        duplication_ratio=measures.duplication_ratio(shown.text),
        seconds=seconds,
        missed=max(attainable - recall, 0.0),
    )
