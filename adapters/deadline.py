"""
The deadline of the call in work, which every read keeps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeAlias

TimeLeft: TypeAlias = Callable[[], float | None]
"""Returns the seconds until the caller's deadline, or None where there is none."""

DEADLINE: ContextVar[float | None] = ContextVar("deadline", default=None)
"""When the present call has to be answered, in `time.monotonic` seconds; None where it may last."""


def seconds_left() -> float | None:
    """
    Return the seconds until the deadline of the present call, or None where it has none.
    """
    deadline = DEADLINE.get()
    return None if deadline is None else deadline - time.monotonic()
