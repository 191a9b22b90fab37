"""
A TCP relay on loopback that counts bytes and lets them travel for a while, as a network does.
"""

from __future__ import annotations

import asyncio
import contextlib
import selectors
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

READ_BYTES = 65536
MOST_UNDER_WAY = 1024
"""Pieces in one direction of a connection, after which no more is read."""


@dataclass(slots=True)
class Relay:
    """
    What a relay has carried.

    Attributes:
        port: Where it is connected to.
        sent: Bytes to the server.
        received: Bytes from it.
    """

    port: int = 0
    sent: int = 0
    received: int = 0

    @property
    def both(self) -> int:
        """
        Return the bytes of both directions.
        """
        return self.sent + self.received


@contextlib.contextmanager
def relaying(to: int, delay_seconds: float = 0.0) -> Iterator[Relay]:
    """
    Forward connections to a port of this machine until the block ends, in a thread.

    Args:
        to: The port.
        delay_seconds: How long every byte is on its way, in each direction.
    """
    relay, started = Relay(), threading.Event()
    # Only select(2) waits for less than a millisecond.
    loop = asyncio.SelectorEventLoop(selectors.SelectSelector())
    stopping = asyncio.Event()

    async def run() -> None:
        connections: set[asyncio.Task[None]] = set()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task  # noqa: S101 - the server starts each in a task
            connections.add(task)
            try:
                with contextlib.suppress(OSError, asyncio.CancelledError):
                    await _joined(relay, reader, writer, to, delay_seconds)
            finally:
                writer.close()
                connections.discard(task)

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        relay.port = server.sockets[0].getsockname()[1]
        started.set()
        await stopping.wait()
        server.close()
        for task in connections.copy():
            task.cancel()
        await asyncio.gather(*connections)

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    started.wait()
    try:
        yield relay
    finally:
        loop.call_soon_threadsafe(stopping.set)
        thread.join()
        loop.close()


async def _joined(
    relay: Relay,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    to: int,
    delay_seconds: float,
) -> None:
    """
    Forward both directions of a connection until each has ended.
    """
    far_reader, far_writer = await asyncio.open_connection("127.0.0.1", to)

    def sent(count: int) -> None:
        relay.sent += count

    def received(count: int) -> None:
        relay.received += count

    try:
        async with asyncio.TaskGroup() as group:
            for one, other, counted in (
                (reader, far_writer, sent),
                (far_reader, writer, received),
            ):
                pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(MOST_UNDER_WAY)
                group.create_task(_read(one, pieces, counted, delay_seconds))
                group.create_task(_write(other, pieces))
    except* OSError:
        pass
    finally:
        far_writer.close()


async def _read(
    reader: asyncio.StreamReader,
    pieces: asyncio.Queue[tuple[float, bytes]],
    counted: Callable[[int], None],
    delay_seconds: float,
) -> None:
    loop = asyncio.get_running_loop()
    while True:
        piece = await reader.read(READ_BYTES)
        counted(len(piece))
        await pieces.put((loop.time() + delay_seconds, piece))
        if not piece:
            return


async def _write(writer: asyncio.StreamWriter, pieces: asyncio.Queue[tuple[float, bytes]]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        due, piece = await pieces.get()
        if not piece:
            writer.write_eof()
            return
        if (left := due - loop.time()) > 0.0:
            await asyncio.sleep(left)
        writer.write(piece)
        await writer.drain()
