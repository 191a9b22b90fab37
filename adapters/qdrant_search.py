"""
Searches in the Qdrant server's own messages, and how they are run.

The raw messages are used, not the client's models; docs/decisions/0032 has the figures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from qdrant_client import grpc as wire
from qdrant_client.conversions.conversion import grpc_to_payload

from adapters.bm25 import SparseWeights
from adapters.qdrant_filter import qdrant_filter
from adapters.searches import PointQuery, ScoredPayload
from assembler.errors import IndexUnavailable

Consistency: TypeAlias = str | int
"""`majority`, `quorum` or `all`, or a number of replicas, as Qdrant understands them."""

_TYPES = {"majority": wire.Majority, "quorum": wire.Quorum, "all": wire.All}
MAJORITY = wire.ReadConsistency(type=wire.Majority)


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """
    How searches and reads are run.

    Attributes:
        ef: How many candidates an approximate vector search follows; None leaves it to the server.
        oversampling: Where vectors are quantised, how many times more of them are compared again
            by their original values; None leaves it to the server.
        consistency: How many replicas have to agree on what is read; None asks any one. Heads are
            always read by majority.
    """

    ef: int | None = None
    oversampling: float | None = None
    consistency: Consistency | None = None

    @property
    def read_consistency(self) -> wire.ReadConsistency | None:
        """
        Return the consistency in the server's message.
        """
        if self.consistency is None:
            return None
        if isinstance(self.consistency, int):
            return wire.ReadConsistency(factor=self.consistency)
        return wire.ReadConsistency(type=_TYPES[self.consistency])


def query_batch(
    collection: str, queries: Sequence[PointQuery], settings: SearchSettings, timeout_seconds: float
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
        query_points=[_query(collection, query, filters, settings) for query in queries],
        read_consistency=settings.read_consistency,
        timeout=whole_seconds(timeout_seconds),
    )


def _query(
    collection: str,
    query: PointQuery,
    filters: Mapping[int, wire.Filter],
    settings: SearchSettings,
) -> wire.QueryPoints:
    if isinstance(query.vector, SparseWeights):
        sparse = wire.SparseVector(indices=query.vector.indices, values=query.vector.values)
        nearest = wire.VectorInput(sparse=sparse)
        params = wire.SearchParams()
    else:
        nearest = wire.VectorInput(dense=wire.DenseVector(data=query.vector))
        params = _dense_params(settings, is_exact=query.is_exact)
    if query.corpus is not None:
        params.idf.corpus.CopyFrom(filters[id(query.corpus)])
    return wire.QueryPoints(
        collection_name=collection,
        query=wire.Query(nearest=nearest),
        using=query.using or None,
        filter=filters[id(query.wanted)],
        params=params,
        limit=query.limit,
        with_payload=selected(query.keys),
    )


def _dense_params(settings: SearchSettings, *, is_exact: bool) -> wire.SearchParams:
    if is_exact:
        # Exact is meant of the vectors that were stored, not of what they were quantised to.
        return wire.SearchParams(
            exact=True, quantization=wire.QuantizationSearchParams(ignore=True)
        )
    # Scores are cosines of the stored vectors in every setting: those of quantised ones would be
    # compared with a profile's bounds.
    rescored = wire.QuantizationSearchParams(rescore=True, oversampling=settings.oversampling)
    return wire.SearchParams(hnsw_ef=settings.ef, quantization=rescored)


def scored(response: wire.QueryBatchResponse, expected: int) -> list[list[ScoredPayload]]:
    """
    Return the results of a batch of searches.

    Raises:
        IndexUnavailable: Not every search was answered.
    """
    if len(response.result) != expected:
        problem = f"Qdrant answered {len(response.result)} of {expected} searches"
        raise IndexUnavailable(problem)
    return [
        [ScoredPayload(point.score, grpc_to_payload(point.payload)) for point in batch.result]
        for batch in response.result
    ]


def selected(keys: Sequence[str]) -> wire.WithPayloadSelector:
    """
    Return the choice of these payload keys.
    """
    return wire.WithPayloadSelector(include=wire.PayloadIncludeSelector(fields=keys))


def whole_seconds(seconds: float) -> int:
    """
    Return the seconds as the server takes them, never fewer: the client's own bound is exact.
    """
    return max(1, math.ceil(seconds))
