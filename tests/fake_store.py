"""
What `FakeIndex` stores, how it is changed, and how it is scored.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from adapters.bm25 import Bm25Encoder, SparseWeights
from adapters.store import (
    ChunkPoint,
    LedgerRow,
    Manifest,
    RevisionSummary,
    SectionPoint,
    TenantLedger,
)
from assembler.model import FOREVER, Chunk, Hit, PointKind, Provenance, Section, SectionHit
from assembler.ports import Vector
from assembler.scope import IndexVersion

WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Stored:
    """
    One stored point; exactly one of chunk and section is there.
    """

    provenance: Provenance
    weights: SparseWeights
    chunk: ChunkPoint | None = None
    section: Section | None = None
    section_vector: Vector | None = None

    @property
    def kind(self) -> PointKind:
        return PointKind.CHUNK if self.chunk else PointKind.SECTION

    @property
    def key(self) -> str:
        """
        Return the key of its chunk or section.
        """
        if self.chunk:
            return self.chunk.chunk.key
        assert self.section
        return self.section.key

    @property
    def section_key(self) -> str:
        """
        Return the key of the section that it lies in, or is.
        """
        return self.chunk.chunk.section_key if self.chunk else self.key

    @property
    def vector(self) -> Vector | None:
        """
        Return its vector; not every section has one.
        """
        return self.chunk.vector if self.chunk else self.section_vector

    def as_chunk(self) -> Chunk:
        """
        Return the chunk as readers see it.
        """
        assert self.chunk
        return self.chunk.chunk._replace(provenance=self.provenance)

    def as_section(self) -> Section:
        """
        Return the section as readers see it.
        """
        assert self.section
        return replace(self.section, provenance=self.provenance)

    def as_of(self, revision: int) -> Stored:
        """
        Return the point as a revision has it: what ends later is still open.
        """
        old = self.provenance
        return replace(
            self,
            provenance=replace(
                old,
                active_to_rev=FOREVER if old.active_to_rev > revision else old.active_to_rev,
                to_rev=FOREVER if old.to_rev > revision else old.to_rev,
            ),
        )


def _unpublished() -> TenantLedger:
    return TenantLedger(None, 0, readers_required=False, rows=(), revisions=())


@dataclass(frozen=True)
class Part:
    """
    One tenant's part of an index: its points by generation.
    """

    ledger: TenantLedger = field(default_factory=_unpublished)
    points: Mapping[str, tuple[Stored, ...]] = field(default_factory=dict)
    oldest_revision: int = 0


@dataclass
class StoredIndex:
    """
    One index: manifests in the order of their making, and parts by tenant.
    """

    manifests: dict[str, Manifest] = field(default_factory=dict)
    parts: dict[str, Part] = field(default_factory=dict)
    is_written: bool = False


class FakePublication:
    """
    A `Publication` that changes a copy, and puts it in place when it is committed.
    """

    def __init__(self, index: StoredIndex, tenant: str) -> None:
        self._index = index
        self._tenant = tenant
        self._part = index.parts.get(tenant, Part())
        self._points = dict(self._part.points)
        self._target = self.manifest

    @property
    def ledger(self) -> TenantLedger:
        """
        Return the state before this change.
        """
        return self._part.ledger

    @property
    def manifest(self) -> Manifest | None:
        """
        Return the manifest of the tenant's present generation.
        """
        generation = self._part.ledger.generation
        return None if generation is None else self._index.manifests[generation]

    def manifest_of(self, generation: str) -> Manifest | None:
        """
        Return the manifest of a generation.
        """
        return self._index.manifests.get(generation)

    def open_generation(self, manifest: Manifest) -> None:
        """
        Make the generation of this manifest the one that is written.
        """
        if manifest.generation != self._part.ledger.generation:
            self._points[manifest.generation] = ()
        self._target = manifest

    def reusable_vectors(self, source_id: str) -> Mapping[str, Vector]:
        """
        Return stored vectors of all versions of a source by `input_sha256`.
        """
        present = self.manifest
        if present is None or not self._target or present.embedding != self._target.embedding:
            return {}
        return {
            point.chunk.input_sha256: point.chunk.vector
            for point in self._points[present.generation]
            if point.chunk and point.provenance.source_id == source_id
        }

    def write(self, chunks: Sequence[ChunkPoint], sections: Sequence[SectionPoint]) -> None:
        """
        Write points.
        """
        target = self._opened()
        encoder = Bm25Encoder(target.bm25)
        new = [
            Stored(
                point.chunk.provenance,
                encoder.document(point.bm25_text, point.language, PointKind.CHUNK),
                chunk=point,
            )
            for point in chunks
        ]
        new.extend(
            Stored(
                point.section.provenance,
                encoder.document(point.bm25_text, point.section.language, PointKind.SECTION),
                section=point.section,
                section_vector=point.vector if target.section_vectors else None,
            )
            for point in sections
        )
        for point in new:
            expected = (self._tenant, self.ledger.revision + 1)
            if (point.provenance.tenant, point.provenance.from_rev) != expected:
                msg = f"a point of another tenant or revision than {expected}"
                raise ValueError(msg)
        ids = {(point.kind, point.key, point.provenance.from_rev) for point in new}
        kept = [
            point
            for point in self._points.get(target.generation, ())
            if (point.kind, point.key, point.provenance.from_rev) not in ids
        ]
        self._points[target.generation] = (*kept, *new)

    def end_version(
        self, row: LedgerRow, *, active_to_rev: int | None = None, to_rev: int | None = None
    ) -> None:
        """
        Set the end of a published source version on all its points.
        """
        wanted = (row.source_id, row.version, row.content_sha256, row.from_rev)

        def ended(old: Provenance) -> Provenance:
            if (old.source_id, old.version, old.content_sha256, old.from_rev) != wanted:
                return old
            return replace(
                old,
                active_to_rev=old.active_to_rev if active_to_rev is None else active_to_rev,
                to_rev=old.to_rev if to_rev is None else to_rev,
            )

        self._change(ended)

    def set_readers(self, source_id: str, readers: tuple[str, ...] | None) -> None:
        """
        Set the readers on all points of a source.
        """
        self._change(
            lambda old: replace(old, readers=readers) if old.source_id == source_id else old
        )

    def commit(
        self, rows: Sequence[LedgerRow], *, readers_required: bool, summary: RevisionSummary
    ) -> IndexVersion:
        """
        Put the change in place.
        """
        generation, revision = self._opened().generation, self.ledger.revision + 1
        if summary.revision != revision:
            msg = f"the summary is of revision {summary.revision}"
            raise ValueError(msg)
        is_same = generation == self._part.ledger.generation
        self._index.manifests[generation] = self._opened()
        self._index.parts[self._tenant] = Part(
            ledger=TenantLedger(
                generation,
                revision,
                readers_required,
                tuple(sorted(rows, key=lambda row: (row.source_id, row.from_rev, row.version))),
                (*self.ledger.revisions, summary),
            ),
            points=dict(self._points),
            oldest_revision=self._part.oldest_revision if is_same else revision,
        )
        return IndexVersion(generation, revision)

    def _opened(self) -> Manifest:
        if self._target is None:
            msg = "open_generation comes before anything is written"
            raise ValueError(msg)
        return self._target

    def _change(self, change: Callable[[Provenance], Provenance]) -> None:
        for generation, points in self._points.items():
            self._points[generation] = tuple(
                replace(point, provenance=change(point.provenance)) for point in points
            )


def bm25_scores(query: SparseWeights, corpus: Sequence[Stored]) -> dict[int, float]:
    """
    Return the scores above 0 by position in the corpus.
    """
    holders = Counter(index for point in corpus for index in point.weights.indices)
    points = sum(not point.weights.is_empty for point in corpus)
    asked = {
        index: value * math.log(1 + (points - holders[index] + 0.5) / (holders[index] + 0.5))
        for index, value in zip(query.indices, query.values, strict=True)
    }
    scores: dict[int, float] = {}
    for at, point in enumerate(corpus):
        for index, value in zip(point.weights.indices, point.weights.values, strict=True):
            if index in asked:
                scores[at] = scores.get(at, 0.0) + asked[index] * value
    return scores


def cosine(one: Vector, other: Vector) -> float:
    """
    Return the cosine of two vectors, 0 where one has no length.
    """
    norms = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / norms if norms else 0.0


def first(found: Iterable[tuple[float, Stored]], limit: int) -> list[tuple[float, Stored]]:
    """
    Return the first by score rounded to 1e-6, then key.
    """
    rounded = [(round(score, 6), point) for score, point in found]
    return sorted(rounded, key=lambda pair: (-pair[0], pair[1].key))[: max(limit, 0)]


def found_hits(
    found: Iterable[tuple[float, Stored]], kind: PointKind
) -> list[Hit] | list[SectionHit]:
    """
    Return chunks, or keys of sections, with their scores.
    """
    if kind is PointKind.CHUNK:
        return [Hit(point.as_chunk(), score) for score, point in found]
    return [SectionHit(point.key, score) for score, point in found]


def latest(points: Iterable[Stored]) -> list[Stored]:
    """
    Return of equal keys the one written last.
    """
    kept: dict[str, Stored] = {}
    for point in points:
        known = kept.get(point.key)
        if known is None or known.provenance.from_rev < point.provenance.from_rev:
            kept[point.key] = point
    return list(kept.values())
