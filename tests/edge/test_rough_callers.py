"""
Callers that vanish, send garbage, keep connections idle or ask for too much: the service stays up.
"""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import time
from collections.abc import AsyncIterator, Callable

import grpc
import pytest
from contextassembler.client import ContextAssemblerClient
from contextassembler.v1.context_assembler_service_pb2_grpc import ContextAssemblerServiceStub

from bench.served import serving
from indexer.request import Summary
from server.settings import Settings
from tests.edge.handbook import asking
from tests.edge.in_process import Running, channel_to, running_service
from tests.reply_checks import IN_TIME

MESSAGE_BYTES = 200_000
CONNECTIONS = 10_000
SPARE_FILES = 500
"""For all else that the two processes have open."""

PATIENCE_SECONDS = 120.0
"""Far beyond what is needed."""

MOST_MB = 400
"""That so many idle connections may cost; a connection has about 14 kB."""


@pytest.fixture
async def running(settings: Settings, handbook: Summary) -> AsyncIterator[Running]:
    assert handbook.is_published
    async with running_service(settings, max_message_bytes=MESSAGE_BYTES) as one:
        yield one


async def metric(running: Running, name: str) -> float:
    """
    Return the sum of what is measured under a name.
    """
    page = await running.metrics()
    return sum(float(line.split()[-1]) for line in page.splitlines() if line.startswith(name))


async def answers(running: Running) -> bool:
    """
    Return whether a new caller gets a context.
    """
    async with channel_to(running.service.port) as channel:
        reply = await ContextAssemblerServiceStub(channel).AssembleContext(asking(), timeout=60)
    return bool(reply.context.context)


async def test_callers_that_vanish_leave_nothing_behind(running: Running) -> None:
    async with channel_to(running.service.port) as channel:
        stub = ContextAssemblerServiceStub(channel)
        calls = [stub.AssembleContext(asking(f"Are fines {n} paid back?")) for n in range(40)]
        await asyncio.sleep(0.05)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    assert await answers(running)
    assert await metric(running, "context_assembler_inflight_requests ") == 0
    assert await metric(running, 'context_assembler_queue_length{queue="admission"}') == 0


async def test_garbage_on_the_port_hurts_no_one(running: Running) -> None:
    for garbage in (
        b"GET / HTTP/1.1\r\n\r\n",
        os.urandom(4096),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff",
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", running.service.port)
        writer.write(garbage)
        await writer.drain()
        writer.close()
        del reader

    assert await answers(running)


def test_idle_connections_keep_no_one_out(settings: Settings, handbook: Summary) -> None:
    assert handbook.is_published
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(CONNECTIONS, most - SPARE_FILES)
    with serving(settings.data_dir) as served:
        host, port = served.address.split(":")
        resident = served.resident_mb
        idle = [socket.create_connection((host, int(port))) for _ in range(wanted)]

        wait_until(lambda: served.process.num_fds() >= wanted)
        assert is_answered(served.address)
        for connection in idle:
            connection.close()
        wait_until(lambda: served.process.num_fds() < SPARE_FILES)
        assert is_answered(served.address)
        assert served.resident_mb < resident + MOST_MB


def wait_until(is_so: Callable[[], bool]) -> None:
    """
    Wait for what has to come.
    """
    until = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.1)


def is_answered(address: str) -> bool:
    """
    Return whether a new caller gets a context.
    """
    with ContextAssemblerClient(address, timeout_seconds=60) as client:
        return bool(client.assemble_context(asking()).context)


async def test_a_message_over_the_limit_is_refused_and_the_next_one_answered(
    running: Running,
) -> None:
    async with channel_to(running.service.port) as channel:
        stub = ContextAssemblerServiceStub(channel)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.AssembleContext(asking("x" * (MESSAGE_BYTES + 1)))
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert (await stub.AssembleContext(asking())).context.context


async def test_deadlines_of_any_length_end_in_an_answer_or_in_time(running: Running) -> None:
    async with channel_to(running.service.port) as channel:
        stub = ContextAssemblerServiceStub(channel)
        calls = [
            stub.AssembleContext(asking(f"Are fines {n} paid back?"), timeout=0.001 * 3**n)
            for n in range(9)
            for _ in range(3)
        ]
        results = await asyncio.gather(*calls, return_exceptions=True)

    codes = {one.code() for one in results if isinstance(one, grpc.aio.AioRpcError)}
    assert grpc.StatusCode.DEADLINE_EXCEEDED in codes
    assert codes <= IN_TIME
    assert await metric(running, "context_assembler_inflight_requests ") == 0
    assert await metric(running, "context_assembler_budget_exceeded_total ") == 0
