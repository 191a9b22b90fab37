"""
What health checks are told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from grpc_health.v1 import health, health_pb2

from adapters.calls import BreakerState

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


class Readiness:
    """
    Says that the service serves from its start on, and not while its index does not answer.

    docs/decisions/0031 says why.
    """

    def __init__(self, state: health.aio.HealthServicer, names: Sequence[str]) -> None:
        """
        Begin not started.

        Args:
            state: What health checks read.
            names: The services that are ready or not; liveness is none of them.
        """
        self._state = state
        self._names = names
        self._is_started = False
        self._is_answering = True
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """
        Say that the service serves.
        """
        self._is_started = True
        await self._show()

    def turned(self, state: BreakerState) -> None:
        """
        The index answers, or does not.
        """
        self._is_answering = state is not BreakerState.OPEN
        task = asyncio.create_task(self._show())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _show(self) -> None:
        is_ready = self._is_started and self._is_answering
        for name in self._names:
            await self._state.set(name, SERVING if is_ready else NOT_SERVING)
