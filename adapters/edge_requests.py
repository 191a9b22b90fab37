"""
Searches as the embedded engine has them.
"""

from __future__ import annotations

from collections.abc import Sequence

import qdrant_edge as edge

from adapters.bm25 import SparseWeights
from adapters.edge_filter import edge_filter
from adapters.searches import PointQuery
from assembler.filters import Filter

FOLLOWED = 512
"""How many candidates an approximate vector search follows; see `python -m bench.recall`."""


def query_batch(queries: Sequence[PointQuery], *, has_payload: bool) -> edge.QueryBatchRequest:
    """
    Return a batch of searches, with the payload keys that they name or without any.
    """
    filters: dict[int, edge.Filter] = {}
    return edge.QueryBatchRequest(
        [_request(query, filters, has_payload=has_payload) for query in queries]
    )


def _request(
    query: PointQuery, filters: dict[int, edge.Filter], *, has_payload: bool
) -> edge.QueryRequest:
    vector: edge.NamedVector
    if isinstance(query.vector, SparseWeights):
        vector = edge.SparseVector(list(query.vector.indices), list(query.vector.values))
    else:
        vector = list(query.vector)
    wanted = _filter(query.wanted, filters)
    idf = None if query.corpus is None else edge.IdfParams(_filter(query.corpus, filters))
    return edge.QueryRequest(
        limit=query.limit,
        query=edge.Query.Nearest(vector, using=query.using),
        filter=wanted,
        with_payload=list(query.keys) if has_payload else False,
        params=edge.SearchParams(hnsw_ef=FOLLOWED, exact=query.is_exact, idf=idf),
    )


def _filter(wanted: Filter, filters: dict[int, edge.Filter]) -> edge.Filter:
    # Searches of one batch share their filters: each is translated once.
    known = filters.get(id(wanted))
    if known is None:
        known = filters[id(wanted)] = edge_filter(wanted)
    return known
