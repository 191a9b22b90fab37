"""
Seconds per stage of one request.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from assembler.ports import Clock
from assembler.report import Stage, StageTime


class Stages:
    """
    Adds up the time of stages; a stage may run more than once, and beside another one.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
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
            self._seconds[stage] = self._seconds.get(stage, 0.0) + self._clock() - start

    @property
    def times(self) -> tuple[StageTime, ...]:
        """
        Return the stages that ran, in the order of the flow.
        """
        return tuple(
            StageTime(stage, self._seconds[stage]) for stage in Stage if stage in self._seconds
        )
