"""
One publication, the same over both backends: in what order points are swept, written and ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from adapters.ledger import Head
from adapters.payload_keys import (
    ACTIVE_TO_REV,
    CONTENT_SHA256,
    FROM_REV,
    INPUT_SHA256,
    KIND,
    READERS,
    SOURCE_ID,
    TENANT,
    TO_REV,
    VERSION,
)
from adapters.payload_values import Payload, PayloadDamaged, checked_text
from adapters.points import PointWriter, chunk_record, section_record
from adapters.store import (
    ChunkPoint,
    LedgerRow,
    Manifest,
    RevisionSummary,
    SectionPoint,
    TenantLedger,
)
from assembler.errors import IndexUnavailable, IndexUnusable
from assembler.filters import AnyString, Condition, Filter, IntRange
from assembler.model import FOREVER, PointKind, Provenance
from assembler.ports import Vector
from assembler.scope import IndexVersion

BATCH = 256
"""Points per write: a batch of sections stays far under the server's message limit."""


class PublicationPlace(Protocol):
    """
    Where a publication writes; it holds the writer lock.
    """

    def manifests(self) -> Mapping[str, Manifest]:
        """
        Return the manifests of all generations that are there.
        """
        ...

    def writer(self, generation: str) -> PointWriter:
        """
        Return the points of a generation that is there.
        """
        ...

    def create(self, manifest: Manifest) -> None:
        """
        Make a generation, or the rest of one whose making was broken off.
        """
        ...

    def commit(
        self,
        head: Head,
        manifest: Manifest,
        rows: Sequence[LedgerRow],
        revisions: Sequence[RevisionSummary],
    ) -> None:
        """
        Make everything durable and the ledger known, and move the head in one step, last.
        """
        ...


class PointPublication:
    """
    The `Publication` of a place.
    """

    def __init__(
        self,
        index: str,
        place: PublicationPlace,
        tenant: str,
        head: Head,
        ledger: TenantLedger,
    ) -> None:
        self._index = index
        self._place = place
        self._tenant = tenant
        self._head = head
        self._ledger = ledger
        self._target: Manifest | None = self.manifest
        self._written: set[str] = set()
        self.is_committed = False
        if head.generation is not None:
            self._sweep(head.generation)

    @property
    def ledger(self) -> TenantLedger:
        """
        Return the state before this change.
        """
        return self._ledger

    @property
    def manifest(self) -> Manifest | None:
        """
        Return the manifest of the tenant's present generation, or None before the first publish.
        """
        generation = self._head.generation
        if generation is None:
            return None
        manifest = self._place.manifests().get(generation)
        if manifest is None:
            problem = f"generation {generation} has no manifest; publish into a new index"
            raise IndexUnusable(self._index, problem)
        return manifest

    def manifest_of(self, generation: str) -> Manifest | None:
        """
        Return the manifest of a generation of the index, whichever tenant made it.
        """
        return self._place.manifests().get(generation)

    @property
    def revision(self) -> int:
        """
        Return the revision that is being made.
        """
        return self._head.revision + 1

    def open_generation(self, manifest: Manifest) -> None:
        """
        Make the generation of this manifest the one that is written, creating it where needed.
        """
        generation = manifest.generation
        if generation != self._head.generation:
            self._place.create(manifest)
            self._sweep(generation)
            # What an earlier stay of the tenant in this generation left must not come back.
            open_ended = Condition(TO_REV, IntRange(at_least=FOREVER))
            self._writer(generation).set_payload(
                self._of_tenant(open_ended), {TO_REV: self.revision}
            )
        self._target = manifest

    def reusable_vectors(self, source_id: str) -> Mapping[str, Vector]:
        """
        Return stored vectors of all versions of a source by `input_sha256`.
        """
        present, target = self.manifest, self._target
        if present is None or target is None or present.embedding != target.embedding:
            return {}
        wanted = self._of_tenant(
            Condition(SOURCE_ID, AnyString((source_id,))),
            Condition(KIND, AnyString((PointKind.CHUNK.value,))),
        )
        found: dict[str, Vector] = {}
        for payload, vector in self._writer(present.generation).vectors(wanted):
            try:
                found[checked_text(payload, INPUT_SHA256)] = vector
            except PayloadDamaged:
                continue
        return found

    def write(self, chunks: Sequence[ChunkPoint], sections: Sequence[SectionPoint]) -> None:
        """
        Write points; they carry `from_rev` = the revision being made.

        Raises:
            ValueError: They carry another revision or tenant, or no generation is open.
        """
        target = self._opened()
        spec = target.bm25
        for chunk in chunks:
            self._require_own(chunk.chunk.provenance)
        for section in sections:
            self._require_own(section.section.provenance)
        records = [chunk_record(chunk, spec) for chunk in chunks]
        records.extend(section_record(section, target) for section in sections)
        writer = self._writer(target.generation)
        for first in range(0, len(records), BATCH):
            writer.upsert(records[first : first + BATCH])
        self._written.update(record.id for record in records)

    def end_version(
        self, row: LedgerRow, *, active_to_rev: int | None = None, to_rev: int | None = None
    ) -> None:
        """
        Set the end of a published source version on all its points.
        """
        ends = {ACTIVE_TO_REV: active_to_rev, TO_REV: to_rev}
        payload = {key: revision for key, revision in ends.items() if revision is not None}
        if self._head.generation is None or not payload:
            return
        wanted = self._of_tenant(
            Condition(SOURCE_ID, AnyString((row.source_id,))),
            Condition(VERSION, AnyString((row.version,))),
            Condition(CONTENT_SHA256, AnyString((row.content_sha256,))),
            Condition(FROM_REV, IntRange(row.from_rev, row.from_rev + 1)),
        )
        self._writer(self._head.generation).set_payload(wanted, payload)

    def set_readers(self, source_id: str, readers: tuple[str, ...] | None) -> None:
        """
        Set the readers on all points of a source, in all revisions and generations.
        """
        payload: Payload = {READERS: None if readers is None else list(readers)}
        wanted = self._of_tenant(Condition(SOURCE_ID, AnyString((source_id,))))
        for generation in self._place.manifests():
            self._writer(generation).set_payload(wanted, payload)

    def commit(
        self,
        rows: Sequence[LedgerRow],
        *,
        readers_required: bool,
        summary: RevisionSummary,
    ) -> IndexVersion:
        """
        Verify what was written, write the full new ledger and move the head in one step.
        """
        target, revision = self._opened(), self.revision
        if summary.revision != revision:
            msg = f"the summary is of revision {summary.revision}, {revision} is being made"
            raise ValueError(msg)
        found = self._writer(target.generation).count(
            self._of_tenant(Condition(FROM_REV, IntRange(revision, revision + 1)))
        )
        if found != len(self._written):
            problem = f"{len(self._written)} points were written, {found} are stored; publish again"
            raise IndexUnavailable(problem)
        head = self._head.moved(
            target.generation, revision, rows, readers_required=readers_required
        )
        self._place.commit(head, target, rows, (*self._ledger.revisions, summary))
        self.is_committed = True
        return IndexVersion(target.generation, revision)

    def _opened(self) -> Manifest:
        if self._target is None:
            msg = "open_generation comes before anything is written"
            raise ValueError(msg)
        if self.is_committed:
            msg = "the publication is committed"
            raise ValueError(msg)
        return self._target

    def _writer(self, generation: str) -> PointWriter:
        return self._place.writer(generation)

    def _of_tenant(self, *conditions: Condition) -> Filter:
        return Filter(all_of=(Condition(TENANT, AnyString((self._tenant,))), *conditions))

    def _require_own(self, provenance: Provenance) -> None:
        if (provenance.tenant, provenance.from_rev) != (self._tenant, self.revision):
            msg = (
                f"a point of tenant {provenance.tenant!r} and revision {provenance.from_rev} in a "
                f"publication of {self._tenant!r}, {self.revision}"
            )
            raise ValueError(msg)

    def _sweep(self, generation: str) -> None:
        """
        Delete and reopen what lies beyond the head: an abandoned build must never come back.
        """
        writer, beyond = self._writer(generation), IntRange(at_least=self.revision)
        writer.delete(self._of_tenant(Condition(FROM_REV, beyond)))
        for key in (ACTIVE_TO_REV, TO_REV):
            ended = Condition(key, IntRange(self.revision, FOREVER))
            writer.set_payload(self._of_tenant(ended), {key: FOREVER})
