"""
The embedded engine's shards: how they are made, opened, written and read.

The engine raises plain `Exception`; its calls are translated here and nowhere else.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import qdrant_edge as edge

from adapters.edge_filter import edge_filter
from adapters.edge_requests import query_batch
from adapters.payload_keys import VECTOR_KEYS, IndexKind, indexed_paths
from adapters.payload_values import Payload
from adapters.points import PointRecord, dense_names
from adapters.searches import DENSE, SPARSE, PointQuery, ScoredPayload
from adapters.store import Manifest
from assembler.errors import IndexUnavailable, IndexUnusable
from assembler.filters import Filter
from assembler.model import PointKind
from assembler.ports import Vector

_PAGE = 512
_SCHEMAS = {
    IndexKind.KEYWORD: edge.PayloadSchemaType.Keyword,
    IndexKind.INTEGER: edge.PayloadSchemaType.Integer,
    IndexKind.BOOL: edge.PayloadSchemaType.Bool,
}

_EVERY_REQUEST = (DENSE[PointKind.CHUNK],)
"""The vectors that are in memory from the start; those of sections come when they are asked for,
which coarse_to_fine alone does."""

_NO_SPACE = re.compile(rf"os error ({errno.ENOSPC}|{errno.EFBIG}|{errno.EDQUOT})\b")
"""How the engine's texts end that say that nothing more can be written."""

Answer = TypeVar("Answer")


class EdgeShard:
    """
    One generation of an embedded index.
    """

    def __init__(self, index: str, shard: edge.EdgeShard) -> None:
        self._index = index
        self._shard = shard

    @classmethod
    def create(cls, index: str, path: Path, manifest: Manifest) -> EdgeShard:
        """
        Make an empty shard with every payload index.
        """
        config = edge.EdgeConfig(
            vectors={
                name: edge.EdgeVectorParams(
                    size=manifest.embedding.model.dimension,
                    distance=edge.Distance.Cosine,
                    memory=edge.Memory.Cached if name in _EVERY_REQUEST else edge.Memory.Cold,
                )
                for name in dense_names(manifest)
            },
            sparse_vectors={
                name: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)
                for name in SPARSE.values()
            },
            # With a log, a shard belongs to one process; a publication is its own log.
            wal_enabled=False,
        )
        with _translated(index):
            path.mkdir(parents=True)
            shard = edge.EdgeShard.create(str(path), config)
            for key, kind in indexed_paths(manifest.fields).items():
                schema = (
                    edge.KeywordIndexParams(is_tenant=True)
                    if kind is IndexKind.TENANT
                    else _SCHEMAS[kind]
                )
                shard.update(edge.UpdateOperation.create_field_index(key, schema))
        return cls(index, shard)

    @classmethod
    def load(cls, index: str, path: Path) -> EdgeShard:
        """
        Open a shard.

        Raises:
            IndexUnusable: Its files are damaged or cannot be opened.
        """
        with _translated(index):
            return cls(index, edge.EdgeShard.load(str(path)))

    def close(self, *, is_written: bool = False) -> None:
        """
        Release the shard's files; after writing, tidy and flush them first.
        """
        with _translated(self._index):
            if is_written:
                self._shard.optimize()
                self._shard.flush()
            self._shard.close()

    def copy_to(self, other: EdgeShard) -> None:
        """
        Write every point, as it is stored, into another shard of the same configuration.
        """
        offset = None
        while True:
            request = edge.ScrollRequest(
                offset=offset, limit=_PAGE, with_payload=True, with_vector=True
            )
            with _translated(self._index):
                records, offset = self._shard.scroll(request)
                points = [
                    edge.Point(one.id, one.vector or {}, one.payload or {}) for one in records
                ]
                other._shard.update(edge.UpdateOperation.upsert_points(points))
            if offset is None:
                return

    def query(self, queries: Sequence[PointQuery]) -> list[list[ScoredPayload]]:
        """
        Return the results of a batch of searches.
        """
        with _translated(self._index):
            return [
                [ScoredPayload(point.score, point.payload or {}) for point in points]
                for points in self._shard.query_batch(query_batch(queries, has_payload=True))
            ]

    def search(self, queries: Sequence[PointQuery]) -> list[list[tuple[edge.PointId, float]]]:
        """
        Return the ids of a batch of searches with their scores; no payload is read.
        """
        with _translated(self._index):
            return [
                [(point.id, point.score) for point in points]
                for points in self._shard.query_batch(query_batch(queries, has_payload=False))
            ]

    def ids(self, wanted: Filter, page: int = _PAGE) -> list[edge.PointId]:
        """
        Return the ids of all points that pass.
        """
        return [record.id for record in self._records(wanted, (), page)]

    def payloads_of(
        self, ids: Sequence[edge.PointId], keys: tuple[str, ...] | None
    ) -> list[tuple[edge.PointId, Payload]]:
        """
        Return the payloads of some points, whole (None) or these keys; what is not there is left
        out.
        """
        if not ids:
            return []
        wanted = True if keys is None else list(keys)
        with _translated(self._index):
            return [
                (record.id, record.payload or {})
                for record in self._shard.retrieve(
                    list(ids), with_payload=wanted, with_vector=False
                )
            ]

    def scroll(
        self, wanted: Filter, keys: tuple[str, ...] | None, page: int = _PAGE
    ) -> list[Payload]:
        """
        Return the payloads of all points that pass.
        """
        return [record.payload or {} for record in self._records(wanted, keys, page)]

    def payloads(self, wanted: Filter) -> Iterator[Payload]:
        """
        Return the whole payloads of all points that pass, read in pages.
        """
        for record in self._records(wanted, None, _PAGE):
            yield record.payload or {}

    def upsert(self, points: Sequence[PointRecord]) -> None:
        """
        Write points, replacing those with the same id.
        """
        with _translated(self._index):
            self._shard.update(
                edge.UpdateOperation.upsert_points([_point(point) for point in points])
            )

    def set_payload(self, wanted: Filter, payload: Payload) -> None:
        """
        Set some keys on all points that pass.
        """
        with _translated(self._index):
            self._shard.update(
                edge.UpdateOperation.set_payload_by_filter(edge_filter(wanted), dict(payload))
            )

    def delete(self, wanted: Filter) -> None:
        """
        Delete all points that pass.
        """
        with _translated(self._index):
            self._shard.update(edge.UpdateOperation.delete_points_by_filter(edge_filter(wanted)))

    def count(self, wanted: Filter) -> int:
        """
        Return exactly how many points pass.
        """
        with _translated(self._index):
            return self._shard.count(edge.CountRequest(exact=True, filter=edge_filter(wanted)))

    def vectors(self, wanted: Filter) -> Iterator[tuple[Payload, Vector]]:
        """
        Return `VECTOR_KEYS` and the vector of all chunks that pass and have one.
        """
        for record in self._records(wanted, VECTOR_KEYS, _PAGE, with_vector=True):
            vectors = record.vector
            vector = vectors.get(DENSE[PointKind.CHUNK]) if isinstance(vectors, dict) else None
            if isinstance(vector, list) and all(isinstance(value, float) for value in vector):
                yield record.payload or {}, vector  # type: ignore[misc]

    def _records(
        self,
        wanted: Filter,
        keys: tuple[str, ...] | None,
        page: int,
        *,
        with_vector: bool = False,
    ) -> Iterator[edge.Record]:
        native, offset = edge_filter(wanted), None
        while True:
            request = edge.ScrollRequest(
                offset=offset,
                limit=page,
                filter=native,
                with_payload=True if keys is None else list(keys) or False,
                with_vector=[DENSE[PointKind.CHUNK]] if with_vector else False,
            )
            with _translated(self._index):
                records, offset = self._shard.scroll(request)
            yield from records
            if offset is None:
                return


def _point(record: PointRecord) -> edge.Point:
    vectors: dict[str, edge.NamedVector] = {
        name: edge.SparseVector(list(weights.indices), list(weights.values))
        for name, weights in record.sparse.items()
    }
    vectors |= {name: list(vector) for name, vector in record.dense.items()}
    return edge.Point(record.id, vectors, dict(record.payload))


@contextmanager
def _translated(index: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if "dimension" in str(error):
            raise IndexUnusable(index, f"a vector of another model: {error}") from error
        if _NO_SPACE.search(str(error)):
            problem = f"the disk of index {index!r} is full or a file is too large: {error}"
            raise IndexUnavailable(f"{problem}; make room and try again") from error
        problem = f"the embedded engine failed: {error}; publish the index again if this stays"
        raise IndexUnusable(index, problem) from error


def close_all(shards: Mapping[str, EdgeShard], *, is_written: bool = False) -> None:
    """
    Close every shard.
    """
    for shard in shards.values():
        shard.close(is_written=is_written)
