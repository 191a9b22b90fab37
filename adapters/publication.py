"""
One publication, the same over both backends: in what order points are swept, written and ended.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from adapters.head import Build, Head, head_of
from adapters.ledger import moved
from adapters.payload_keys import (
    ACTIVE_TO_REV,
    CONTENT_SHA256,
    FROM_REV,
    SOURCE_ID,
    TO_REV,
    VERSION,
)
from adapters.place import Place, of_tenant, write_readers
from adapters.points import PointWriter, chunk_record, section_record
from adapters.records import ChunkPoint, LedgerRow, RevisionSummary, SectionPoint, TenantLedger
from adapters.reuse import StoredVectors
from adapters.store import Manifest
from adapters.vector_journal import VectorJournal
from assembler.errors import IndexUnavailable, IndexUnusable
from assembler.filters import AnyString, Condition, Filter, IntRange
from assembler.model import FOREVER, Provenance
from assembler.ports import Vector
from assembler.scope import IndexVersion

BATCH = 256
"""Points per write: a batch of sections stays far under the server's message limit."""


class PointPublication:
    """
    The `Publication` of a place.
    """

    def __init__(
        self,
        index: str,
        place: Place,
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
        self._journal: VectorJournal | None = None
        self._written: set[str] = set()
        self._readers: dict[str, tuple[str, ...] | None] = {}
        self._stored = StoredVectors(place, tenant, ledger)
        self.is_committed = False
        self._place.forget_beyond()
        if head.generation is not None:
            swept = self._place.manifests() if head.is_rolled_back else (head.generation,)
            for generation in swept:
                self._sweep(generation)

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
        return self._ledger.next_revision

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
        self._target, self._journal = manifest, None

    def reusable_vectors(
        self, source_id: str, content_sha256: str | None = None
    ) -> Mapping[str, Vector]:
        """
        Return stored vectors by `input_sha256`: of all versions of a source, of the same text under
        another name, and of what a run that was broken off has written.
        """
        target = self._target
        if target is None:
            return {}
        present = self._head.generation
        generations = dict.fromkeys((present or target.generation, target.generation))
        return self._stored.reusable(source_id, content_sha256, target, tuple(generations))

    def saved_vectors(self, inputs: Collection[str]) -> Mapping[str, Vector]:
        """
        Return vectors that a run saved and did not publish, by `input_sha256`.
        """
        journal = self._open_journal()
        return {} if journal is None else journal.read(inputs)

    def save_vectors(self, vectors: Mapping[str, Vector]) -> None:
        """
        Keep vectors for a later run, should this one be broken off.
        """
        journal = self._open_journal()
        if journal is not None and vectors:
            journal.append(vectors)

    def _open_journal(self) -> VectorJournal | None:
        if self._journal is None:
            self._journal = self._place.journal(self._opened())
        return self._journal

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
        Set the readers on all points of a source, in all revisions and generations, when the
        change is committed.
        """
        self._readers[source_id] = readers

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
        target = self._opened()
        ledger = self._after(rows, summary, readers_required=readers_required)
        self._verify(target.generation)
        write_readers(self._place, self._tenant, self._readers)
        self._place.commit(head_of(ledger), ledger, target)
        self.is_committed = True
        return IndexVersion(target.generation, ledger.revision)

    def stage(
        self,
        rows: Sequence[LedgerRow],
        *,
        readers_required: bool,
        summary: RevisionSummary,
    ) -> IndexVersion:
        """
        Do all that `commit` does but for what readers see, which is left to the publish.
        """
        target = self._opened()
        ledger = self._after(rows, summary, readers_required=readers_required)
        self._verify(target.generation)
        build = Build(
            base_generation=self._head.generation,
            base_revision=self._head.revision,
            head=head_of(ledger),
            manifest=target,
            published_at=summary.published_at,
            points=len(self._written),
            readers=self._readers,
        )
        self._place.stage(build, ledger)
        self.is_committed = True
        return IndexVersion(target.generation, ledger.revision)

    def _after(
        self, rows: Sequence[LedgerRow], summary: RevisionSummary, *, readers_required: bool
    ) -> TenantLedger:
        """
        Return the ledger after this change.
        """
        revision, generation = self.revision, self._opened().generation
        if summary.revision != revision:
            msg = f"the summary is of revision {summary.revision}, {revision} is being made"
            raise ValueError(msg)
        return moved(self._ledger, generation, rows, summary, readers_required=readers_required)

    def _verify(self, generation: str) -> None:
        revision, writer = self.revision, self._writer(generation)
        writer.delete(self._of_tenant(Condition(FROM_REV, IntRange(at_least=FOREVER))))
        found = writer.count(self._of_tenant(Condition(FROM_REV, IntRange(revision, revision + 1))))
        if found != len(self._written):
            problem = f"{len(self._written)} points were written, {found} are stored; publish again"
            raise IndexUnavailable(problem)

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

    def _of_tenant(self, *conditions: Condition | Filter) -> Filter:
        return of_tenant(self._tenant, *conditions)

    def _require_own(self, provenance: Provenance) -> None:
        if (provenance.tenant, provenance.from_rev) != (self._tenant, self.revision):
            msg = (
                f"a point of tenant {provenance.tenant!r} and revision {provenance.from_rev} in a "
                f"publication of {self._tenant!r}, {self.revision}"
            )
            raise ValueError(msg)

    def _sweep(self, generation: str) -> None:
        """
        Put aside and reopen what lies beyond the head: an abandoned build must never come back.

        What was written is put aside where no revision reaches it, and deleted by the next commit:
        until then its vectors can be used again.
        """
        writer, beyond = self._writer(generation), IntRange(self._head.revision + 1, FOREVER)
        writer.set_payload(self._of_tenant(Condition(FROM_REV, beyond)), {FROM_REV: FOREVER})
        for key in (ACTIVE_TO_REV, TO_REV):
            writer.set_payload(self._of_tenant(Condition(key, beyond)), {key: FOREVER})
