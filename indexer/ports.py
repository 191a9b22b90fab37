"""
What the indexer needs from outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from adapters.chat import Asked


class ChatModel(Protocol):
    """
    Models that write: what they are asked once is not asked again.
    """

    def answers(self, model: str, asked: Sequence[Asked]) -> list[str | None]:
        """
        Return one answer per question, in order; None for one that is left out.
        """
        ...


class Progress(Protocol):
    """
    Told how far a stage is.
    """

    def __call__(self, stage: str, done: int, total: int) -> None:
        """
        Show it.
        """
        ...
