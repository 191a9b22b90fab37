"""
When all objects are looked at for cycles.
"""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator

import pytest

from server import collecting
from server.collecting import YOUNG, is_due, looks, settle, watch_cycles


class Node:
    """
    Something that can hold itself.
    """

    def __init__(self) -> None:
        self.own: Node = self


@pytest.fixture
def cycles_as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


@pytest.mark.parametrize(
    ("waited", "is_busy", "due"),
    [(59.9, False, False), (60.0, False, True), (599.9, True, False), (600.0, True, True)],
)
def test_all_is_looked_at_after_a_minute_at_rest_or_ten_under_load(
    waited: float, is_busy: bool, due: bool
) -> None:
    assert is_due(waited, is_busy=is_busy) is due


@pytest.mark.usefixtures("cycles_as_before")
def test_what_is_there_when_serving_begins_is_set_apart() -> None:
    settle()

    assert gc.get_threshold() == YOUNG
    assert gc.get_freeze_count() > 10_000


@pytest.mark.usefixtures("cycles_as_before")
@pytest.mark.parametrize("has_worked", [True, False])
def test_old_cycles_go_after_work_alone(has_worked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    settle()
    monkeypatch.setattr(collecting, "REST_SECONDS", 0.0)
    monkeypatch.setattr(collecting, "LOOK_SECONDS", 0.0)
    node = Node()
    seen = weakref.ref(node)
    gc.collect(1)  # it is among the old ones now, which nothing looks at by itself
    del node

    async def some_beats() -> None:
        watching = asyncio.create_task(watch_cycles(lambda: False))
        await asyncio.sleep(0)  # it has begun
        if has_worked:
            before = looks()
            gc.collect(1)
            assert looks() == before + 1
        for _ in range(10):
            await asyncio.sleep(0)
        watching.cancel()

    gc.disable()
    try:
        asyncio.run(some_beats())
    finally:
        gc.enable()

    assert (seen() is None) is has_worked
