"""
A circuit breaker: what does not answer is not waited for again and again.

It holds no timer and makes no call. `QdrantLink` tells it of calls and asks whether the dependency
is back. docs/decisions/0030 says why it is not a library's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from adapters.calls import BreakerState
from assembler.ports import Clock

FAILURES = 5
"""Failures in a row, no success among them, after which calls are refused."""

FAILING_SECONDS = 0.5
"""How long ago the first of them has to have begun: one cut connection fails many calls at once."""

Ticket: TypeAlias = int
"""What a call was let through with; results of calls from before a change of state do not count."""


class Breaker:
    """
    Lets calls through while a dependency answers.

    CLOSED lets all through, OPEN none; HALF_OPEN, once the dependency is said to be back, lets
    through one at a time until one succeeds.
    """

    def __init__(self, clock: Clock, turned: Callable[[BreakerState], None]) -> None:
        """
        Begin closed.

        Args:
            clock: Measures how long calls have been failing.
            turned: Told every new state.
        """
        self._clock = clock
        self._turned = turned
        self._ticket: Ticket = 0
        self._failures = 0
        self._failing_since = 0.0
        self._is_trying = False
        self.state = BreakerState.CLOSED

    def admit(self) -> Ticket | None:
        """
        Return the ticket of a call that may be sent, or None where it is refused.

        Every ticket has to be given back, by `succeeded`, `failed` or `abandoned`.
        """
        if self.state is BreakerState.OPEN or self._is_trying:
            return None
        self._is_trying = self.state is BreakerState.HALF_OPEN
        return self._ticket

    def succeeded(self, ticket: Ticket) -> None:
        """
        The dependency has answered, be it with an error of its own.
        """
        if ticket != self._ticket:
            return
        self._failures = 0
        if self.state is BreakerState.HALF_OPEN:
            self._turn(BreakerState.CLOSED)

    def failed(self, ticket: Ticket, began: float) -> None:
        """
        The dependency could not be reached or did not answer a call that began then.
        """
        if ticket != self._ticket:
            return
        if self.state is BreakerState.HALF_OPEN:
            self._turn(BreakerState.OPEN)
            return
        self._failing_since = min(self._failing_since, began) if self._failures else began
        self._failures += 1
        if self._failures >= FAILURES and self._clock() - self._failing_since >= FAILING_SECONDS:
            self._turn(BreakerState.OPEN)

    def abandoned(self, ticket: Ticket) -> None:
        """
        The call ended before anything was known.
        """
        if ticket == self._ticket:
            self._is_trying = False

    def found(self) -> None:
        """
        The dependency is said to be back: let calls try it.
        """
        if self.state is BreakerState.OPEN:
            self._turn(BreakerState.HALF_OPEN)

    def _turn(self, state: BreakerState) -> None:
        self.state = state
        self._ticket += 1
        self._failures = 0
        self._is_trying = False
        self._turned(state)
