"""
The connection that reads go through: bounded in time, tried again where that is safe, given up
while nobody answers, and made anew.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import TypeAlias, TypeVar

import grpc
from qdrant_client import AsyncQdrantClient
from qdrant_client import grpc as wire
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse

from adapters.breaker import Breaker, Ticket
from adapters.calls import BreakerState, CallObserver, Unobserved
from adapters.deadline import TimeLeft, seconds_left
from adapters.qdrant_connection import QdrantServer, time_for
from assembler.errors import DeadlineExceeded, IndexUnavailable
from assembler.ports import Clock

Answer = TypeVar("Answer")
Send: TypeAlias = Callable[[AsyncQdrantClient, float], Awaitable[Answer]]
"""Sends one call with this client, which may take so many seconds."""

PATIENCE_SECONDS = 0.25
"""A server that had less time than that for an answer has not failed."""

LEAVING_SECONDS = 1.0
"""When a caller goes away after so long without an answer, the server has failed."""

BACKOFF_SECONDS, MOST_BACKOFF_SECONDS = 0.05, 0.5
PROBE_SECONDS, MOST_PROBE_SECONDS = 0.1, 2.0
"""How soon a server that does not answer is asked whether it is back, doubled up to the second."""

_OLD_CALLS_SECONDS = 30.0
_USELESS = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAUTHENTICATED)
"""A pod with a wrong key is of no more use than one whose server is away."""

_RETRY_SECONDS = 1.0
_ANY = wire.CollectionExistsRequest(collection_name="ctx__")


class QdrantLink:
    """
    Sends reads to a Qdrant server. It is used on one event loop, and connects when it has to.
    """

    def __init__(
        self,
        server: QdrantServer,
        *,
        observer: CallObserver | None = None,
        clock: Clock = time.monotonic,
        time_left: TimeLeft = seconds_left,
    ) -> None:
        self._server = server
        self._client = server.reader()
        self._observer = observer or Unobserved()
        self._clock = clock
        self._time_left = time_left
        self._breaker = Breaker(clock, self._turned)
        self._probe_wait = PROBE_SECONDS
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def state(self) -> BreakerState:
        """
        Return whether calls are let through.
        """
        return self._breaker.state

    async def close(self) -> None:
        """
        Stop asking, and close the connection.
        """
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._client.close()

    async def call(self, operation: str, send: Send[Answer]) -> Answer:
        """
        Return the answer to a read.

        It is sent again only where it found nobody (UNAVAILABLE), after a random pause, and while
        the deadline has room for that.

        Args:
            operation: What it is counted as.
            send: Sends it; it may be sent more than once.

        Raises:
            grpc.RpcError: The server's own error.
            DeadlineExceeded: The caller's deadline passed.
            IndexUnavailable: The server has not been answering.
        """
        for attempt in range(self._server.retries + 1):
            try:
                return await self._once(operation, send)
            except grpc.aio.AioRpcError as error:
                is_last = attempt == self._server.retries
                if error.code() is not grpc.StatusCode.UNAVAILABLE or is_last:
                    raise
                most = min(BACKOFF_SECONDS * 2**attempt, MOST_BACKOFF_SECONDS)
                pause = random.uniform(most / 2, most)  # noqa: S311 - spreads load, hides nothing
                left = self._time_left()
                if left is not None and left <= 2 * pause:
                    raise
            self._observer.retried()
            await asyncio.sleep(pause)
        raise AssertionError  # the last attempt returned or raised

    async def _once(self, operation: str, send: Send[Answer]) -> Answer:
        most = self._server.timeout_seconds
        timeout = time_for(self._time_left, most)
        ticket = self._breaker.admit()
        if ticket is None:
            self._observer.refused()
            raise IndexUnavailable(
                "Qdrant has not been answering, or refuses the API key; it is asked again in "
                "the background",
                retry_seconds=_RETRY_SECONDS,
            )
        began, code = self._clock(), grpc.StatusCode.UNKNOWN
        try:
            answer = await send(self._client, timeout)
            code = grpc.StatusCode.OK
            self._breaker.succeeded(ticket)
        except grpc.aio.AioRpcError as error:
            code = error.code()
            self._judge(ticket, began, code, timeout)
            if code is grpc.StatusCode.DEADLINE_EXCEEDED and timeout < most:
                raise DeadlineExceeded("the deadline passed while Qdrant was asked") from error
            raise
        except ResourceExhaustedResponse:
            code = grpc.StatusCode.RESOURCE_EXHAUSTED
            self._breaker.succeeded(ticket)
            raise
        except asyncio.CancelledError:
            code = grpc.StatusCode.CANCELLED
            if self._clock() - began >= LEAVING_SECONDS:
                self._breaker.failed(ticket, began)
            raise
        finally:
            self._breaker.abandoned(ticket)
            self._observer.ended(operation, code.name, self._clock() - began)
        return answer

    def _judge(self, ticket: Ticket, began: float, code: grpc.StatusCode, timeout: float) -> None:
        if code in _USELESS:
            self._breaker.failed(ticket, began)
        elif code is not grpc.StatusCode.DEADLINE_EXCEEDED:
            self._breaker.succeeded(ticket)
        elif timeout >= PATIENCE_SECONDS:
            self._breaker.failed(ticket, began)

    def _turned(self, state: BreakerState) -> None:
        self._observer.turned(state)
        if state is BreakerState.OPEN:
            self._run(self._look_for_server())
        elif state is BreakerState.CLOSED:
            self._probe_wait = PROBE_SECONDS

    async def _look_for_server(self) -> None:
        """
        Ask until the server answers on a new connection: the old one may be dead without a sign.
        """
        while True:
            await asyncio.sleep(random.uniform(self._probe_wait / 2, self._probe_wait))  # noqa: S311 - spreads calls; no secret
            self._probe_wait = min(self._probe_wait * 2, MOST_PROBE_SECONDS)
            client = self._server.reader()
            if await self._answers(client):
                old, self._client = self._client, client
                self._run(_close_later(old))
                self._breaker.found()
                return
            await client.close()

    async def _answers(self, client: AsyncQdrantClient) -> bool:
        began, code = self._clock(), grpc.StatusCode.OK
        timeout = min(self._server.timeout_seconds, MOST_PROBE_SECONDS)
        try:
            await client.grpc_collections.CollectionExists(_ANY, timeout=timeout)
        except grpc.aio.AioRpcError as error:
            code = error.code()
        except ResourceExhaustedResponse:
            code = grpc.StatusCode.RESOURCE_EXHAUSTED
        self._observer.ended("probe", code.name, self._clock() - began)
        # Every other word is a sign of life.
        return code not in (*_USELESS, grpc.StatusCode.DEADLINE_EXCEEDED)

    def _run(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _close_later(client: AsyncQdrantClient) -> None:
    """
    Close a client that was replaced, after the calls that it is still waiting for.
    """
    try:
        await asyncio.sleep(_OLD_CALLS_SECONDS)
    finally:
        await client.close()
