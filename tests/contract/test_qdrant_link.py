"""
The connection to a Qdrant server: how long it waits, what it sends again, when it gives up, and how
it proves itself.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import grpc
import pytest

from adapters.calls import BreakerState
from adapters.deadline import DEADLINE, seconds_left
from adapters.qdrant_connection import QdrantServer, Tls, TlsFiles
from adapters.qdrant_index import QdrantIndex
from adapters.qdrant_store import QdrantStore
from assembler.errors import DeadlineExceeded, IndexUnavailable, IndexUnknown
from assembler.model import PointKind
from assembler.ports import SparseSearch
from assembler.scope import IndexVersion, ReadScope, Scope
from tests.contract.corpus import Source, publish
from tests.qdrant_server.certificates import authority, signed
from tests.qdrant_server.process import ServerProcess
from tests.qdrant_server.server import TestServer

CATS = Source("cats", ("Cats sleep. Cats hunt.",))
SEARCH = [SparseSearch("cats", PointKind.CHUNK, 5)]
UNAVAILABLE = grpc.StatusCode.UNAVAILABLE


class Seen:
    """
    A `CallObserver` that keeps what it is told.
    """

    def __init__(self) -> None:
        self.codes: Counter[tuple[str, str]] = Counter()
        self.retries = 0
        self.refusals = 0
        self.states: list[BreakerState] = []

    def ended(self, operation: str, code: str, seconds: float) -> None:
        assert seconds >= 0
        self.codes[operation, code] += 1

    def retried(self) -> None:
        self.retries += 1

    def refused(self) -> None:
        self.refusals += 1

    def turned(self, state: BreakerState) -> None:
        self.states.append(state)


class Reader:
    """
    An index that is read, what was seen of it, and how much time its caller has.
    """

    def __init__(self, port: int, *, timeout_seconds: float = 5.0) -> None:
        self.place = QdrantServer("127.0.0.1", grpc_port=port, timeout_seconds=timeout_seconds)
        self.seen = Seen()
        self.left: float | None = None
        self.index = QdrantIndex(self.place, observer=self.seen, time_left=lambda: self.left)
        self.version = IndexVersion("", 0)

    def publish(self) -> None:
        store = QdrantStore(self.place)
        self.version = publish(store, [CATS])
        store.close()

    async def search(self) -> int:
        """
        Return how many hits there are.
        """
        scope = ReadScope("docs", self.version, readers_required=False, asked=Scope())
        return len((await self.index.search_text(scope, SEARCH))[0])


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
        await _until(lambda: not reader.index.is_answering, lambda: _tried(reader))

        before = reader.seen.codes.copy()
        for _ in range(100):
            with pytest.raises(IndexUnavailable, match="has not been answering"):
                await reader.search()
        sent = reader.seen.codes - before
        assert reader.seen.refusals >= 100
        assert {operation for operation, _ in sent} <= {"probe"}

        process.start()
        await _until(lambda: reader.index.is_answering, lambda: asyncio.sleep(0.02))
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

        await asyncio.gather(*(_tried(reader) for _ in range(8)))
        await _until(lambda: not reader.index.is_answering, lambda: _tried(reader))
        with pytest.raises(IndexUnavailable):
            await reader.search()

        process.resume()
        reader.left = 5.0
        await _until(lambda: reader.index.is_answering, lambda: asyncio.sleep(0.02))
        assert await reader.search() == 2
        await reader.index.close()


async def test_callers_who_go_away_without_an_answer_are_failures_too(
    server: TestServer, reader: Reader
) -> None:
    server.delay_seconds = 30.0
    waiting = [asyncio.create_task(_tried(reader)) for _ in range(6)]
    await asyncio.sleep(1.1)

    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)

    assert reader.seen.states[:1] == [BreakerState.OPEN]


async def test_a_cut_connection_is_made_again(server: TestServer, reader: Reader) -> None:
    server.drop_connections()

    assert await reader.search() == 2


async def test_tls_with_an_authority_of_its_own(tmp_path: Path) -> None:
    own, other = authority(tmp_path, "own"), authority(tmp_path, "other")
    served, client = signed(tmp_path, "server", own), signed(tmp_path, "client", own)
    credentials = grpc.ssl_server_credentials(
        [served.read()],
        root_certificates=own.certificate.read_bytes(),
        require_client_auth=True,
    )
    key, certificate = client.read()
    right = Tls(ca=own.certificate.read_bytes(), certificate=certificate, key=key)
    wrong = (
        None,
        Tls(ca=other.certificate.read_bytes(), certificate=certificate, key=key),
        Tls(ca=own.certificate.read_bytes()),
    )
    with TestServer(api_key="key", credentials=credentials) as server:

        def place(tls: Tls | None, key: str = "key") -> QdrantServer:
            return QdrantServer("127.0.0.1", grpc_port=server.port, tls=tls, api_key=key, retries=0)

        store = QdrantStore(place(right))
        publish(store, [CATS])
        store.close()
        index = QdrantIndex(place(right))
        assert (await index.resolve("docs", "")).version.revision == 1
        await index.close()
        for tls in wrong[1:]:
            index = QdrantIndex(place(tls))
            with pytest.raises(IndexUnavailable):
                await index.resolve("docs", "")
            await index.close()
        index = QdrantIndex(place(right, "wrong"))
        with pytest.raises(IndexUnavailable, match="API key"):
            await index.resolve("docs", "")
        await index.close()


async def test_renewed_client_certificates_are_taken_without_a_restart(tmp_path: Path) -> None:
    own, other = authority(tmp_path, "own"), authority(tmp_path, "other")
    served, refused = signed(tmp_path, "server", own), signed(tmp_path, "client", other)
    credentials = grpc.ssl_server_credentials(
        [served.read()],
        root_certificates=own.certificate.read_bytes(),
        require_client_auth=True,
    )
    files = TlsFiles(own.certificate, refused.certificate, refused.key)
    with TestServer(credentials=credentials) as server:
        index = QdrantIndex(QdrantServer("127.0.0.1", grpc_port=server.port, tls=files, retries=0))
        with pytest.raises(IndexUnavailable):
            await index.resolve("docs", "")
        signed(tmp_path, "client", own)
        found: list[IndexUnknown] = []

        async def ask() -> None:
            try:
                await index.resolve("docs", "")
            except IndexUnavailable:
                return
            except IndexUnknown as unknown:
                found.append(unknown)

        await _until(lambda: bool(found), ask)
        await index.close()

    before = files.contents()
    refused.key.unlink()
    assert files.contents() == before
    with pytest.raises(FileNotFoundError):
        TlsFiles(own.certificate, refused.certificate, refused.key)


async def _tried(reader: Reader) -> None:
    try:
        await reader.search()
    except (IndexUnavailable, DeadlineExceeded):
        return


async def _until(is_so: Callable[[], bool], step: Callable[[], object]) -> None:
    """
    Take steps until something is so; the test's own patience is far beyond what is needed.
    """
    async with asyncio.timeout(30):
        while not is_so():
            await step()  # type: ignore[misc]
            await asyncio.sleep(0.01)
