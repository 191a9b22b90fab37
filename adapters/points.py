"""
Points as both engines store them, and what the writing side needs of an engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from adapters.bm25 import Bm25Encoder, SparseWeights
from adapters.payload import encode_chunk, encode_section, point_id
from adapters.payload_values import Payload
from adapters.records import ChunkPoint, SectionPoint
from adapters.searches import DENSE, SPARSE, PointQuery, ScoredPayload
from adapters.store import Bm25Spec, Manifest
from assembler.filters import Filter
from assembler.model import PointKind
from assembler.ports import Vector


@dataclass(frozen=True, slots=True)
class PointRecord:
    """
    A point as engines store it.
    """

    id: str
    payload: Payload
    dense: Mapping[str, Vector]
    sparse: Mapping[str, SparseWeights]


class PointReader(Protocol):
    """
    The points of one generation, to be looked at.
    """

    def payloads(self, wanted: Filter) -> Iterable[Payload]:
        """
        Return the whole payloads of all points that pass, read in pages.
        """
        ...

    def query(self, queries: Sequence[PointQuery]) -> Sequence[Sequence[ScoredPayload]]:
        """
        Return the results of a batch of searches.
        """
        ...

    def count(self, wanted: Filter) -> int:
        """
        Return exactly how many points pass.
        """
        ...

    def vectors(self, wanted: Filter) -> Iterable[tuple[Payload, Vector]]:
        """
        Return `VECTOR_KEYS` and the vector of all chunks that pass and have one.
        """
        ...


class PointWriter(PointReader, Protocol):
    """
    The points of one generation, for the writing side. Every call returns when it is applied.
    """

    def upsert(self, points: Sequence[PointRecord]) -> None:
        """
        Write points, replacing those with the same id.
        """
        ...

    def set_payload(self, wanted: Filter, payload: Payload) -> None:
        """
        Set some keys on all points that pass.
        """
        ...

    def delete(self, wanted: Filter) -> None:
        """
        Delete all points that pass.
        """
        ...


def dense_names(manifest: Manifest) -> tuple[str, ...]:
    """
    Return the named dense vectors that a generation has.
    """
    names = [DENSE[PointKind.CHUNK]]
    if manifest.section_vectors:
        names.append(DENSE[PointKind.SECTION])
    return tuple(names)


def chunk_record(point: ChunkPoint, spec: Bm25Spec) -> PointRecord:
    """
    Return the point of a chunk.
    """
    provenance = point.chunk.provenance
    kind = PointKind.CHUNK
    weights = Bm25Encoder(spec).document(point.bm25_text, point.language, kind)
    return PointRecord(
        id=point_id(kind, provenance.tenant, point.chunk.key, provenance.from_rev),
        payload=encode_chunk(point),
        dense={DENSE[kind]: point.vector},
        sparse={} if weights.is_empty else {SPARSE[kind]: weights},
    )


def section_record(point: SectionPoint, manifest: Manifest) -> PointRecord:
    """
    Return the point of a section; its vector only where the generation has those.
    """
    provenance = point.section.provenance
    kind = PointKind.SECTION
    encoder, vector = Bm25Encoder(manifest.bm25), point.vector
    weights = encoder.document(point.bm25_text, point.section.language, kind)
    return PointRecord(
        id=point_id(kind, provenance.tenant, point.section.key, provenance.from_rev),
        payload=encode_section(point),
        dense={DENSE[kind]: vector} if manifest.section_vectors and vector is not None else {},
        sparse={} if weights.is_empty else {SPARSE[kind]: weights},
    )
