"""
Admission: how many work, who is next, and who is refused.
"""

from __future__ import annotations

import asyncio
import random

import pytest

from assembler.errors import DeadlineExceeded, Overloaded
from server.admission import Admission


class Calls:
    """
    Calls that hold their place until they are let go.
    """

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self.entered: list[str] = []
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.ends: dict[str, asyncio.Event] = {}

    async def begin(self, name: str, tenant: str = "", seconds_left: float = 60.0) -> None:
        self.ends[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._call(name, tenant, seconds_left))
        await settled()

    async def end(self, name: str) -> None:
        self.ends[name].set()
        await settled()

    async def _call(self, name: str, tenant: str, seconds_left: float) -> None:
        async with self.admission.place(tenant, seconds_left):
            self.entered.append(name)
            await self.ends[name].wait()


async def settled() -> None:
    for _ in range(8):
        await asyncio.sleep(0)


async def pass_time(seconds: float) -> None:
    """
    Move the loop's clock, so that what was due by then happens now.
    """
    loop = asyncio.get_running_loop()
    before = loop.time
    loop.time = lambda: before() + seconds  # type: ignore[method-assign]
    await settled()


def calls(running: int = 1, waiting: int = 4, patience_seconds: float = 60.0) -> Calls:
    return Calls(Admission(running=running, waiting=waiting, patience_seconds=patience_seconds))


async def test_so_many_work_at_once_and_the_next_follows_the_first_that_ends() -> None:
    some = calls(running=2)
    for name in ("a", "b", "c"):
        await some.begin(name)

    assert some.entered == ["a", "b"]
    assert (some.admission.running, some.admission.waiting) == (2, 1)

    await some.end("b")

    assert some.entered == ["a", "b", "c"]
    assert (some.admission.running, some.admission.waiting) == (2, 0)


async def test_tenants_take_turns() -> None:
    some = calls(waiting=9)
    await some.begin("first")
    for name in ("big-1", "big-2", "big-3", "small-1", "other-1", "small-2"):
        await some.begin(name, name.partition("-")[0])

    for _ in range(6):
        await some.end(some.entered[-1])

    assert some.entered[1:] == ["big-1", "small-1", "other-1", "big-2", "small-2", "big-3"]


async def test_a_newcomer_takes_the_last_place_of_a_longer_line() -> None:
    some = calls(waiting=3)
    await some.begin("first")
    for name in ("big-1", "big-2", "big-3"):
        await some.begin(name, "big")

    await some.begin("small-1", "small")

    with pytest.raises(Overloaded):
        await some.tasks["big-3"]
    for _ in range(3):
        await some.end(some.entered[-1])
    assert some.entered == ["first", "big-1", "small-1", "big-2"]


async def test_where_no_line_is_longer_the_newcomer_is_refused() -> None:
    some = calls(waiting=2)
    await some.begin("first")
    await some.begin("a-1", "a")
    await some.begin("b-1", "b")

    await some.begin("c-1", "c")
    await some.begin("a-2", "a")

    for name in ("c-1", "a-2"):
        with pytest.raises(Overloaded) as caught:
            await some.tasks[name]
        assert caught.value.retry_seconds > 0
    assert some.admission.waiting == 2


async def test_without_places_to_wait_what_cannot_work_at_once_is_refused() -> None:
    some = calls(waiting=0)
    await some.begin("first")

    await some.begin("second")

    with pytest.raises(Overloaded):
        await some.tasks["second"]
    await some.end("first")
    await some.begin("third")
    assert some.entered == ["first", "third"]


async def test_patience_and_deadlines_end_the_waiting() -> None:
    some = calls(patience_seconds=20.0)
    await some.begin("first")
    await some.begin("patient", seconds_left=60.0)
    await some.begin("late", seconds_left=10.0)

    await pass_time(19.0)

    with pytest.raises(DeadlineExceeded):
        await some.tasks["late"]
    assert not some.tasks["patient"].done()

    await pass_time(2.0)

    with pytest.raises(Overloaded):
        await some.tasks["patient"]
    assert some.admission.waiting == 0
    await some.end("first")
    assert some.admission.running == 0


async def test_while_no_place_gets_free_a_tenth_of_the_patience_is_enough() -> None:
    some = calls(patience_seconds=20.0)
    await some.begin("first")
    await pass_time(15.0)
    await some.begin("burst")
    await pass_time(10.0)  # no place has been free for longer than the patience

    await some.begin("too much")
    await pass_time(3.0)

    with pytest.raises(Overloaded, match=r"2\.000 s"):
        await some.tasks["too much"]
    assert not some.tasks["burst"].done()
    await some.end("first")
    await some.end("burst")
    await some.begin("next")
    await some.begin("a burst again")
    await pass_time(3.0)
    assert not some.tasks["a burst again"].done()


async def test_who_would_wait_in_vain_is_refused_at_once() -> None:
    some = calls(running=2, waiting=99, patience_seconds=40.0)
    for name in ("a", "b"):
        await some.begin(name)
    await pass_time(16.0)
    for name in ("a", "b"):
        await some.end(name)
    for name in ("c", "d"):
        await some.begin(name)

    # A turn comes every eight seconds, and half of the patience may be expected to be waited.
    for name in ("first", "second", "third"):
        await some.begin(name)
    await some.begin("fourth")
    await some.begin("in a hurry", seconds_left=30.0)
    await some.begin("of a short line", tenant="other", seconds_left=30.0)

    with pytest.raises(Overloaded, match=r"2 calls .* 3 wait, its turn would come in 24\.\d+ s"):
        await some.tasks["fourth"]
    with pytest.raises(Overloaded, match=r"its turn would come in 24\.\d+ s"):
        await some.tasks["in a hurry"]
    assert not some.tasks["third"].done()
    assert not some.tasks["of a short line"].done()


async def test_the_first_in_line_is_never_refused_for_what_calls_took() -> None:
    some = calls(patience_seconds=20.0)
    await some.begin("slow")
    await pass_time(3600.0)
    await some.end("slow")
    await some.begin("another")

    await some.begin("first")
    await some.begin("second")

    assert not some.tasks["first"].done()
    with pytest.raises(Overloaded):
        await some.tasks["second"]
    await some.end("another")
    assert some.entered == ["slow", "another", "first"]


async def test_one_who_goes_away_leaves_the_line() -> None:
    some = calls()
    await some.begin("first")
    await some.begin("gone")
    await some.begin("next")

    some.tasks["gone"].cancel()
    await settled()
    await some.end("first")

    assert some.entered == ["first", "next"]


async def test_a_turn_that_comes_as_one_goes_away_is_passed_on() -> None:
    some = calls()
    await some.begin("first")
    await some.begin("gone")
    await some.begin("next")

    some.ends["first"].set()
    while some.admission.waiting == 2:
        await asyncio.sleep(0)
    some.tasks["gone"].cancel()
    await settled()

    assert "next" in some.entered
    await some.end("next")
    await settled()
    assert (some.admission.running, some.admission.waiting) == (0, 0)


@pytest.mark.parametrize("seed", range(20))
async def test_no_place_is_ever_lost(seed: int) -> None:
    chance = random.Random(seed)
    admission = Admission(running=3, waiting=5, patience_seconds=0.004)
    most = 0

    async def call() -> None:
        nonlocal most
        async with admission.place(str(chance.randrange(3)), chance.choice([60.0, 0.002])):
            most = max(most, admission.running)
            await asyncio.sleep(chance.random() / 300)

    tasks = []
    for _ in range(120):
        tasks.append(asyncio.create_task(call()))
        await asyncio.sleep(chance.random() / 1000)
        if chance.random() < 0.2:
            chance.choice(tasks).cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)

    expected = (type(None), Overloaded, DeadlineExceeded, asyncio.CancelledError)
    assert all(isinstance(one, expected) for one in results)
    assert results.count(None) > 0
    assert most <= 3
    assert (admission.running, admission.waiting) == (0, 0)
