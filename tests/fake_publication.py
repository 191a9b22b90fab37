"""
How what `FakeIndex` stores is changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from adapters.bm25 import Bm25Encoder
from adapters.ledger import moved
from adapters.records import ChunkPoint, LedgerRow, RevisionSummary, SectionPoint, TenantLedger
from adapters.store import Manifest
from assembler.model import PointKind, Provenance
from assembler.ports import Vector
from assembler.scope import IndexVersion
from tests.fake_store import Part, Snapshot, Stored, StoredIndex


class FakePublication:
    """
    A `Publication` that changes a copy, and puts it in place when it is committed.
    """

    def __init__(self, index: StoredIndex, tenant: str) -> None:
        self._index = index
        self._tenant = tenant
        self._part = index.parts.get(tenant, Part())
        self._points: tuple[Stored, ...] = ()
        self._readers: dict[str, tuple[str, ...] | None] = {}
        if self._part.history:
            self._points = self._part.history[self._part.ledger.revision].points
        self._target = self.manifest
        index.builds.pop(tenant, None)

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
            self._points = ()
        self._target = manifest

    def reusable_vectors(
        self, source_id: str, content_sha256: str | None = None
    ) -> Mapping[str, Vector]:
        """
        Return stored vectors of a source, or of the same text, by `input_sha256`.
        """
        present = self.manifest
        if present is None or not self._target or present.embedding != self._target.embedding:
            return {}
        return {
            point.chunk.input_sha256: point.chunk.vector
            for point in self._part.history[self._part.ledger.revision].points
            if point.chunk
            and (
                point.provenance.source_id == source_id
                or point.provenance.content_sha256 == content_sha256
            )
        }

    def saved_vectors(self, inputs: Collection[str]) -> Mapping[str, Vector]:
        """
        Return nothing: a run that is broken off leaves nothing in memory.
        """
        return {}

    def save_vectors(self, vectors: Mapping[str, Vector]) -> None:
        """
        Save nothing.
        """

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
            expected = (self._tenant, self.ledger.next_revision)
            if (point.provenance.tenant, point.provenance.from_rev) != expected:
                msg = f"a point of another tenant or revision than {expected}"
                raise ValueError(msg)
        ids = {(point.kind, point.key, point.provenance.from_rev) for point in new}
        kept = [
            point
            for point in self._points
            if (point.kind, point.key, point.provenance.from_rev) not in ids
        ]
        self._points = (*kept, *new)

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

        self._points = tuple(
            replace(point, provenance=ended(point.provenance)) for point in self._points
        )

    def set_readers(self, source_id: str, readers: tuple[str, ...] | None) -> None:
        """
        Set the readers on all points of a source.
        """
        self._readers[source_id] = readers

    def commit(
        self, rows: Sequence[LedgerRow], *, readers_required: bool, summary: RevisionSummary
    ) -> IndexVersion:
        """
        Put the change in place.
        """
        part = self._made(rows, summary, readers_required=readers_required)
        self._index.parts[self._tenant] = part
        return IndexVersion(part.ledger.generation or "", part.ledger.revision)

    def stage(
        self, rows: Sequence[LedgerRow], *, readers_required: bool, summary: RevisionSummary
    ) -> IndexVersion:
        """
        Let the change wait.
        """
        part = self._made(rows, summary, readers_required=readers_required)
        self._index.builds[self._tenant] = part
        return IndexVersion(part.ledger.generation or "", part.ledger.revision)

    def _made(
        self, rows: Sequence[LedgerRow], summary: RevisionSummary, *, readers_required: bool
    ) -> Part:
        generation, revision = self._opened().generation, self.ledger.next_revision
        if summary.revision != revision:
            msg = f"the summary is of revision {summary.revision}"
            raise ValueError(msg)
        self._index.manifests[generation] = self._opened()
        ledger = moved(self.ledger, generation, rows, summary, readers_required=readers_required)
        part = Part(ledger, {**self._part.history, revision: Snapshot(ledger, self._points)})

        def with_readers(point: Stored) -> Stored:
            old = point.provenance
            if old.source_id not in self._readers:
                return point
            return replace(point, provenance=replace(old, readers=self._readers[old.source_id]))

        return part.with_points(with_readers)

    def _opened(self) -> Manifest:
        if self._target is None:
            msg = "open_generation comes before anything is written"
            raise ValueError(msg)
        return self._target
