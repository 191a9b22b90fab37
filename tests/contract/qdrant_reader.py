"""
An index of a Qdrant server that is read, with what was seen of its connection.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

from adapters.calls import BreakerState
from adapters.qdrant_connection import QdrantServer
from adapters.qdrant_index import QdrantIndex
from adapters.qdrant_store import QdrantStore
from assembler.errors import DeadlineExceeded, IndexUnavailable
from assembler.model import PointKind
from assembler.ports import SparseSearch
from assembler.scope import IndexVersion, ReadScope, Scope
from tests.contract.corpus import Source, publish

CATS = Source("cats", ("Cats sleep. Cats hunt.",))
SEARCH = [SparseSearch("cats", PointKind.CHUNK, 5)]


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


async def tried(reader: Reader) -> None:
    try:
        await reader.search()
    except (IndexUnavailable, DeadlineExceeded):
        return


async def until(is_so: Callable[[], bool], step: Callable[[], object]) -> None:
    """
    Take steps until something is so; the test's own patience is far beyond what is needed.
    """
    async with asyncio.timeout(30):
        while not is_so():
            await step()  # type: ignore[misc]
            await asyncio.sleep(0.01)
