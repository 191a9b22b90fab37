"""
Callers that wait for their answers, and arrivals that wait for nobody.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from bench.served import Answer

Ask: TypeAlias = Callable[[], Awaitable[Answer]]
"""Asks something new."""

WARM_UP = 20
"""Questions that are asked before the first one that counts."""


@dataclass(frozen=True, slots=True)
class Phase:
    """
    What the callers saw in one phase.
    """

    answers: tuple[Answer, ...]
    seconds: float

    @property
    def accepted(self) -> list[Answer]:
        """
        Return the answers that have a context.
        """
        return [one for one in self.answers if one.code == "OK"]

    @property
    def refused(self) -> list[Answer]:
        """
        Return the answers that say that there is too much load.
        """
        return [one for one in self.answers if one.code == "RESOURCE_EXHAUSTED"]

    @property
    def per_second(self) -> float:
        """
        Return the contexts per second.
        """
        return len(self.accepted) / self.seconds

    def percentile(self, part: float) -> float:
        """
        Return a percentile of the accepted calls' seconds.
        """
        return percentile([one.seconds for one in self.accepted], part)


async def closed(ask: Ask, clients: int, seconds: float) -> Phase:
    """
    Let so many callers ask, each again as soon as it is answered.
    """
    answers: list[Answer] = []
    began = time.perf_counter()

    async def ask_on() -> None:
        while time.perf_counter() - began < seconds:
            answers.append(await ask())

    await asyncio.gather(*(ask_on() for _ in range(clients)))
    return Phase(tuple(answers), time.perf_counter() - began)


async def open_loop(ask: Ask, per_second: float, seconds: float) -> Phase:
    """
    Send at random times, however long answers take; time counts from when a call was due.
    """
    draw = random.Random(per_second)  # noqa: S311 - no secrets
    calls: list[asyncio.Task[Answer]] = []
    began = due = time.perf_counter()

    async def timed(at: float) -> Answer:
        late = time.perf_counter() - at
        answer = await ask()
        return replace(answer, seconds=answer.seconds + late)

    while due - began < seconds:
        due += draw.expovariate(per_second)
        await asyncio.sleep(max(due - time.perf_counter(), 0.0))
        calls.append(asyncio.create_task(timed(due)))
    answers = await asyncio.gather(*calls)
    return Phase(tuple(answers), time.perf_counter() - began)


def percentile(values: Sequence[float], part: float) -> float:
    """
    Return a percentile by the nearest rank; not a number where there are no values.
    """
    return sorted(values)[max(math.ceil(part * len(values)) - 1, 0)] if values else math.nan
