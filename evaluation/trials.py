"""
What was measured of each value of a weight, and whether one of them is to be taken.

A value is compared with the current one on the same questions. Among many values one looks better
by chance, so the interval that decides is as much wider as there are values (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluation.bootstrap import CONFIDENCE, Estimate, difference_of, mean_of
from evaluation.weights import Weight

FEWEST_QUESTIONS = 10
"""With fewer, all of them agreeing is chance still."""

TOLERANCE = 0.01
"""Recall that a higher price may cost at most, of 1."""


@dataclass(frozen=True, slots=True)
class Trial:
    """
    What was measured of one value.

    Attributes:
        recall: Evidence recall of every question, in their order, by budget.
        tokens: Context tokens likewise.
    """

    recall: Mapping[int, Sequence[float]]
    tokens: Mapping[int, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """
    What to do: take a value, or keep the current one.

    Attributes:
        value: None where the current one is to be kept.
    """

    value: float | None
    reason: str


@dataclass(frozen=True)
class Trials:
    """
    The trials of all values.

    Attributes:
        current: The value that the others are compared with; it is one of them.
    """

    weight: Weight
    current: float
    by_value: Mapping[float, Trial]

    @property
    def budgets(self) -> tuple[int, ...]:
        """
        Return the budgets that were asked with.
        """
        return tuple(self.by_value[self.current].recall)

    @property
    def questions(self) -> int:
        """
        Return how many questions were asked.
        """
        return len(self.by_value[self.current].recall[self.budgets[0]])

    @property
    def strict(self) -> float:
        """
        Return the confidence at which every value together has `CONFIDENCE`.
        """
        return 1.0 - (1.0 - CONFIDENCE) / max(len(self.by_value) - 1, 1)

    def recall(self, value: float, budget: int | None = None) -> Estimate:
        """
        Return the mean recall at one budget, or over all.
        """
        return mean_of(_values(self.by_value[value].recall, budget))

    def tokens(self, value: float, budget: int | None = None) -> Estimate:
        """
        Return the mean context tokens at one budget, or over all.
        """
        return mean_of(_values(self.by_value[value].tokens, budget))

    def recall_change(self, value: float, budget: int | None = None) -> Estimate:
        """
        Return how much more recall a value has; over all budgets with the interval that decides.
        """
        mine, current = self.by_value[value].recall, self.by_value[self.current].recall
        return self._change(mine, current, budget)

    def tokens_change(self, value: float, budget: int | None = None) -> Estimate:
        """
        Return how many more tokens a value takes; over all budgets with the interval that decides.
        """
        mine, current = self.by_value[value].tokens, self.by_value[self.current].tokens
        return self._change(mine, current, budget)

    def verdict(self) -> Verdict:
        """
        Return whether to take a value.

        A weight is better where recall is significantly higher in the mean over the budgets. A
        price is better where contexts are significantly shorter and recall is at most `TOLERANCE`
        lower: what more recall is worth in tokens, figures cannot say.
        """
        if self.questions < FEWEST_QUESTIONS:
            return Verdict(
                None,
                f"{self.questions} questions cannot tell values apart; "
                f"ask {FEWEST_QUESTIONS} or more, better 100",
            )
        others = [value for value in self.by_value if value != self.current]
        if self.weight is Weight.PRICE:
            return self._price(others)
        better = [one for one in others if self.recall_change(one).low > 0.0]
        if not better:
            return Verdict(None, "no value is significantly better")
        best = max(better, key=lambda one: (self.recall_change(one).value, -one))
        return Verdict(best, "recall is significantly higher in the mean over the budgets")

    def _price(self, others: Sequence[float]) -> Verdict:
        better = [
            one
            for one in others
            if self.tokens_change(one).high < 0.0 and self.recall_change(one).low >= -TOLERANCE
        ]
        if not better:
            return Verdict(
                None,
                f"no price makes contexts significantly shorter at {100 * TOLERANCE:g} point of "
                "recall at most",
            )
        best = min(better, key=lambda one: (self.tokens(one).value, one))
        return Verdict(
            best,
            f"contexts are significantly shorter and recall is at most {100 * TOLERANCE:g} point "
            "lower",
        )

    def _change(
        self,
        mine: Mapping[int, Sequence[float]],
        current: Mapping[int, Sequence[float]],
        budget: int | None,
    ) -> Estimate:
        confidence = self.strict if budget is None else CONFIDENCE
        return difference_of(_values(mine, budget), _values(current, budget), confidence=confidence)


def _values(by_budget: Mapping[int, Sequence[float]], budget: int | None) -> list[float]:
    """
    Return the figures of every question, or each question's mean over the budgets.
    """
    if budget is not None:
        return list(by_budget[budget])
    return [sum(one) / len(one) for one in zip(*by_budget.values(), strict=True)]
