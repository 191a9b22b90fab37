"""
The engine's own calls of a request, recorded and played again without anything around them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from adapters.decoded import Decode, Record, ScoredRecord
from adapters.edge_index import EdgeIndex
from adapters.edge_shard import EdgeShard
from adapters.searches import PointQuery
from assembler.filters import Filter
from assembler.model import PointKind
from assembler.scope import IndexVersion, ReadScope

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Query:
    """
    One batch of searches.
    """

    version: IndexVersion
    queries: tuple[PointQuery, ...]

    def run(self, shard: EdgeShard) -> None:
        """
        Ask the engine.
        """
        shard.query(self.queries)


@dataclass(frozen=True, slots=True)
class Scroll:
    """
    One filtered read.
    """

    version: IndexVersion
    wanted: Filter
    keys: tuple[str, ...] | None
    page: int

    def run(self, shard: EdgeShard) -> None:
        """
        Ask the engine.
        """
        shard.scroll(self.wanted, self.keys, self.page)


EngineCall: TypeAlias = Query | Scroll


class RecordingIndex(EdgeIndex):
    """
    The embedded engine, with a list of what it was asked.
    """

    recorded: list[EngineCall]

    async def _query(
        self, scope: ReadScope, queries: Sequence[PointQuery]
    ) -> Sequence[Sequence[ScoredRecord]]:
        self.recorded.append(Query(scope.version, tuple(queries)))
        return await super()._query(scope, queries)

    async def _records(
        self,
        scope: ReadScope,
        wanted: Filter,
        kind: PointKind,
        decode: Decode[Item],
        keys: tuple[str, ...] | None,
        page: int,
    ) -> Sequence[Record[Item] | None]:
        self.recorded.append(Scroll(scope.version, wanted, keys, page))
        return await super()._records(scope, wanted, kind, decode, keys, page)

    async def calls(self, request: Awaitable[object]) -> list[EngineCall]:
        """
        Return what a request asks the engine.
        """
        self.recorded = []
        await request
        return self.recorded

    def replay(self, index: str, calls: Sequence[EngineCall]) -> None:
        """
        Ask the engine the same again, in this thread.
        """
        with self._states.reading(index) as state:
            for call in calls:
                call.run(state.shard(call.version))
