"""
What `FakeIndex` stores, and how it is scored.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from adapters.bm25 import SparseWeights
from adapters.records import ChunkPoint, TenantLedger
from adapters.store import Manifest
from assembler.model import FOREVER, Chunk, Hit, PointKind, Provenance, Section, SectionHit
from assembler.ports import Vector


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
class Snapshot:
    """
    One revision of a tenant's part: its ledger, and all points of its generation.
    """

    ledger: TenantLedger
    points: tuple[Stored, ...]


@dataclass(frozen=True)
class Part:
    """
    One tenant's part of an index: a snapshot of every kept revision.
    """

    ledger: TenantLedger = field(default_factory=_unpublished)
    history: Mapping[int, Snapshot] = field(default_factory=dict)
    moved_back_from: int = 0

    def with_points(self, change: Callable[[Stored], Stored | None]) -> Part:
        """
        Return the part with all points of all revisions changed, or (None) gone.
        """
        return replace(
            self,
            history={
                revision: replace(
                    snapshot,
                    points=tuple(
                        new for old in snapshot.points if (new := change(old)) is not None
                    ),
                )
                for revision, snapshot in self.history.items()
            },
        )


@dataclass
class StoredIndex:
    """
    One index: manifests in the order of their making, parts by tenant, and parts that wait.
    """

    manifests: dict[str, Manifest] = field(default_factory=dict)
    parts: dict[str, Part] = field(default_factory=dict)
    builds: dict[str, Part] = field(default_factory=dict)
    is_written: bool = False


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
