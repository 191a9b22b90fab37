"""
Qdrant's protocol as calls of the real embedded engine, and back.
"""

from __future__ import annotations

from uuid import UUID

import grpc
import numpy as np
import qdrant_edge as edge
from qdrant_client import grpc as wire
from qdrant_client.conversions.conversion import grpc_to_payload, payload_to_grpc

from tests.qdrant_server.fields import Refused

_UNUSED = "unused"
_DISTANCES = {
    wire.Cosine: edge.Distance.Cosine,
    wire.Dot: edge.Distance.Dot,
    wire.Euclid: edge.Distance.Euclid,
    wire.Manhattan: edge.Distance.Manhattan,
}


def edge_filter(sent: wire.Filter) -> edge.Filter:
    """
    Return the engine's filter.
    """
    return edge.Filter(
        must=[_condition(part) for part in sent.must] or None,
        should=[_condition(part) for part in sent.should] or None,
        must_not=[_condition(part) for part in sent.must_not] or None,
    )


def _condition(sent: wire.Condition) -> edge.ConditionType:
    kind = sent.WhichOneof("condition_one_of")
    if kind == "filter":
        return edge_filter(sent.filter)
    if kind == "is_empty":
        return edge.IsEmptyCondition(sent.is_empty.key)
    if kind == "has_id":
        # Texts are not taken for ids here.
        return edge.HasIdCondition(
            {UUID(one.uuid) if one.uuid else one.num for one in sent.has_id.has_id}
        )
    field = sent.field
    if field.HasField("match"):
        return edge.FieldCondition(field.key, match=_match(field.match))
    if not field.HasField("range"):
        raise Refused(grpc.StatusCode.INVALID_ARGUMENT, "a field condition without a test")
    bounds = {
        name: getattr(field.range, name)
        for name in ("lt", "gt", "gte", "lte")
        if field.range.HasField(name)
    }
    return edge.FieldCondition(field.key, range=edge.RangeFloat(**bounds))


def _match(sent: wire.Match) -> edge.MatchType:
    kind = sent.WhichOneof("match_value")
    if kind == "keyword":
        return edge.MatchValue(sent.keyword)
    if kind == "keywords":
        return edge.MatchAny(list(sent.keywords.strings))
    if kind == "integers":
        return edge.MatchAny(list(sent.integers.integers))
    # The binding takes Python's own bool for an integer.
    return edge.MatchValue(np.bool_(sent.boolean))  # type: ignore[arg-type]


def edge_point(sent: wire.PointStruct) -> edge.Point:
    """
    Return the engine's point.
    """
    if not sent.HasField("vectors"):
        raise Refused(grpc.StatusCode.INVALID_ARGUMENT, "Expected some vectors")
    vectors: dict[str, edge.NamedVector] = {}
    named = dict(sent.vectors.vectors.vectors)
    if sent.vectors.HasField("vector"):
        named[""] = sent.vectors.vector
    for name, vector in named.items():
        if vector.HasField("sparse"):
            vectors[name] = edge.SparseVector(
                list(vector.sparse.indices), list(vector.sparse.values)
            )
        else:
            vectors[name] = list(vector.dense.data)
    return edge.Point(edge_id(sent.id), vectors, grpc_to_payload(sent.payload))


def edge_config(sent: wire.CreateCollection, indexing_kilobytes: int | None) -> edge.EdgeConfig:
    """
    Return the engine's configuration; vectors get links from so many kilobytes on.
    """
    links = sent.hnsw_config
    hnsw = edge.HnswIndexConfig(
        m=links.m if links.HasField("m") else 16,
        ef_construct=links.ef_construct if links.HasField("ef_construct") else 100,
        full_scan_threshold=10_000 if indexing_kilobytes is None else indexing_kilobytes,
        payload_m=links.payload_m if links.HasField("payload_m") else None,
    )
    dense = dict(sent.vectors_config.params_map.map)
    if sent.vectors_config.HasField("params"):
        dense[""] = sent.vectors_config.params
    return edge.EdgeConfig(
        vectors={
            key: edge.EdgeVectorParams(
                params.size,
                _DISTANCES[params.distance],
                on_disk=params.on_disk,
                multivector_config=edge.MultiVectorConfig(edge.MultiVectorComparator.MaxSim)
                if params.HasField("multivector_config")
                else None,
            )
            for key, params in dense.items()
        },
        # The engine wants at least one vector name; the server does not.
        sparse_vectors={
            key: edge.EdgeSparseVectorParams(
                modifier=edge.Modifier.Idf if params.modifier == wire.Idf else None
            )
            for key, params in sent.sparse_vectors_config.map.items()
        }
        or {_UNUSED: edge.EdgeSparseVectorParams()},
        hnsw_config=hnsw,
        quantization_config=_quantization(sent.quantization_config),
        on_disk_payload=sent.on_disk_payload if sent.HasField("on_disk_payload") else None,
        optimizers=edge.EdgeOptimizersConfig(indexing_threshold=indexing_kilobytes),
    )


def _quantization(
    sent: wire.QuantizationConfig,
) -> edge.ScalarQuantizationConfig | edge.BinaryQuantizationConfig | None:
    kind = sent.WhichOneof("quantization")
    if kind == "scalar":
        return edge.ScalarQuantizationConfig(
            edge.ScalarType.Int8, always_ram=sent.scalar.always_ram
        )
    if kind == "binary":
        return edge.BinaryQuantizationConfig(always_ram=sent.binary.always_ram)
    return None


def edge_query(sent: wire.QueryPoints, limit: int) -> edge.QueryRequest:
    """
    Return the engine's search for so many points.
    """
    nearest = sent.query.nearest
    vector: edge.NamedVector
    if nearest.HasField("sparse"):
        vector = edge.SparseVector(list(nearest.sparse.indices), list(nearest.sparse.values))
    else:
        vector = list(nearest.dense.data)
    idf = None
    if sent.params.HasField("idf"):
        idf = edge.IdfParams(edge_filter(sent.params.idf.corpus))
    return edge.QueryRequest(
        limit=limit,
        query=edge.Query.Nearest(vector, using=sent.using),
        filter=edge_filter(sent.filter),
        with_payload=edge_selector(sent.with_payload),
        params=edge.SearchParams(
            hnsw_ef=sent.params.hnsw_ef if sent.params.HasField("hnsw_ef") else None,
            exact=sent.params.exact,
            quantization=_rescoring(sent.params.quantization),
            idf=idf,
        ),
    )


def _rescoring(sent: wire.QuantizationSearchParams) -> edge.QuantizationSearchParams:
    return edge.QuantizationSearchParams(
        ignore=sent.ignore,
        rescore=sent.rescore if sent.HasField("rescore") else None,
        oversampling=sent.oversampling if sent.HasField("oversampling") else None,
    )


def edge_selector(sent: wire.WithPayloadSelector) -> bool | list[str]:
    """
    Return which payload keys are asked for.
    """
    if sent.HasField("include"):
        return list(sent.include.fields)
    return sent.enable


def wire_id(point_id: edge.PointId) -> wire.PointId:
    """
    Return a point's id as it is sent: a number, or a UUID.
    """
    if isinstance(point_id, int):
        return wire.PointId(num=point_id)
    return wire.PointId(uuid=str(point_id))


def edge_id(sent: wire.PointId) -> edge.PointId:
    """
    Return the engine's id.
    """
    return sent.num if sent.HasField("num") else sent.uuid


def scored_point(found: edge.ScoredPoint) -> wire.ScoredPoint:
    """
    Return a hit as it is sent.
    """
    return wire.ScoredPoint(
        id=wire_id(found.id),
        score=found.score,
        payload=payload_to_grpc(found.payload or {}),
    )


def retrieved_point(found: edge.Record) -> wire.RetrievedPoint:
    """
    Return a record as it is sent.
    """
    vectors = None
    if isinstance(found.vector, list):
        values = wire.DenseVector(data=np.asarray(found.vector).tolist())
        vectors = wire.VectorsOutput(vector=wire.VectorOutput(dense=values))
    elif isinstance(found.vector, dict):
        dense = {
            name: wire.VectorOutput(dense=wire.DenseVector(data=np.asarray(vector).tolist()))
            for name, vector in found.vector.items()
            if isinstance(vector, list)
        }
        vectors = wire.VectorsOutput(vectors=wire.NamedVectorsOutput(vectors=dense))
    return wire.RetrievedPoint(
        id=wire_id(found.id),
        payload=payload_to_grpc(found.payload or {}),
        vectors=vectors,
    )
