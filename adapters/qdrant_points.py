"""
Points and searches in the Qdrant server's own messages.

The raw messages are used, not the client's models: converting a hundred hits to and from those
would cost more than the search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from qdrant_client import grpc as wire
from qdrant_client.conversions.conversion import grpc_to_payload, payload_to_grpc

from adapters.bm25 import SparseWeights
from adapters.payload_keys import VECTOR_KEYS
from adapters.payload_values import Payload
from adapters.points import PointRecord
from adapters.qdrant_filter import qdrant_filter
from adapters.searches import DENSE, PointQuery, ScoredPayload
from assembler.filters import Filter
from assembler.model import PointKind
from assembler.ports import Vector

PAGE = 256

_CHUNK_VECTOR = DENSE[PointKind.CHUNK]


def collection_of(index: str, generation: str) -> str:
    """
    Return the name of a generation's collection.
    """
    return f"ctx__{index}__{generation}"


def query_batch(
    collection: str, queries: Sequence[PointQuery], timeout_seconds: float
) -> wire.QueryBatchPoints:
    """
    Return one request for a batch of searches.
    """
    filters: dict[int, wire.Filter] = {}
    for query in queries:
        for wanted in (query.wanted, query.corpus):
            # Searches of one batch share their filters: each is translated once.
            if wanted is not None and id(wanted) not in filters:
                filters[id(wanted)] = qdrant_filter(wanted)
    return wire.QueryBatchPoints(
        collection_name=collection,
        query_points=[_query(collection, query, filters) for query in queries],
        timeout=_whole_seconds(timeout_seconds),
    )


def _query(
    collection: str, query: PointQuery, filters: Mapping[int, wire.Filter]
) -> wire.QueryPoints:
    if isinstance(query.vector, SparseWeights):
        sparse = wire.SparseVector(indices=query.vector.indices, values=query.vector.values)
        nearest = wire.VectorInput(sparse=sparse)
    else:
        nearest = wire.VectorInput(dense=wire.DenseVector(data=query.vector))
    params = wire.SearchParams(exact=query.is_exact)
    if query.corpus is not None:
        params.idf.corpus.CopyFrom(filters[id(query.corpus)])
    return wire.QueryPoints(
        collection_name=collection,
        query=wire.Query(nearest=nearest),
        using=query.using,
        filter=filters[id(query.wanted)],
        params=params,
        limit=query.limit,
        with_payload=_selected(query.keys),
    )


def scored(response: wire.QueryBatchResponse) -> list[list[ScoredPayload]]:
    """
    Return the results of a batch of searches.
    """
    return [
        [ScoredPayload(point.score, grpc_to_payload(point.payload)) for point in batch.result]
        for batch in response.result
    ]


def scroll_points(
    collection: str,
    wanted: wire.Filter,
    keys: Sequence[str] | None,
    page: int,
    *,
    offset: wire.PointId | None = None,
    with_dense: bool = False,
    by_majority: bool = False,
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
        by_majority: Whether most replicas have to agree on the answer.
    """
    return wire.ScrollPoints(
        collection_name=collection,
        filter=wanted,
        offset=offset,
        limit=page,
        with_payload=wire.WithPayloadSelector(enable=True) if keys is None else _selected(keys),
        with_vectors=wire.WithVectorsSelector(include=wire.VectorsSelector(names=[_CHUNK_VECTOR]))
        if with_dense
        else None,
        read_consistency=wire.ReadConsistency(type=wire.Majority) if by_majority else None,
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
            read_consistency=wire.ReadConsistency(type=wire.Majority),
        )
        return int(self._points().Count(request, timeout=self._timeout).result.count)

    def query(self, queries: Sequence[PointQuery]) -> list[list[ScoredPayload]]:
        """
        Return the results of a batch of searches.
        """
        request = query_batch(self._collection, queries, self._timeout)
        return scored(self._points().QueryBatch(request, timeout=self._timeout))

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
                self._collection, native, keys, PAGE, offset=offset, with_dense=keys is not None
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


def _selected(keys: Sequence[str]) -> wire.WithPayloadSelector:
    return wire.WithPayloadSelector(include=wire.PayloadIncludeSelector(fields=keys))


def _whole_seconds(seconds: float) -> int:
    return max(1, round(seconds))
