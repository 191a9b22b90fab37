"""
What is told of calls to a dependency, for whoever counts them.
"""

from __future__ import annotations

import enum
from typing import Protocol

QDRANT_OPERATIONS = ("query_batch", "scroll", "list_collections", "collection_info", "probe")
"""What calls to a Qdrant server are counted as."""


class BreakerState(enum.Enum):
    """
    Whether calls to a dependency are let through.
    """

    CLOSED = "closed"
    HALF_OPEN = "half_open"
    OPEN = "open"


class CallObserver(Protocol):
    """
    Is told of every call to a dependency.
    """

    def ended(self, operation: str, code: str, seconds: float) -> None:
        """
        A call has ended with this gRPC status code.
        """
        ...

    def retried(self) -> None:
        """
        A call that failed is sent once more.
        """
        ...

    def refused(self) -> None:
        """
        A call was not sent, since the dependency does not answer.
        """
        ...

    def turned(self, state: BreakerState) -> None:
        """
        The breaker has another state.
        """
        ...


class Unobserved:
    """
    The `CallObserver` that listens to nothing.
    """

    def ended(self, operation: str, code: str, seconds: float) -> None:
        """
        Do nothing.
        """

    def retried(self) -> None:
        """
        Do nothing.
        """

    def refused(self) -> None:
        """
        Do nothing.
        """

    def turned(self, state: BreakerState) -> None:
        """
        Do nothing.
        """
