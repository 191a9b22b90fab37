"""
A clock that is moved by hand.
"""

from __future__ import annotations


class HandClock:
    """
    Tells its own `seconds`.
    """

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds
