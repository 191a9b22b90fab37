"""
Points in the Qdrant server's own messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from qdrant_client import grpc as wire
from qdrant_client.conversions.conversion import grpc_to_payload, payload_to_grpc

from adapters.payload_keys import VECTOR_KEYS
from adapters.payload_values import Payload
from adapters.points import PointRecord
from adapters.qdrant_filter import qdrant_filter
from adapters.qdrant_search import (
    MAJORITY,
    SearchSettings,
    query_batch,
    scored,
    selected,
    whole_seconds,
)
from adapters.searches import DENSE, PointQuery, ScoredPayload
from assembler.filters import Filter
from assembler.model import PointKind
from assembler.ports import Vector

PAGE = 256

_CHUNK_VECTOR = DENSE[PointKind.CHUNK]
_WHAT_WAS_WRITTEN = SearchSettings(consistency="majority")


def collection_of(index: str, generation: str) -> str:
    """
    Return the name of a generation's collection.
    """
    return f"ctx__{index}__{generation}"


def scroll_points(
    collection: str,
    wanted: wire.Filter,
    keys: Sequence[str] | None,
    page: int,
    *,
    offset: wire.PointId | None = None,
    with_dense: bool = False,
    consistency: wire.ReadConsistency | None = None,
    timeout_seconds: float | None = None,
) -> wire.ScrollPoints:
    """
    Return one request for a page of points.

    Args:
        collection: Its name.
        wanted: Which points.
        keys: The payload keys that are returned; None for all.
        page: How many points.
        offset: Where the page before ended.
        with_dense: Whether the vectors of chunks are returned.
        consistency: How many replicas have to agree on the answer; None asks any one.
        timeout_seconds: How long the server may look; None leaves it to the server.
    """
    return wire.ScrollPoints(
        collection_name=collection,
        filter=wanted,
        offset=offset,
        limit=page,
        with_payload=wire.WithPayloadSelector(enable=True) if keys is None else selected(keys),
        with_vectors=wire.WithVectorsSelector(include=wire.VectorsSelector(names=[_CHUNK_VECTOR]))
        if with_dense
        else None,
        read_consistency=consistency,
        timeout=None if timeout_seconds is None else whole_seconds(timeout_seconds),
    )


class QdrantPoints:
    """
    The `PointWriter` of one collection. Every call waits until it is applied everywhere.
    """

    def __init__(
        self, points: Callable[[], wire.PointsStub], collection: str, timeout_seconds: float
    ) -> None:
        self._points = points
        self._collection = collection
        self._timeout = timeout_seconds

    def upsert(self, points: Sequence[PointRecord]) -> None:
        """
        Write points, replacing those with the same id.
        """
        request = wire.UpsertPoints(
            collection_name=self._collection, wait=True, points=[_point(point) for point in points]
        )
        self._points().Upsert(request, timeout=self._timeout)

    def set_payload(self, wanted: Filter, payload: Payload) -> None:
        """
        Set some keys on all points that pass.
        """
        request = wire.SetPayloadPoints(
            collection_name=self._collection,
            wait=True,
            payload=payload_to_grpc(dict(payload)),
            points_selector=wire.PointsSelector(filter=qdrant_filter(wanted)),
        )
        self._points().SetPayload(request, timeout=self._timeout)

    def delete(self, wanted: Filter) -> None:
        """
        Delete all points that pass.
        """
        request = wire.DeletePoints(
            collection_name=self._collection,
            wait=True,
            points=wire.PointsSelector(filter=qdrant_filter(wanted)),
        )
        self._points().Delete(request, timeout=self._timeout)

    def count(self, wanted: Filter) -> int:
        """
        Return exactly how many points pass.
        """
        request = wire.CountPoints(
            collection_name=self._collection,
            filter=qdrant_filter(wanted),
            exact=True,
            read_consistency=MAJORITY,
        )
        return int(self._points().Count(request, timeout=self._timeout).result.count)

    def query(self, queries: Sequence[PointQuery]) -> list[list[ScoredPayload]]:
        """
        Return the results of a batch of searches.
        """
        request = query_batch(self._collection, queries, _WHAT_WAS_WRITTEN, self._timeout)
        answer = self._points().QueryBatch(request, timeout=self._timeout)
        return scored(answer, len(queries))

    def payloads(self, wanted: Filter) -> Iterator[Payload]:
        """
        Return the whole payloads of all points that pass, read in pages.
        """
        for point in self._scroll(wanted, None):
            yield grpc_to_payload(point.payload)

    def vectors(self, wanted: Filter) -> Iterator[tuple[Payload, Vector]]:
        """
        Return `VECTOR_KEYS` and the vector of all chunks that pass and have one.
        """
        for point in self._scroll(wanted, VECTOR_KEYS):
            vector = point.vectors.vectors.vectors[_CHUNK_VECTOR]
            values = vector.dense.data or vector.data
            if values:
                yield grpc_to_payload(point.payload), tuple(values)

    def _scroll(
        self, wanted: Filter, keys: tuple[str, ...] | None
    ) -> Iterator[wire.RetrievedPoint]:
        """
        Return all points that pass, with their vectors where only keys are asked for.
        """
        native, offset = qdrant_filter(wanted), None
        while True:
            request = scroll_points(
                self._collection,
                native,
                keys,
                PAGE,
                offset=offset,
                with_dense=keys is not None,
                consistency=MAJORITY,
            )
            answer = self._points().Scroll(request, timeout=self._timeout)
            yield from answer.result
            if not answer.HasField("next_page_offset"):
                return
            offset = answer.next_page_offset


def _point(record: PointRecord) -> wire.PointStruct:
    vectors = {
        name: wire.Vector(sparse=wire.SparseVector(indices=it.indices, values=it.values))
        for name, it in record.sparse.items()
    }
    vectors |= {
        name: wire.Vector(dense=wire.DenseVector(data=vector))
        for name, vector in record.dense.items()
    }
    return wire.PointStruct(
        id=wire.PointId(uuid=record.id),
        payload=payload_to_grpc(dict(record.payload)),
        vectors=wire.Vectors(vectors=wire.NamedVectors(vectors=vectors)),
    )
