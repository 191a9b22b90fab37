"""
Which value of a weight is taken: the arithmetic, and that chance alone is not.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assembler.profile import DEFAULT_PROFILE
from evaluation.bootstrap import CONFIDENCE
from evaluation.trials import FEWEST_QUESTIONS, Trial, Trials
from evaluation.weights import Weight, profile_with, profiles_with

RECALLS = st.lists(st.floats(0.0, 1.0), min_size=FEWEST_QUESTIONS, max_size=30)


def trials(weight: Weight, **found: tuple[list[float], list[float]]) -> Trials:
    """
    Return the trials of values, written v1 for 1, each with recall and tokens of its questions.
    """
    by_value = {
        float(name[1:]): Trial({100: recall}, {100: tokens})
        for name, (recall, tokens) in found.items()
    }
    return Trials(weight, 0.0, by_value)


@given(value=st.floats(0.0, 1.0))
def test_bm25_and_dense_share_one(value: float) -> None:
    profile = profile_with(Weight.BM25, value, DEFAULT_PROFILE)

    assert profile.bm25 == value
    assert profile.dense + profile.bm25 == pytest.approx(1.0, abs=1e-6)


@given(weight=st.sampled_from(Weight), values=st.sets(st.floats(0.0, 1.0), min_size=2))
def test_every_value_is_tried_once_beside_the_current_one(
    weight: Weight, values: set[float]
) -> None:
    profiles = profiles_with(weight, tuple(values), DEFAULT_PROFILE)

    mine = weight.of(DEFAULT_PROFILE)
    assert list(profiles) == sorted({*values, mine})
    assert profiles[mine] is DEFAULT_PROFILE
    assert all(weight.of(one) == value for value, one in profiles.items())
    names = [one.name for one in profiles.values()]
    assert len(set(names)) == len(names)


@given(recall=RECALLS)
def test_equal_values_are_kept(recall: list[float]) -> None:
    tokens = [50.0] * len(recall)

    verdict = trials(Weight.SECTION, v0=(recall, tokens), v1=(recall, tokens)).verdict()

    assert verdict.value is None


@given(recall=RECALLS, gain=st.floats(0.001, 1.0))
def test_what_is_better_for_every_question_is_taken(recall: list[float], gain: float) -> None:
    tokens = [50.0] * len(recall)
    better = [one + gain for one in recall]

    found = trials(Weight.SECTION, v0=(recall, tokens), v1=(better, tokens))

    assert found.verdict().value == 1.0
    assert found.recall_change(1.0).value == pytest.approx(gain)
    assert found.recall_change(0.0).value == 0.0


@given(recall=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=FEWEST_QUESTIONS - 1))
def test_few_questions_decide_nothing(recall: list[float]) -> None:
    tokens = [50.0] * len(recall)
    better = [one + 1.0 for one in recall]

    verdict = trials(Weight.SECTION, v0=(recall, tokens), v1=(better, tokens)).verdict()

    assert verdict.value is None
    assert "cannot tell" in verdict.reason


def test_the_more_values_the_wider_the_interval_that_decides() -> None:
    draw = random.Random(1)
    current = ([draw.random() for _ in range(40)], [50.0] * 40)
    other = ([draw.random() for _ in range(40)], [50.0] * 40)
    few = trials(Weight.SECTION, v0=current, v1=other)
    many = trials(Weight.SECTION, v0=current, v1=other, **{f"v{n}": other for n in range(2, 9)})

    assert few.strict == pytest.approx(CONFIDENCE)
    assert many.strict == pytest.approx(1.0 - (1.0 - CONFIDENCE) / 8)
    assert many.recall_change(1.0).low < few.recall_change(1.0).low
    assert many.recall_change(1.0, 100) == few.recall_change(1.0, 100)


def test_chance_alone_is_rarely_taken() -> None:
    """
    Nine values that are as good as the current one: one in twenty runs may take one.
    """
    draw = random.Random(20)
    taken = 0
    for _ in range(60):
        made = {f"v{n}": ([draw.random() for _ in range(50)], [50.0] * 50) for n in range(10)}
        taken += trials(Weight.SECTION, **made).verdict().value is not None

    assert taken <= 6


def test_a_price_may_cost_one_point_at_most() -> None:
    recall = [0.9, 0.95] * 10
    shorter, longer = [50.0, 60.0] * 10, [90.0, 95.0] * 10
    within, beyond = [one - 0.005 for one in recall], [one - 0.02 for one in recall]
    current = (recall, longer)

    assert trials(Weight.PRICE, v0=current, v1=(within, shorter)).verdict().value == 1.0
    assert trials(Weight.PRICE, v0=current, v1=(beyond, shorter)).verdict().value is None
    assert trials(Weight.PRICE, v0=current, v1=(recall, longer)).verdict().value is None


def test_the_mean_over_budgets_decides() -> None:
    low, high = [0.4] * 12, [0.6] * 12
    found = Trials(
        Weight.SECTION,
        0.0,
        {
            0.0: Trial({1: low, 2: high}, {1: low, 2: high}),
            1.0: Trial({1: high, 2: high}, {1: high, 2: low}),
        },
    )

    assert found.recall(1.0).value == pytest.approx(0.6)
    assert found.recall_change(1.0).value == pytest.approx(0.1)
    assert found.recall_change(1.0, 2).value == 0.0
    assert found.tokens_change(1.0, 2).value == pytest.approx(-0.2)
    assert (found.budgets, found.questions) == ((1, 2), 12)
