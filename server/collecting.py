"""
When Python looks for cycles while requests are served, and what is given back to the system first.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import time
from collections.abc import Callable

NEVER = 1_000_000_000

YOUNG = (4_000, 3, NEVER)
"""At how many new objects they are looked at, after how many such looks those that stayed are
looked at again, and that all are never looked at by themselves. Nothing else runs meanwhile, about
a microsecond an object. A request makes some ten thousand and leaves no cycles; kept records are
hundreds of thousands."""

LOOK_SECONDS = 10.0
REST_SECONDS = 60.0
"""After so long, all objects are looked at in a moment without any call in work."""

MOST_SECONDS = 600.0
"""After so long, in any moment."""


def settle() -> None:
    """
    Set models and tokenizers apart from what is looked at, and give back what loading them took.
    """
    gc.collect()
    gc.set_threshold(*YOUNG)
    gc.freeze()
    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:  # glibc has it
        trim(0)


async def watch_cycles(is_busy: Callable[[], bool]) -> None:
    """
    Collect, until cancelled, what the looks at new objects have left.

    Args:
        is_busy: Whether a call is in work.
    """
    collected, done = time.monotonic(), looks()
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        waited = time.monotonic() - collected
        if looks() > done and is_due(waited, is_busy=is_busy()):
            gc.collect()
            collected, done = time.monotonic(), looks()


def is_due(waited: float, *, is_busy: bool) -> bool:
    """
    Return whether all objects are looked at now, so many seconds after the last time.
    """
    return waited >= (MOST_SECONDS if is_busy else REST_SECONDS)


def looks() -> int:
    """
    Return how often objects were looked at that had been looked at once.
    """
    count: int = gc.get_stats()[1]["collections"]
    return count
