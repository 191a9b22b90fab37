"""
A look at a collection: what its points have, and what they lack.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeAlias

from qdrant_client import QdrantClient
from qdrant_client import grpc as wire
from qdrant_client.conversions.conversion import grpc_to_payload

from adapters.attached_groups import WINDOW_CHARS, WINDOW_CHUNKS
from adapters.attached_points import AttachedPoint, key_of, read_point
from adapters.attached_shape import dense_vectors, names_of, unfit
from adapters.attachment import PayloadMapping
from adapters.payload_values import PayloadDamaged
from adapters.qdrant_connection import translated
from adapters.qdrant_search import selected
from assembler.errors import IndexUnusable, InvalidRequest, QueryTooLong
from assembler.ports import Embedder, Vector

SAMPLE = 64
"""So many points are looked at."""

MOST_EMBEDDED = 16
"""Texts of so many of them are embedded for the comparison with a model."""

EMBEDDED_CHARS = 400
"""So much of a text is, or what of it the model takes."""

Embedded: TypeAlias = "tuple[AttachedPoint, Vector]"
"""A point that fits the mapping, with its vector."""


@dataclass(frozen=True, slots=True)
class Sample:
    """
    Some points of a collection.

    Attributes:
        points: How many were looked at.
        fitting: Those of them that fit the mapping, with their vectors.
        problems: What others lack, and how many lack it.
    """

    points: int
    fitting: tuple[Embedded, ...]
    problems: Mapping[str, int]

    @property
    def lacking(self) -> str:
        """
        Return what those that do not fit lack, in words.
        """
        return ", ".join(f"{key} ({count})" for key, count in self.problems.items()) or "all"


@dataclass(frozen=True, slots=True)
class Looked:
    """
    What a look found.

    Attributes:
        vector: The name of the vectors; "" for those without one.
        points: How many points there are.
        sample: What was found in some of them.
        unindexed: Paths that are filtered by and have no payload index.
    """

    vector: str
    dimension: int
    points: int
    sample: Sample
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
        name, params = _named(info, vector)
        problem = unfit(params)
        if problem is not None:
            raise IndexUnusable(collection, problem)
        found = client.grpc_points.Scroll(
            sample_request(collection, mapping, name), timeout=timeout_seconds
        ).result
    return Looked(
        vector=name,
        dimension=params.size,
        points=info.points_count,
        sample=sample_of(found, mapping, name),
        unindexed=tuple(one for one in filtered(mapping) if one not in info.payload_schema),
    )


def sample_request(collection: str, mapping: PayloadMapping, vector: str) -> wire.ScrollPoints:
    """
    Return the request for some points, the first by id, with their vectors of this name.
    """
    names = wire.VectorsSelector(names=[vector])
    return wire.ScrollPoints(
        collection_name=collection,
        limit=SAMPLE,
        with_payload=selected(mapping.returned),
        with_vectors=wire.WithVectorsSelector(include=names)
        if vector
        else wire.WithVectorsSelector(enable=True),
    )


def sample_of(found: Sequence[wire.RetrievedPoint], mapping: PayloadMapping, vector: str) -> Sample:
    """
    Return which points fit a mapping and have a vector.
    """
    fitting: list[Embedded] = []
    problems: dict[str, int] = {}
    for one in found:
        try:
            point = read_point(mapping, key_of(one.id), grpc_to_payload(one.payload))
            fitting.append((point, _values(one, vector)))
        except PayloadDamaged as error:
            problems[error.key] = problems.get(error.key, 0) + 1
    return Sample(len(found), tuple(fitting), problems)


async def similarity_of(embedder: Embedder, sample: Sample) -> float:
    """
    Return how near stored vectors are to those that a model makes of the same texts: the median
    cosine, -1 where their dimensions differ.

    Args:
        embedder: The model.
        sample: At least one point that fits.

    Raises:
        EmbedderUnavailable: The model could not be asked.
    """
    pairs = sample.fitting[:MOST_EMBEDDED]
    if any(len(stored) != embedder.identity.dimension for _, stored in pairs):
        return -1.0
    texts = [point.text[:EMBEDDED_CHARS] for point, _ in pairs]
    made: Sequence[Vector] | None = None
    while made is None:
        try:
            made = await embedder.embed(texts)
        except QueryTooLong as error:
            text = texts[error.position]
            texts[error.position] = text[: len(text) // 2]
    return median(_cosine(one, stored) for one, (_, stored) in zip(made, pairs, strict=True))


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


def _named(info: wire.CollectionInfo, wanted: str | None) -> tuple[str, wire.VectorParams]:
    known = dense_vectors(info)
    if wanted is None and len(known) == 1:
        return next(iter(known.items()))
    if wanted not in known:
        problem = f"name one of the collection's dense vectors: {names_of(info)}"
        raise InvalidRequest("vector", problem)
    return wanted, known[wanted]


def _values(point: wire.RetrievedPoint, name: str) -> Vector:
    # Vectors without a name come by the name "" where the point has others, too.
    sent = point.vectors.vectors.vectors.get(name, point.vectors.vector)
    values = tuple(sent.dense.data or sent.data)
    if not values:
        raise PayloadDamaged(f"vector {name!r}")
    return values


def _cosine(one: Vector, other: Vector) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    lengths = math.hypot(*one) * math.hypot(*other)
    return product / lengths if lengths else 0.0
