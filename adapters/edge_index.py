"""
The embedded engine behind the reading ports. Its calls block, so they run in threads.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from adapters.decoded import Decode, Record, ScoredRecord
from adapters.edge_opened import OpenedState
from adapters.edge_served import POLL_SECONDS, OpenedStates
from adapters.head import Head
from adapters.kept_records import MOST_BYTES, KeptRecords
from adapters.ledger import source_rows
from adapters.payload import decode_section
from adapters.payload_values import Payload
from adapters.reads import PointReads
from adapters.searches import PointQuery
from adapters.store import Bm25Spec
from assembler.errors import VersionGone
from assembler.filters import Filter
from assembler.model import PointKind
from assembler.ports import Clock, IndexState, SourceRow
from assembler.scope import ReadScope

Answer = TypeVar("Answer")
Item = TypeVar("Item")


class EdgeIndex(PointReads):
    """
    The `IndexCatalog` and `ChunkIndex` of a folder of embedded indexes.

    Several processes of one user may serve the same folder. A new publication is seen at most
    `poll_seconds` later; requests that are under way end on the version they began with.
    """

    def __init__(
        self,
        root: Path,
        *,
        is_exact: bool | None = None,
        clock: Clock = time.monotonic,
        poll_seconds: float = POLL_SECONDS,
        kept_bytes: int = MOST_BYTES,
    ) -> None:
        super().__init__(is_exact=is_exact)
        self._kept = KeptRecords(kept_bytes)
        self._states = OpenedStates(root, self._kept, clock=clock, poll_seconds=poll_seconds)

    def requests(self) -> tuple[int, int]:
        """
        Return how many records were known, and how many had to be read.
        """
        return self._kept.requests()

    async def resolve(self, index: str, tenant: str, *, refresh: bool = False) -> IndexState:
        """
        Return the tenant's part of the index as of its head.

        Raises:
            IndexUnknown: No index has this name.
            IndexUnusable: Its files are damaged.
            IndexUnavailable: Its files cannot be read.
        """
        return await self._ask(index, lambda state: state.resolved(tenant), refresh=refresh)

    async def rows(self, index: str, tenant: str, source_id: str) -> Sequence[SourceRow]:
        """
        Return the ledger's rows of one source, oldest first; none where it never existed.
        """

        def read(state: OpenedState) -> Sequence[SourceRow]:
            ledger = state.ledger(tenant)
            return source_rows(ledger.rows, ledger.tombstones, source_id)

        return await asyncio.to_thread(self._states.ask, index, read)

    async def close(self) -> None:
        """
        Close every file, when the reads that are under way have ended.
        """
        await asyncio.to_thread(self._states.close)

    async def _known(self, scope: ReadScope) -> tuple[Head, Bm25Spec]:
        def known(state: OpenedState) -> tuple[Head, Bm25Spec]:
            manifest = state.manifests.get(scope.version.generation)
            if manifest is None:
                raise VersionGone(str(scope.version))
            return state.head(scope.tenant), manifest.bm25

        fresh = self._states.fresh(scope.index)
        if fresh is not None and fresh.sees(scope.tenant, scope.version):
            return known(fresh)
        return await asyncio.to_thread(self._states.read, scope, known)

    async def _query(
        self, scope: ReadScope, queries: Sequence[PointQuery]
    ) -> Sequence[Sequence[ScoredRecord]]:
        def search(state: OpenedState) -> Sequence[Sequence[ScoredRecord]]:
            return state.records(scope.version).search(queries)

        return await asyncio.to_thread(self._states.read, scope, search)

    async def _scroll(
        self, scope: ReadScope, wanted: Filter, keys: tuple[str, ...] | None, page: int
    ) -> Sequence[Payload]:
        def scroll(state: OpenedState) -> Sequence[Payload]:
            return state.shard(scope.version).scroll(wanted, keys, page)

        return await asyncio.to_thread(self._states.read, scope, scroll)

    async def _records(
        self,
        scope: ReadScope,
        wanted: Filter,
        kind: PointKind,
        decode: Decode[Item],
        keys: tuple[str, ...] | None,
        page: int,
    ) -> Sequence[Record[Item] | None]:
        if decode is not decode_section:
            return await super()._records(scope, wanted, kind, decode, keys, page)

        def read(state: OpenedState) -> Sequence[Record[Any] | None]:
            return state.records(scope.version).sections(wanted, page)

        return await asyncio.to_thread(self._states.read, scope, read)

    async def _ask(
        self, index: str, ask: Callable[[OpenedState], Answer], *, refresh: bool = False
    ) -> Answer:
        """
        Ask a state what it knows without reading points: no thread is needed while it is fresh.
        """
        fresh = None if refresh else self._states.fresh(index)
        if fresh is not None:
            return ask(fresh)
        return await asyncio.to_thread(self._states.ask, index, ask, refresh=refresh)
