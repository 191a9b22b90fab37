"""
When calls are refused, and when they are let through again.
"""

from __future__ import annotations

import pytest

from adapters.breaker import FAILING_SECONDS, FAILURES, Breaker
from adapters.calls import BreakerState


class Turning:
    """
    A breaker, a clock that is moved by hand, and the states that it has had.
    """

    def __init__(self) -> None:
        self.seconds = 100.0
        self.states: list[BreakerState] = []
        self.breaker = Breaker(lambda: self.seconds, self.states.append)

    def fail(self, times: int = 1, *, seconds: float = 0.0) -> None:
        """
        Let calls fail one after the other, each after so long.
        """
        for _ in range(times):
            began = self.seconds
            ticket = self.breaker.admit()
            assert ticket is not None
            self.seconds += seconds
            self.breaker.failed(ticket, began)

    def open(self) -> None:
        """
        Let as many calls fail as it takes.
        """
        self.fail(FAILURES, seconds=FAILING_SECONDS)
        assert self.breaker.state is BreakerState.OPEN


@pytest.fixture
def turning() -> Turning:
    return Turning()


def test_calls_that_fail_in_a_row_for_a_while_open_it(turning: Turning) -> None:
    turning.fail(FAILURES - 1, seconds=FAILING_SECONDS)
    assert turning.breaker.admit() is not None

    turning.fail(seconds=FAILING_SECONDS)

    assert turning.states == [BreakerState.OPEN]
    assert turning.breaker.admit() is None


def test_one_cut_connection_does_not_open_it_however_many_calls_it_fails(turning: Turning) -> None:
    turning.fail(50, seconds=0.0)
    assert turning.breaker.state is BreakerState.CLOSED

    turning.seconds += FAILING_SECONDS
    turning.fail()

    assert turning.breaker.state is BreakerState.OPEN


def test_a_success_among_the_failures_keeps_it_closed(turning: Turning) -> None:
    for _ in range(10):
        turning.fail(FAILURES - 1, seconds=FAILING_SECONDS)
        ticket = turning.breaker.admit()
        assert ticket is not None
        turning.breaker.succeeded(ticket)

    assert turning.states == []


def test_half_open_lets_one_call_through_at_a_time(turning: Turning) -> None:
    turning.open()
    turning.breaker.found()

    ticket = turning.breaker.admit()
    assert ticket is not None
    assert turning.breaker.admit() is None
    turning.breaker.succeeded(ticket)

    assert turning.breaker.admit() is not None
    assert turning.states == [BreakerState.OPEN, BreakerState.HALF_OPEN, BreakerState.CLOSED]


def test_a_trial_that_fails_opens_it_again_at_once(turning: Turning) -> None:
    turning.open()
    turning.breaker.found()

    turning.fail()

    assert turning.breaker.state is BreakerState.OPEN


def test_a_trial_that_is_abandoned_makes_room_for_the_next(turning: Turning) -> None:
    turning.open()
    turning.breaker.found()
    ticket = turning.breaker.admit()
    assert ticket is not None

    turning.breaker.abandoned(ticket)

    assert turning.breaker.admit() is not None
    assert turning.breaker.state is BreakerState.HALF_OPEN


def test_calls_from_before_a_change_of_state_say_nothing_of_the_new_one(turning: Turning) -> None:
    old = turning.breaker.admit()
    assert old is not None
    turning.open()
    turning.breaker.found()
    trial = turning.breaker.admit()
    assert trial is not None

    turning.breaker.failed(old, 0.0)
    turning.breaker.succeeded(old)
    turning.breaker.abandoned(old)

    assert turning.breaker.state is BreakerState.HALF_OPEN
    assert turning.breaker.admit() is None


def test_a_closed_or_half_open_breaker_is_not_found_again(turning: Turning) -> None:
    turning.breaker.found()
    assert turning.states == []

    turning.open()
    turning.breaker.found()
    turning.breaker.found()

    assert turning.states == [BreakerState.OPEN, BreakerState.HALF_OPEN]
