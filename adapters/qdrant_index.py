"""
A Qdrant server or cluster behind the reading ports.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

from qdrant_client import AsyncQdrantClient
from qdrant_client import grpc as wire

from adapters.calls import BreakerState, CallObserver
from adapters.deadline import TimeLeft, seconds_left
from adapters.decoded import ScoredRecord
from adapters.head import Head
from adapters.index_names import is_index_name
from adapters.ledger import ROW, TOMBSTONE, chunks_at, source_rows, state_of, tenant_ledger
from adapters.payload_keys import KEY
from adapters.payload_values import Payload
from adapters.qdrant_connection import QdrantServer, translated
from adapters.qdrant_filter import qdrant_filter
from adapters.qdrant_ledger import (
    LedgerView,
    ledger_collection,
    of_record,
    of_source,
    of_view,
    payloads,
    read_bodies,
    read_view,
    require_head,
)
from adapters.qdrant_link import QdrantLink
from adapters.qdrant_listings import listings_of
from adapters.qdrant_points import PAGE, collection_of, scroll_points
from adapters.qdrant_search import MAJORITY, SearchSettings, query_batch, scored
from adapters.reads import PointReads
from adapters.searches import PointQuery, decoded
from adapters.store import Bm25Spec, IndexListing
from assembler.errors import (
    ContextAssemblerError,
    IndexUnavailable,
    IndexUnknown,
    IndexUnusable,
    VersionGone,
)
from assembler.filters import AnyString, Condition, Filter
from assembler.model import PointKind
from assembler.ports import Clock, IndexState, SourceRow
from assembler.scope import ReadScope

HEAD_SECONDS = 1.0
"""How long a head that was read is served."""

BELIEVED_SECONDS = 60.0
"""How long a head that was there is missed, before it is believed to be gone."""

DEFAULT_SEARCH = SearchSettings()

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
        settings: SearchSettings = DEFAULT_SEARCH,
        clock: Clock = time.monotonic,
        head_seconds: float = HEAD_SECONDS,
        time_left: TimeLeft = seconds_left,
        observer: CallObserver | None = None,
    ) -> None:
        super().__init__(is_exact=is_exact)
        self.link = QdrantLink(server, observer=observer, time_left=time_left)
        self._settings = settings
        self._clock = clock
        self._head_seconds = head_seconds
        self._heads: OrderedDict[tuple[str, str], _Known] = OrderedDict()

    @property
    def is_answering(self) -> bool:
        """
        Return whether the server answers, as far as is known.
        """
        return self.link.state is not BreakerState.OPEN

    async def close(self) -> None:
        """
        Close the connection.
        """
        await self.link.close()

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

    async def listings(self, tenant: str, *, has_rows: bool = True) -> Sequence[IndexListing]:
        """
        Return every index that the tenant has published into, with the tenant's part.

        Without rows, ledgers have their revisions alone.
        """
        with translated("", missing=IndexUnavailable("the list of indexes is not there")):
            answer = await self.link.call(
                "list_collections",
                lambda client, timeout: client.grpc_collections.List(
                    wire.ListCollectionsRequest(), timeout=timeout
                ),
            )
        names = [entry.name for entry in answer.collections]
        return await listings_of(tenant, names, self._read_ledger, has_rows=has_rows)

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
        stored = await self._read_ledger(index, of_view(tenant))
        if known is not None and now - known.read_at < BELIEVED_SECONDS:
            require_head(index, known.view, stored)
        view = read_view(index, stored)
        self._heads[key] = _Known(view, now)
        self._heads.move_to_end(key)
        if len(self._heads) > _KEPT_HEADS:
            self._heads.popitem(last=False)
        return view

    async def _query(
        self, scope: ReadScope, queries: Sequence[PointQuery]
    ) -> Sequence[Sequence[ScoredRecord]]:
        if not queries:
            return []
        collection = _collection(scope)

        def send(client: AsyncQdrantClient, timeout: float) -> Awaitable[wire.QueryBatchResponse]:
            request = query_batch(collection, queries, self._settings, timeout)
            call: Awaitable[wire.QueryBatchResponse]
            call = client.grpc_points.QueryBatch(request, timeout=timeout)
            return call

        try:
            with translated(scope.index, missing=VersionGone(str(scope.version))):
                answer = await self.link.call("query_batch", send)
        except VersionGone as gone:
            raise await self._why_gone(scope, gone) from gone
        found = scored(answer, len(queries))
        if not any(found):
            await self._require_points(scope)
        return decoded(queries, found, scope.version.revision)

    async def _scroll(
        self, scope: ReadScope, wanted: Filter, keys: tuple[str, ...] | None, page: int
    ) -> Sequence[Payload]:
        native, consistency = qdrant_filter(wanted), self._settings.read_consistency
        try:
            with translated(scope.index, missing=VersionGone(str(scope.version))):
                return await self._pages(_collection(scope), native, keys, page, consistency)
        except VersionGone as gone:
            raise await self._why_gone(scope, gone) from gone

    async def _read_ledger(self, index: str, wanted: wire.Filter) -> Sequence[Payload]:
        with translated(index, missing=IndexUnknown(index)):
            return await self._pages(ledger_collection(index), wanted, None, PAGE, MAJORITY)

    async def _pages(
        self,
        collection: str,
        wanted: wire.Filter,
        keys: tuple[str, ...] | None,
        page: int,
        consistency: wire.ReadConsistency | None,
    ) -> Sequence[Payload]:
        found: list[Payload] = []
        offset = None
        while True:
            answer = await self._page(collection, wanted, keys, page, consistency, offset)
            found.extend(payloads(answer.result))
            if not answer.HasField("next_page_offset"):
                return found
            offset = answer.next_page_offset

    async def _page(
        self,
        collection: str,
        wanted: wire.Filter,
        keys: tuple[str, ...] | None,
        page: int,
        consistency: wire.ReadConsistency | None,
        offset: wire.PointId | None = None,
    ) -> wire.ScrollResponse:
        def send(client: AsyncQdrantClient, timeout: float) -> Awaitable[wire.ScrollResponse]:
            request = scroll_points(
                collection,
                wanted,
                keys,
                page,
                offset=offset,
                consistency=consistency,
                timeout_seconds=timeout,
            )
            call: Awaitable[wire.ScrollResponse]
            call = client.grpc_points.Scroll(request, timeout=timeout)
            return call

        return await self.link.call("scroll", send)

    async def _why_gone(self, scope: ReadScope, gone: VersionGone) -> ContextAssemblerError:
        """
        Return what a missing collection means: a generation that was removed, or one that was lost.
        """
        view = await self._view(scope.index, scope.tenant, 0.0)
        generation = scope.version.generation
        if generation not in view.manifests or generation in view.retiring:
            return gone
        problem = (
            f"the ledger names generation {generation}, but its collection is missing; restore it "
            "from a snapshot, or publish into a new index"
        )
        return IndexUnusable(scope.index, problem)

    async def _require_points(self, scope: ReadScope) -> None:
        """
        Refuse to take an empty collection for an answer: "nothing found" has to be true.
        """
        head, _ = await self._known(scope)
        if head.chunks == 0:
            return
        chunk = Condition("kind", AnyString((PointKind.CHUNK.value,)))
        stored = Filter(all_of=(chunk, scope.corpus_filter()))
        consistency = self._settings.read_consistency
        with translated(scope.index, missing=VersionGone(str(scope.version))):
            answer = await self._page(
                _collection(scope), qdrant_filter(stored), (KEY,), 1, consistency
            )
        if answer.result:
            return
        rows = await self._read_ledger(scope.index, of_record("row", scope.tenant))
        ledger = tenant_ledger(head, read_bodies(scope.index, "row", ROW, rows), ())
        expected = chunks_at(ledger, scope.version)
        if expected:
            problem = (
                f"the ledger counts {expected} chunks of index {scope.index!r}, the server holds "
                "none: a replica may be recovering; publish the index again if this stays"
            )
            raise IndexUnavailable(problem, retry_seconds=2.0)


def _collection(scope: ReadScope) -> str:
    return collection_of(scope.index, scope.version.generation)
