"""
Intervals: the same in every run, around the figure, narrower with more questions.
"""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.bootstrap import Estimate, difference_of, mean_of, miss_ratio_of

values = st.lists(st.floats(0.0, 1.0, width=16), min_size=1, max_size=12)


def test_a_mean_has_an_interval_around_it() -> None:
    estimate = mean_of([0.0, 1.0] * 50)

    assert estimate.value == 0.5
    # the standard error of 100 draws of a fair coin is 0.05, and 1.96 of them are 0.098
    assert estimate.low == pytest.approx(0.402, abs=0.015)
    assert estimate.high == pytest.approx(0.598, abs=0.015)
    assert mean_of([0.0, 1.0] * 50) == estimate


def test_what_is_the_same_for_every_question_is_sure() -> None:
    assert mean_of([0.25] * 9) == Estimate(0.25, 0.25, 0.25)


def test_a_paired_difference_is_sure_where_every_question_gains_the_same() -> None:
    theirs = [0.0, 0.25, 0.5, 0.75]

    assert difference_of([one + 0.25 for one in theirs], theirs) == Estimate(0.25, 0.25, 0.25)
    with pytest.raises(ValueError, match="argument 2 is longer"):
        difference_of([0.0], theirs)


def test_the_ratio_of_misses_is_that_of_their_sums() -> None:
    ours, theirs = [0.0, 0.2, 0.4], [0.2, 0.4, 0.6]

    estimate = miss_ratio_of([[(ours, theirs)]])

    assert estimate.value == pytest.approx(0.5)
    assert estimate.low < 0.5 < estimate.high


def test_half_of_every_miss_is_surely_half() -> None:
    theirs = [0.25, 0.5, 1.0, 0.125]

    estimate = miss_ratio_of([[([one / 2 for one in theirs], theirs)]])

    assert (estimate.value, estimate.low, estimate.high) == (0.5, 0.5, 0.5)
    assert estimate.excludes(1.0)
    assert not estimate.excludes(0.5)


def test_sets_and_budgets_count_the_same_whatever_their_size() -> None:
    half = ([0.5] * 2, [1.0] * 2)
    whole = ([1.0] * 50, [1.0] * 50)
    none = ([0.0] * 50, [1.0] * 50)

    assert miss_ratio_of([[half], [whole]]).value == 0.75
    assert miss_ratio_of([[half], [whole, none]]).value == 0.5


def test_where_neither_misses_anything_nothing_is_said() -> None:
    none, half = ([0.0] * 3, [0.0] * 3), ([0.25] * 3, [0.5] * 3)

    assert miss_ratio_of([[none, half], [none], [half]]).value == 0.5
    alone = miss_ratio_of([[none]])
    assert math.isnan(alone.value)
    assert math.isnan(alone.low)


def test_what_the_other_alone_does_not_miss_is_infinitely_more() -> None:
    estimate = miss_ratio_of([[([0.5], [0.0])]])

    assert (estimate.value, estimate.low, estimate.high) == (math.inf, math.inf, math.inf)


def test_systems_that_were_asked_other_questions_are_not_compared() -> None:
    with pytest.raises(ValueError, match="1 and 2 questions"):
        miss_ratio_of([[([0.0], [0.0, 1.0])]])


@settings(max_examples=30)
@given(values)
def test_an_interval_lies_inside_what_was_measured(measured: list[float]) -> None:
    estimate = mean_of(measured, resamples=200)

    assert min(measured) - 1e-9 <= estimate.low <= estimate.high <= max(measured) + 1e-9
    assert min(measured) - 1e-9 <= estimate.value <= max(measured) + 1e-9


@settings(max_examples=30)
@given(values)
def test_a_system_misses_as_much_as_itself(misses: list[float]) -> None:
    estimate = miss_ratio_of([[([*misses, 1.0], [*misses, 1.0])]], resamples=200)

    assert (estimate.value, estimate.low, estimate.high) == (1.0, 1.0, 1.0)
