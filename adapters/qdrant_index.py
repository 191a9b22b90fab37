"""
A Qdrant server or cluster behind the reading ports.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from qdrant_client import grpc as wire

from adapters.head import Head
from adapters.index_names import is_index_name
from adapters.ledger import ROW, TOMBSTONE, source_rows, state_of, tenant_ledger
from adapters.payload_values import Payload
from adapters.qdrant_connection import QdrantServer, TimeLeft, no_deadline, translated
from adapters.qdrant_filter import qdrant_filter
from adapters.qdrant_ledger import (
    LedgerView,
    ledger_collection,
    of_source,
    of_view,
    payloads,
    read_bodies,
    read_view,
)
from adapters.qdrant_points import PAGE, collection_of, query_batch, scored, scroll_points
from adapters.reads import PointReads
from adapters.searches import PointQuery, ScoredPayload
from adapters.store import Bm25Spec
from assembler.errors import (
    ContextAssemblerError,
    DeadlineExceeded,
    IndexUnknown,
    VersionGone,
)
from assembler.filters import Filter
from assembler.ports import Clock, IndexState, SourceRow
from assembler.scope import ReadScope

HEAD_SECONDS = 1.0
"""How long a head that was read is served."""

_KEPT_HEADS = 10_000


@dataclass(frozen=True, slots=True)
class _Known:
    view: LedgerView
    read_at: float


class QdrantIndex(PointReads):
    """
    The `IndexCatalog` and `ChunkIndex` of a Qdrant server or cluster.

    It is used on one event loop; the connection is made, and made again, when it is needed.
    """

    def __init__(
        self,
        server: QdrantServer,
        *,
        is_exact: bool | None = None,
        clock: Clock = time.monotonic,
        head_seconds: float = HEAD_SECONDS,
        time_left: TimeLeft = no_deadline,
    ) -> None:
        super().__init__(is_exact=is_exact)
        self._client = server.reader()
        self._timeout_seconds = server.timeout_seconds
        self._clock = clock
        self._head_seconds = head_seconds
        self._time_left = time_left
        self._heads: OrderedDict[tuple[str, str], _Known] = OrderedDict()

    async def close(self) -> None:
        """
        Close the connection.
        """
        await self._client.close()

    async def resolve(self, index: str, tenant: str, *, refresh: bool = False) -> IndexState:
        """
        Return the tenant's part of the index as of its head, which is read by majority.

        Raises:
            IndexUnknown: No index has this name.
            IndexUnusable: The ledger is damaged.
            IndexUnavailable: The server cannot be asked.
        """
        view = await self._view(index, tenant, 0.0 if refresh else self._head_seconds)
        return state_of(index, view.head, view.manifests, view.newest)

    async def rows(self, index: str, tenant: str, source_id: str) -> Sequence[SourceRow]:
        """
        Return the ledger's rows of one source, oldest first; none where it never existed.
        """
        view = await self._view(index, tenant, self._head_seconds)
        stored = await self._read_ledger(index, of_source(tenant, source_id))
        rows = read_bodies(index, "row", ROW, stored)
        tombstones = read_bodies(index, "tombstone", TOMBSTONE, stored)
        ledger = tenant_ledger(view.head, rows, (), tombstones)
        return source_rows(ledger.rows, ledger.tombstones, source_id)

    async def _known(self, scope: ReadScope) -> tuple[Head, Bm25Spec]:
        # A head as new as the scope will do, however old: the request resolved it already.
        known = self._heads.get((scope.index, scope.tenant))
        view = known.view if known else None
        if view is None or view.head.revision < scope.version.revision:
            view = await self._view(scope.index, scope.tenant, 0.0)
        manifest = view.manifests.get(scope.version.generation)
        if manifest is None:
            raise VersionGone(str(scope.version))
        return view.head, manifest.bm25

    async def _view(self, index: str, tenant: str, at_most_seconds: float) -> LedgerView:
        if not is_index_name(index):
            raise IndexUnknown(index)
        key, now = (index, tenant), self._clock()
        known = self._heads.get(key)
        if known is not None and now - known.read_at < at_most_seconds:
            return known.view
        view = read_view(index, await self._read_ledger(index, of_view(tenant)))
        self._heads[key] = _Known(view, now)
        self._heads.move_to_end(key)
        if len(self._heads) > _KEPT_HEADS:
            self._heads.popitem(last=False)
        return view

    async def _query(
        self, scope: ReadScope, queries: Sequence[PointQuery]
    ) -> Sequence[Sequence[ScoredPayload]]:
        timeout = self._timeout()
        collection = collection_of(scope.index, scope.version.generation)
        request = query_batch(collection, queries, timeout)
        gone = VersionGone(str(scope.version))
        with translated(scope.index, missing=gone, time_left=self._time_left):
            answer = await self._client.grpc_points.QueryBatch(request, timeout=timeout)
        return scored(answer)

    async def _scroll(
        self, scope: ReadScope, wanted: Filter, keys: tuple[str, ...] | None, page: int
    ) -> Sequence[Payload]:
        return await self._pages(
            scope.index,
            collection_of(scope.index, scope.version.generation),
            qdrant_filter(wanted),
            keys,
            page,
            missing=VersionGone(str(scope.version)),
        )

    async def _read_ledger(self, index: str, wanted: wire.Filter) -> Sequence[Payload]:
        return await self._pages(
            index,
            ledger_collection(index),
            wanted,
            None,
            PAGE,
            missing=IndexUnknown(index),
            by_majority=True,
        )

    async def _pages(
        self,
        index: str,
        collection: str,
        wanted: wire.Filter,
        keys: tuple[str, ...] | None,
        page: int,
        *,
        missing: ContextAssemblerError,
        by_majority: bool = False,
    ) -> Sequence[Payload]:
        found: list[Payload] = []
        offset = None
        with translated(index, missing=missing, time_left=self._time_left):
            while True:
                request = scroll_points(
                    collection, wanted, keys, page, offset=offset, by_majority=by_majority
                )
                answer = await self._client.grpc_points.Scroll(request, timeout=self._timeout())
                found.extend(payloads(answer.result))
                if not answer.HasField("next_page_offset"):
                    return found
                offset = answer.next_page_offset

    def _timeout(self) -> float:
        left = self._time_left()
        if left is None:
            return self._timeout_seconds
        if left <= 0:
            raise DeadlineExceeded("the deadline passed before Qdrant was asked")
        return min(left, self._timeout_seconds)
