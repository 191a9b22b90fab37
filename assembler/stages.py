"""
Seconds per stage of one request, and what time is left for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from assembler.ports import Clock
from assembler.report import Stage, StageTime

TimeLeft: TypeAlias = Callable[[], float | None]
"""Returns the seconds until the caller's deadline; None where there is none."""

StageObserver: TypeAlias = Callable[[Stage, float, float], None]
"""Is told of a stage when it ends: when it began and ended, by the clock."""


def no_deadline() -> None:
    """
    Return that there is no deadline.
    """
    return


def unobserved(stage: Stage, start: float, end: float) -> None:
    """
    Do nothing.
    """


class Stages:
    """
    Adds up the time of stages; a stage may run more than once, and beside another one.
    """

    def __init__(
        self,
        clock: Clock,
        time_left: TimeLeft = no_deadline,
        observe: StageObserver = unobserved,
    ) -> None:
        self._clock = clock
        self._time_left = time_left
        self._observe = observe
        self._seconds: dict[Stage, float] = {}

    @contextmanager
    def timed(self, stage: Stage) -> Iterator[None]:
        """
        Add the time of the block to the stage.
        """
        start = self._clock()
        try:
            yield
        finally:
            end = self._clock()
            self._seconds[stage] = self._seconds.get(stage, 0.0) + end - start
            self._observe(stage, start, end)

    def has_time_for(self, seconds: float) -> bool:
        """
        Return whether optional work that may take so long can still be begun.
        """
        left = self._time_left()
        return left is None or left > seconds

    @property
    def times(self) -> tuple[StageTime, ...]:
        """
        Return the stages that ran, in the order of the flow.
        """
        return tuple(
            StageTime(stage, self._seconds[stage]) for stage in Stage if stage in self._seconds
        )
