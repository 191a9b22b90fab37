"""
A collection of the test server: shards with replicas, each a shard of the real engine.

Points lie in the shard that their id says. A write reaches as many replicas as the collection
waits for, and the others late; a read asks one replica of each shard, or as many as its consistency
says. Hits with equal scores come in random order, as a cluster's do.
"""

from __future__ import annotations

import json
import random
from collections import Counter, deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias, TypeVar
from uuid import UUID

import qdrant_edge as edge
from qdrant_client import grpc as wire

from tests.qdrant_server.translation import (
    edge_config,
    edge_filter,
    edge_id,
    edge_point,
    edge_query,
    edge_selector,
)

LATE_CALLS = 10
"""After so many reads a replica has what it was sent."""

_TIES = 64
_CREATED = "collection.pb"

Change: TypeAlias = Callable[[int], edge.UpdateOperation | None]
"""Returns what a change does to the shard with this number; None for nothing."""
Point = TypeVar("Point", edge.ScoredPoint, edge.Record)


class Replica:
    """
    One copy of one shard, with the writes that have not reached it yet.
    """

    def __init__(self, engine: edge.EdgeShard) -> None:
        self.engine = engine
        self._late: deque[edge.UpdateOperation] = deque()
        self._reads = 0

    def write(self, operation: edge.UpdateOperation, *, is_late: bool) -> None:
        """
        Apply a write, after all earlier ones, or keep it for later.
        """
        self._late.append(operation)
        if not is_late:
            self.catch_up()

    def catch_up(self) -> None:
        """
        Apply what is late.
        """
        while self._late:
            self.engine.update(self._late.popleft())

    def read(self) -> edge.EdgeShard:
        """
        Return the engine, now and then after catching up.
        """
        self._reads += 1
        if self._late and self._reads % LATE_CALLS == 0:
            self.catch_up()
        return self.engine


class Collection:
    """
    The shards of one collection.
    """

    def __init__(
        self,
        folder: Path,
        request: wire.CreateCollection,
        draw: random.Random,
        indexing_kilobytes: int | None,
    ) -> None:
        self._draw = draw
        self._made = request
        self._waited = request.write_consistency_factor or 1
        self.shards: list[list[Replica]] = []
        config = edge_config(request, indexing_kilobytes)
        is_new = not (folder / _CREATED).exists()
        for shard in range(request.shard_number or 1):
            replicas = []
            for number in range(request.replication_factor or 1):
                path = folder / f"{shard}-{number}"
                path.mkdir(parents=True, exist_ok=True)
                engine = (
                    edge.EdgeShard.create(str(path), config)
                    if is_new
                    else edge.EdgeShard.load(str(path))
                )
                replicas.append(Replica(engine))
            self.shards.append(replicas)
        (folder / _CREATED).write_bytes(request.SerializeToString())

    @classmethod
    def load(cls, folder: Path, draw: random.Random) -> Collection:
        """
        Open what another process has left.
        """
        request = wire.CreateCollection.FromString((folder / _CREATED).read_bytes())
        return cls(folder, request, draw, None)

    def close(self) -> None:
        """
        Close all files.
        """
        for replica in self._replicas():
            replica.engine.close()

    def settle(self) -> None:
        """
        Let every write reach every replica.
        """
        for replica in self._replicas():
            replica.catch_up()

    def optimize(self) -> None:
        """
        Let the engine build its indexes.
        """
        for replica in self._replicas():
            replica.engine.optimize()

    def change(self, change: Change) -> None:
        """
        Apply a change to every shard: at once to the replicas that are waited for.
        """
        for shard, replicas in enumerate(self.shards):
            for number, replica in enumerate(replicas):
                operation = change(shard)
                if operation is not None:
                    replica.write(operation, is_late=number >= self._waited)

    def upsert(self, request: wire.UpsertPoints) -> None:
        """
        Write points, each into its shard.
        """
        mode = edge.UpdateMode.InsertOnly if request.update_mode == wire.InsertOnly else None
        points = [
            (UUID(point.id.uuid).int if point.id.uuid else point.id.num, edge_point(point))
            for point in request.points
        ]

        def change(shard: int) -> edge.UpdateOperation | None:
            mine = [point for number, point in points if number % len(self.shards) == shard]
            return edge.UpdateOperation.upsert_points(mine, update_mode=mode) if mine else None

        self.change(change)

    def scroll(
        self, request: wire.ScrollPoints, limit: int
    ) -> tuple[list[edge.Record], edge.PointId | None]:
        """
        Return a page of points by id, and where the next one begins.
        """
        names = list(request.with_vectors.include.names)

        def look(engine: edge.EdgeShard) -> list[edge.Record]:
            asked = edge.ScrollRequest(
                offset=edge_id(request.offset) if request.HasField("offset") else None,
                limit=limit + 1,
                filter=edge_filter(request.filter),
                with_payload=edge_selector(request.with_payload),
                with_vector=names or request.with_vectors.enable,
            )
            return engine.scroll(asked)[0]

        found = [
            record
            for replicas in self.shards
            for record in self._agreed(replicas, request.read_consistency, look)
        ]
        found.sort(key=lambda record: _rank(record.id))
        return found[:limit], found[limit].id if len(found) > limit else None

    def count(self, request: wire.CountPoints) -> int:
        """
        Return how many points pass.
        """
        if all(len(replicas) == 1 for replicas in self.shards):
            asked = edge.CountRequest(exact=True, filter=edge_filter(request.filter))
            return sum(replica.read().count(asked) for (replica,) in self.shards)

        def look(engine: edge.EdgeShard) -> list[edge.Record]:
            asked = edge.ScrollRequest(limit=2**31, filter=edge_filter(request.filter))
            return engine.scroll(asked)[0]

        return sum(
            len(self._agreed(replicas, request.read_consistency, look)) for replicas in self.shards
        )

    def described(self) -> wire.CollectionInfo:
        """
        Return how it was made, and which payload indexes it has.
        """
        params = wire.CollectionParams(vectors_config=self._made.vectors_config)
        if self._made.HasField("sparse_vectors_config"):
            params.sparse_vectors_config.CopyFrom(self._made.sparse_vectors_config)
        info = self.shards[0][0].engine.info()
        return wire.CollectionInfo(
            config=wire.CollectionConfig(params=params),
            payload_schema={path: wire.PayloadSchemaInfo() for path in info.payload_schema},
            points_count=info.points_count,
        )

    def query(
        self, queries: Sequence[wire.QueryPoints], consistency: wire.ReadConsistency
    ) -> list[list[edge.ScoredPoint]]:
        """
        Return the best points of each search over all shards.
        """
        return [self._query(query, consistency) for query in queries]

    def _query(
        self, query: wire.QueryPoints, consistency: wire.ReadConsistency
    ) -> list[edge.ScoredPoint]:
        def look(engine: edge.EdgeShard) -> list[edge.ScoredPoint]:
            return engine.query(edge_query(query, query.limit + _TIES))

        found = [
            point for replicas in self.shards for point in self._agreed(replicas, consistency, look)
        ]
        self._draw.shuffle(found)
        found.sort(key=lambda point: -point.score)
        return found[: query.limit]

    def _agreed(
        self,
        replicas: Sequence[Replica],
        consistency: wire.ReadConsistency,
        look: Callable[[edge.EdgeShard], list[Point]],
    ) -> list[Point]:
        """
        Return what as many replicas as the consistency says have alike.
        """
        most, half = len(replicas), len(replicas) // 2 + 1
        asked, needed = 1, 1
        if consistency.HasField("factor"):
            asked = needed = min(consistency.factor, most)
        elif consistency.HasField("type"):
            asked = half if consistency.type == wire.Quorum else most
            needed = most if consistency.type == wire.All else half
        answers = [look(one.read()) for one in self._draw.sample(list(replicas), asked)]
        if asked == 1:
            return answers[0]
        alike = Counter(_likeness(point) for answer in answers for point in answer)
        known = {_likeness(point): point for answer in answers for point in answer}
        return [point for likeness, point in known.items() if alike[likeness] >= needed]

    def _replicas(self) -> list[Replica]:
        return [replica for replicas in self.shards for replica in replicas]


def _likeness(point: edge.ScoredPoint | edge.Record) -> str:
    return f"{point.id} {json.dumps(point.payload, sort_keys=True)}"


def _rank(point_id: edge.PointId) -> tuple[bool, int]:
    # Numbers come before UUIDs.
    if isinstance(point_id, int):
        return False, point_id
    return True, UUID(str(point_id)).int
