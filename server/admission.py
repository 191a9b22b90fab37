"""
Who may work now, who waits, and who is refused: early, and no tenant at another's cost.
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeAlias

from assembler.errors import DeadlineExceeded, Overloaded

STANDING_SHARE = 0.1
LEARNING_RATE = 1 / 16
EXPECTED_SHARE = 0.5
"""So much of its patience may a call expect to wait: turns come later than expected at times."""

Place: TypeAlias = "asyncio.Future[None]"


class Admission:
    """
    Lets so many calls work at once. The others wait in one line per tenant; the lines take turns.

    When all places in the lines are taken, a newcomer takes the last place of the longest line if
    that is longer than the newcomer's own, and is refused otherwise. Nobody waits longer than the
    patience, or than the call's own deadline, and who is to expect more than half of that, by the
    time that calls took lately, is refused at once. Where no place has been free for longer than
    the patience, that is no burst but too much load: then a part of it is all that a call may
    wait, as by the adaptive queue time limit of Maurer, "Fail at Scale", ACM Queue 13 (8), 2015.
    """

    def __init__(self, *, running: int, waiting: int, patience_seconds: float) -> None:
        """
        Open.

        Args:
            running: Calls that work at once.
            waiting: Calls that wait, over all tenants.
            patience_seconds: How long a call waits before it is refused; a tenth of it while there
                is too much load.
        """
        self._most_running = running
        self._most_waiting = waiting
        self._patience = patience_seconds
        self._free_at = math.inf  # until the first call
        self._seconds_of_work = 0.0  # of a call; a moving mean
        self._lines: OrderedDict[str, deque[Place]] = OrderedDict()
        self.running = 0
        self.waiting = 0

    @asynccontextmanager
    async def place(self, tenant: str, seconds_left: float) -> AsyncIterator[None]:
        """
        Hold one of the places to work in, once it is this call's turn.

        Args:
            tenant: Whose line to stand in.
            seconds_left: Until the call's deadline.

        Raises:
            Overloaded: There was no place to wait in, or it took too long.
            DeadlineExceeded: The deadline passed in the line.
        """
        if self.running < self._most_running and not self.waiting:
            self.running += 1
            self._free_at = asyncio.get_running_loop().time()
        else:
            await self._turn(tenant, seconds_left)
        began = asyncio.get_running_loop().time()
        try:
            yield
        finally:
            self._learn(asyncio.get_running_loop().time() - began)
            self._pass_on()

    async def _turn(self, tenant: str, seconds_left: float) -> None:
        loop = asyncio.get_running_loop()
        is_standing = loop.time() - self._free_at > self._patience
        patience = self._patience * (STANDING_SHARE if is_standing else 1.0)
        self._expect(tenant, min(patience, seconds_left))
        self._make_room(tenant)
        place: Place = loop.create_future()
        self._lines.setdefault(tenant, deque()).append(place)
        self.waiting += 1
        try:
            async with asyncio.timeout(min(patience, seconds_left)):
                await place
        except TimeoutError:
            self._leave_line(tenant, place)
            if seconds_left <= patience:
                raise DeadlineExceeded("the deadline passed while the call waited") from None
            raise self._refusal(f"it waited {patience:.3f} s") from None
        except BaseException:
            self._leave_line(tenant, place)
            raise

    def _expect(self, tenant: str, patience: float) -> None:
        """
        Refuse who would wait in vain. The first of a line never does for certain.
        """
        own = len(self._lines.get(tenant, ()))
        others = (len(line) for name, line in self._lines.items() if name != tenant)
        ahead = own + sum(min(length, own + 1) for length in others)
        seconds = ahead * self._seconds_of_work / self._most_running
        if seconds > EXPECTED_SHARE * patience:
            raise self._refusal(f"its turn would come in {seconds:.3f} s")

    def _learn(self, seconds: float) -> None:
        rate = LEARNING_RATE if self._seconds_of_work else 1.0
        self._seconds_of_work += rate * (seconds - self._seconds_of_work)

    def _make_room(self, tenant: str) -> None:
        if self.waiting < self._most_waiting:
            return
        own = len(self._lines.get(tenant, ()))
        longest = max(self._lines, key=lambda name: len(self._lines[name]), default=tenant)
        if len(self._lines.get(longest, ())) <= own + 1:
            raise self._refusal("no place to wait is left")
        last = self._lines[longest][-1]
        self._drop(longest, last)
        last.set_exception(self._refusal("others had waited less"))

    def _leave_line(self, tenant: str, place: Place) -> None:
        """
        Give up a place; one whose turn had just come is passed on.
        """
        if place in self._lines.get(tenant, ()):
            self._drop(tenant, place)
        elif place.done() and not place.cancelled() and place.exception() is None:
            self._pass_on()

    def _drop(self, tenant: str, place: Place) -> None:
        line = self._lines[tenant]
        line.remove(place)
        self.waiting -= 1
        if not line:
            del self._lines[tenant]

    def _pass_on(self) -> None:
        """
        Give the place to the first of the next line, or free it.
        """
        while self._lines:
            tenant, line = next(iter(self._lines.items()))
            place = line[0]
            self._drop(tenant, place)
            if tenant in self._lines:
                self._lines.move_to_end(tenant)
            if not place.done():
                place.set_result(None)
                return
        self.running -= 1
        self._free_at = asyncio.get_running_loop().time()

    def _refusal(self, reason: str) -> Overloaded:
        return Overloaded(
            f"{self.running} calls are in work and {self.waiting} wait, {reason}; try another pod, "
            "or again later"
        )
