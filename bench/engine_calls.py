"""
The engine's own calls of a request, recorded and played again without anything around them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from adapters.edge_index import EdgeIndex
from adapters.edge_shard import EdgeShard
from adapters.payload_values import Payload
from adapters.searches import PointQuery, ScoredPayload
from assembler.filters import Filter
from assembler.scope import IndexVersion, ReadScope


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
    ) -> Sequence[Sequence[ScoredPayload]]:
        self.recorded.append(Query(scope.version, tuple(queries)))
        return await super()._query(scope, queries)

    async def _scroll(
        self, scope: ReadScope, wanted: Filter, keys: tuple[str, ...] | None, page: int
    ) -> Sequence[Payload]:
        self.recorded.append(Scroll(scope.version, wanted, keys, page))
        return await super()._scroll(scope, wanted, keys, page)

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
