"""
A look at a collection before it is attached: what its points have, and what they lack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from qdrant_client import QdrantClient
from qdrant_client import grpc as wire
from qdrant_client.conversions.conversion import grpc_to_payload

from adapters.attached_groups import WINDOW_CHARS, WINDOW_CHUNKS
from adapters.attached_points import AttachedPoint, read_point
from adapters.attached_reads import key_of
from adapters.attachment import PayloadMapping
from adapters.payload_values import PayloadDamaged
from adapters.qdrant_connection import translated
from assembler.errors import IndexUnusable, InvalidRequest
from assembler.ports import Vector

SAMPLE = 64
"""So many points are looked at."""


@dataclass(frozen=True, slots=True)
class Looked:
    """
    What a look found.

    Attributes:
        vector: The name of the vectors; "" for those without one.
        points: How many points there are.
        sampled: How many were looked at.
        fitting: Those of them that fit the mapping, with their vectors.
        problems: What others lack, and how many lack it.
        unindexed: Paths that are filtered by and have no payload index.
    """

    vector: str
    dimension: int
    points: int
    sampled: int
    fitting: tuple[tuple[AttachedPoint, Vector], ...]
    problems: Mapping[str, int]
    unindexed: tuple[str, ...]


def look_at(
    client: QdrantClient,
    collection: str,
    mapping: PayloadMapping,
    vector: str | None,
    timeout_seconds: float,
) -> Looked:
    """
    Return what a collection has; nothing is written.

    Raises:
        InvalidRequest: There is no such collection or vector, or several and none is named.
        IndexUnusable: Its vectors are not compared by cosine.
        IndexUnavailable: The server cannot be asked.
    """
    gone = InvalidRequest("collection", f"the server has no collection {collection!r}")
    with translated(collection, missing=gone):
        info = client.grpc_collections.Get(
            wire.GetCollectionInfoRequest(collection_name=collection), timeout=timeout_seconds
        ).result
        name, params = _vectors(info.config.params.vectors_config, vector)
        if params.distance != wire.Cosine:
            distance = wire.Distance.Name(params.distance)
            raise IndexUnusable(
                collection, f"its vectors are compared by {distance}; scores have to be cosines"
            )
        found = client.grpc_points.Scroll(
            wire.ScrollPoints(
                collection_name=collection,
                limit=SAMPLE,
                with_payload=wire.WithPayloadSelector(enable=True),
                with_vectors=wire.WithVectorsSelector(enable=True),
            ),
            timeout=timeout_seconds,
        ).result
    fitting: list[tuple[AttachedPoint, Vector]] = []
    problems: dict[str, int] = {}
    for one in found:
        try:
            point = read_point(mapping, key_of(one.id), grpc_to_payload(one.payload))
        except PayloadDamaged as error:
            problems[error.key] = problems.get(error.key, 0) + 1
        else:
            fitting.append((point, _values(one, name)))
    return Looked(
        vector=name,
        dimension=params.size,
        points=info.points_count,
        sampled=len(found),
        fitting=tuple(fitting),
        problems=problems,
        unindexed=tuple(one for one in filtered(mapping) if one not in info.payload_schema),
    )


def filtered(mapping: PayloadMapping) -> tuple[str, ...]:
    """
    Return the paths that reads filter by.
    """
    names = ("tenant", "source", "section" if mapping.section else "start", "ordinal")
    paths = (path for name in names if (path := mapping.paths.get(name)))
    return tuple(path for path in paths if mapping.is_filterable(path))


def capabilities(mapping: PayloadMapping) -> tuple[str, ...]:
    """
    Return what a collection can and cannot do, in words.
    """
    if mapping.start is not None:
        place = "its section" if mapping.section else f"{WINDOW_CHARS} code points"
        beside = f"chunks of a source that touch, inside {place}; offsets are the source's"
    elif mapping.ordinal is not None:
        place = "its section" if mapping.section else f"each {WINDOW_CHUNKS} by ordinal"
        beside = f"chunks that follow each other, inside {place}; offsets are those of their text"
    else:
        beside = "none: without start or ordinal every chunk stands alone, and none are merged"
    return (
        f"sections: {beside}",
        "borders: chunks are not cut inside",
        f"versions: {mapping.version or 'one for each source'}",
        f"tenants: {mapping.tenant or 'none: only the empty tenant sees it'}",
        "text search: none: HYBRID searches by vector alone, SPARSE and COARSE_TO_FINE are refused",
        "filters and readers: none",
        "source texts: cannot be read back, nor ranges of them demanded",
    )


def _vectors(sent: wire.VectorsConfig, wanted: str | None) -> tuple[str, wire.VectorParams]:
    known: dict[str, wire.VectorParams] = dict(sent.params_map.map)
    if sent.HasField("params"):
        known[""] = sent.params
    if wanted is None and len(known) == 1:
        return next(iter(known.items()))
    if wanted not in known:
        names = ", ".join(repr(name) for name in sorted(known)) or "none"
        raise InvalidRequest("vector", f"name one of the collection's dense vectors: {names}")
    return wanted, known[wanted]


def _values(point: wire.RetrievedPoint, name: str) -> Sequence[float]:
    sent = point.vectors.vectors.vectors[name] if name else point.vectors.vector
    return tuple(sent.dense.data or sent.data)
