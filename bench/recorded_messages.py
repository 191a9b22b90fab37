"""
The messages of requests to a Qdrant server, recorded, and turned into values again without anything
around them.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

from qdrant_client import AsyncQdrantClient
from qdrant_client import grpc as wire

from adapters.decoded import ScoredRecord
from adapters.payload_values import Payload
from adapters.qdrant_connection import QdrantServer
from adapters.qdrant_filter import qdrant_filter
from adapters.qdrant_index import QdrantIndex
from adapters.qdrant_ledger import payloads
from adapters.qdrant_points import collection_of, scroll_points
from adapters.qdrant_search import SearchSettings, query_batch, scored
from adapters.searches import PointQuery, decoded
from assembler.filters import Filter
from assembler.scope import ReadScope

SETTINGS = SearchSettings(ef=512)
TIMEOUT_SECONDS = 5.0
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Searched:
    """
    A batch of searches, and the bytes of its answer.
    """

    collection: str
    queries: tuple[PointQuery, ...]
    answer: bytes

    def convert(self) -> None:
        """
        Make the request's bytes, and payloads of the answer's.
        """
        query_batch(self.collection, self.queries, SETTINGS, TIMEOUT_SECONDS).SerializeToString()
        scored(wire.QueryBatchResponse.FromString(self.answer), len(self.queries))


@dataclass(frozen=True, slots=True)
class Scrolled:
    """
    A filtered read, and the bytes of its answer.
    """

    collection: str
    wanted: Filter
    keys: tuple[str, ...] | None
    page: int
    answer: bytes

    def convert(self) -> None:
        """
        Make the request's bytes, and payloads of the answer's.
        """
        native = qdrant_filter(self.wanted)
        scroll_points(self.collection, native, self.keys, self.page).SerializeToString()
        payloads(wire.ScrollResponse.FromString(self.answer).result)


class RecordingQdrantIndex(QdrantIndex):
    """
    A Qdrant server, with a list of what it was asked and answered.
    """

    def __init__(self, port: int) -> None:
        super().__init__(QdrantServer("127.0.0.1", grpc_port=port), settings=SETTINGS)
        self.searched: list[Searched] = []
        self.scrolled: list[Scrolled] = []

    async def _query(
        self, scope: ReadScope, queries: Sequence[PointQuery]
    ) -> Sequence[Sequence[ScoredRecord]]:
        collection = collection_of(scope.index, scope.version.generation)

        def send(client: AsyncQdrantClient, timeout: float) -> Awaitable[wire.QueryBatchResponse]:
            call: Awaitable[wire.QueryBatchResponse] = client.grpc_points.QueryBatch(
                query_batch(collection, queries, SETTINGS, timeout), timeout=timeout
            )
            return call

        answer = await self.link.call("query_batch", send)
        self.searched.append(Searched(collection, tuple(queries), answer.SerializeToString()))
        return decoded(queries, scored(answer, len(queries)), scope.version.revision)

    async def _scroll(
        self, scope: ReadScope, wanted: Filter, keys: tuple[str, ...] | None, page: int
    ) -> Sequence[Payload]:
        collection = collection_of(scope.index, scope.version.generation)
        answer = await self._page(collection, qdrant_filter(wanted), keys, page, None)
        self.scrolled.append(Scrolled(collection, wanted, keys, page, answer.SerializeToString()))
        return payloads(answer.result)


def conversion_seconds(messages: Sequence[Searched | Scrolled]) -> float:
    """
    Return the least CPU seconds of a few rounds over all messages.
    """
    times = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for one in messages:
            one.convert()
        times.append(time.process_time() - began)
    return min(times)
