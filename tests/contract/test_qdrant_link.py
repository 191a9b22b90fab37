"""
The connection to a Qdrant server: how long it waits, what it sends again, and when it gives up.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable

import grpc
import pytest

from adapters.calls import BreakerState
from adapters.deadline import DEADLINE, seconds_left
from assembler.errors import DeadlineExceeded, IndexUnavailable
from assembler.scope import ReadScope, Scope
from tests.contract.qdrant_reader import Reader, tried, until
from tests.qdrant_server.process import ServerProcess
from tests.qdrant_server.server import TestServer

UNAVAILABLE = grpc.StatusCode.UNAVAILABLE


@pytest.fixture
async def reader(server: TestServer) -> AsyncIterator[Reader]:
    made = Reader(server.port)
    made.publish()
    assert await made.search() == 2
    made.seen.codes.clear()
    server.forget()
    yield made
    await made.index.close()


async def test_a_read_that_finds_nobody_is_sent_again(server: TestServer, reader: Reader) -> None:
    server.fail["QueryBatch"] = [UNAVAILABLE, UNAVAILABLE]

    assert await reader.search() == 2

    assert server.calls == ["QueryBatch"] * 3
    assert reader.seen.retries == 2
    assert reader.seen.codes == {("query_batch", "UNAVAILABLE"): 2, ("query_batch", "OK"): 1}


async def test_it_is_sent_three_times_at_most(server: TestServer, reader: Reader) -> None:
    server.fail["QueryBatch"] = [UNAVAILABLE] * 9

    with pytest.raises(IndexUnavailable):
        await reader.search()

    assert server.calls == ["QueryBatch"] * 3


@pytest.mark.parametrize("code", ["INTERNAL", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED", "ABORTED"])
async def test_what_was_received_is_not_sent_again(
    server: TestServer, reader: Reader, code: str
) -> None:
    server.fail["QueryBatch"] = [grpc.StatusCode[code]]

    with pytest.raises(IndexUnavailable):
        await reader.search()

    assert server.calls == ["QueryBatch"]


async def test_it_is_not_sent_again_where_the_deadline_leaves_no_room(
    server: TestServer, reader: Reader
) -> None:
    server.fail["QueryBatch"] = [UNAVAILABLE]
    reader.left = 0.04

    with pytest.raises(IndexUnavailable):
        await reader.search()

    assert server.calls == ["QueryBatch"]


def test_a_write_is_never_sent_again(server: TestServer, reader: Reader) -> None:
    server.fail["Upsert"] = [UNAVAILABLE]

    with pytest.raises(IndexUnavailable):
        reader.publish()

    assert server.calls.count("Upsert") == 1


async def test_every_read_keeps_the_callers_deadline(server: TestServer, reader: Reader) -> None:
    server.delay_seconds = 30.0
    scope = ReadScope("docs", reader.version, readers_required=False, asked=Scope())
    reads: list[Callable[[], object]] = [
        reader.search,
        lambda: reader.index.resolve("docs", "", refresh=True),
        lambda: reader.index.rows("docs", "", "cats"),
        lambda: reader.index.sections(scope, ["a"]),
        lambda: reader.index.listings(""),
    ]
    for read in reads:
        reader.left = 0.2
        with pytest.raises(DeadlineExceeded):
            await read()  # type: ignore[misc]
        reader.left = 0.0
        with pytest.raises(DeadlineExceeded):
            await read()  # type: ignore[misc]

    assert sum(reader.seen.codes.values()) == len(reads)


async def test_the_deadline_is_that_of_the_call_in_work() -> None:
    assert seconds_left() is None

    async def called(seconds: float) -> float | None:
        DEADLINE.set(time.monotonic() + seconds)
        await asyncio.sleep(0)
        return seconds_left()

    short, long = await asyncio.gather(called(1.0), called(1000.0))

    assert short is not None
    assert long is not None
    assert 0 < short <= 1
    assert 900 < long <= 1000
    assert seconds_left() is None


async def test_a_server_that_is_slow_is_unavailable_once_its_own_time_is_up(
    server: TestServer, reader: Reader
) -> None:
    slow = Reader(server.port, timeout_seconds=0.1)
    slow.version = reader.version
    server.delay_seconds = 30.0

    with pytest.raises(IndexUnavailable, match="DEADLINE_EXCEEDED"):
        await slow.search()

    await slow.index.close()


async def test_a_dead_server_is_refused_at_once_and_found_again() -> None:
    with ServerProcess() as process:
        reader = Reader(process.port)
        reader.publish()
        process.kill()
        await until(lambda: not reader.index.is_answering, lambda: tried(reader))

        before = reader.seen.codes.copy()
        for _ in range(100):
            with pytest.raises(IndexUnavailable, match="has not been answering"):
                await reader.search()
        sent = reader.seen.codes - before
        assert reader.seen.refusals >= 100
        assert {operation for operation, _ in sent} <= {"probe"}

        process.start()
        await until(lambda: reader.index.is_answering, lambda: asyncio.sleep(0.02))
        assert await reader.search() == 2
        assert reader.seen.states[0] is BreakerState.OPEN
        assert reader.seen.states[-2:] == [BreakerState.HALF_OPEN, BreakerState.CLOSED]
        await reader.index.close()


async def test_a_server_that_hangs_is_given_up_though_callers_have_little_time() -> None:
    with ServerProcess() as process:
        reader = Reader(process.port)
        reader.publish()
        await reader.search()
        reader.left = 0.3
        process.pause()

        await asyncio.gather(*(tried(reader) for _ in range(8)))
        await until(lambda: not reader.index.is_answering, lambda: tried(reader))
        with pytest.raises(IndexUnavailable):
            await reader.search()

        process.resume()
        reader.left = 5.0
        await until(lambda: reader.index.is_answering, lambda: asyncio.sleep(0.02))
        assert await reader.search() == 2
        await reader.index.close()


async def test_callers_who_go_away_without_an_answer_are_failures_too(
    server: TestServer, reader: Reader
) -> None:
    server.delay_seconds = 30.0
    waiting = [asyncio.create_task(tried(reader)) for _ in range(6)]
    await asyncio.sleep(1.1)

    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)

    assert reader.seen.states[:1] == [BreakerState.OPEN]


async def test_a_cut_connection_is_made_again(server: TestServer, reader: Reader) -> None:
    server.drop_connections()

    assert await reader.search() == 2
