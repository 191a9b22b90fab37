"""
The writing side of an index: manifest, ledger, and one publication at a time.

Both backends fulfil `IndexStore`; the indexer knows nothing else of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Protocol

from adapters.records import ChunkPoint, LedgerRow, RevisionSummary, SectionPoint, TenantLedger
from adapters.upkeep import Upkeep
from assembler.model import FieldType
from assembler.ports import ModelIdentity, Vector
from assembler.scope import IndexVersion

if TYPE_CHECKING:
    from adapters.head import Build
    from adapters.part_reader import PartReader


PREPROCESSING = "nfc"
"""Texts become NFC, surrogates U+FFFD, and spellings of special tokens plain text."""


@dataclass(frozen=True, slots=True)
class EmbeddingSpec:
    """
    How texts become vectors.

    Attributes:
        max_tokens: The model's maximum, special tokens included; longer input is never given.
        pooling: For example ``mean``.
        prefix: Text before every document (some models ask for one); "" for none.
        query_prefix: Text before every query.
        preprocessing: What is done to texts before they become tokens; another is another
            generation, and its vectors are not used again.
    """

    model: ModelIdentity
    revision: str
    max_tokens: int
    pooling: str
    prefix: str
    query_prefix: str
    normalised: bool
    preprocessing: str = PREPROCESSING


@dataclass(frozen=True, slots=True)
class Bm25Spec:
    """
    How texts become sparse vectors, with the expected terms of a chunk's and of a section's text.
    """

    k: float = 1.2
    b: float = 0.75
    avg_len: float = 128.0
    section_avg_len: float = 768.0


@dataclass(frozen=True, slots=True)
class ChunkerSpec:
    """
    How sources were cut, as far as it decides keys and spans.
    """

    name: str
    version: str
    settings: Mapping[str, str | int | float | bool] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """
        Return a hash of name, version and settings.
        """
        return _digest([self.name, self.version, sorted(self.settings.items())])


@dataclass(frozen=True, slots=True)
class Manifest:
    """
    One configuration of an index. Another configuration is another generation. Indexes made before
    sections had vectors do not say `section_vectors`.
    """

    chunker: ChunkerSpec
    embedding: EmbeddingSpec
    bm25: Bm25Spec
    fields: Mapping[str, FieldType] = field(default_factory=dict)
    profile: str = "default"
    format_version: int = 1
    section_vectors: bool = False

    @property
    def generation(self) -> str:
        """
        Return the name of the generation that has this configuration.
        """
        embedding = asdict(self.embedding)
        if self.embedding.preprocessing == PREPROCESSING:
            del embedding["preprocessing"]  # generations keep the names they always had
        shape = [
            self.format_version,
            self.chunker.fingerprint,
            embedding,
            asdict(self.bm25),
            sorted((name, kind.value) for name, kind in self.fields.items()),
            # Without section vectors a generation keeps the name it always had.
            *(["section_vectors"] if self.section_vectors else []),
        ]
        return "g" + _digest(shape)[:10]


def _digest(shape: object) -> str:
    return hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()


class Publication(Protocol):
    """
    One change of one tenant's part, under its writer lock; nothing is visible before `commit`.

    Left without `commit`, it leaves the served state as it was.
    """

    @property
    def ledger(self) -> TenantLedger:
        """
        Return the state before this change; its `next_revision` is the one being made.
        """
        ...

    @property
    def manifest(self) -> Manifest | None:
        """
        Return the manifest of the tenant's present generation, or None before the first publish.
        """
        ...

    def manifest_of(self, generation: str) -> Manifest | None:
        """
        Return the manifest of a generation of the index, whichever tenant made it.
        """
        ...

    def open_generation(self, manifest: Manifest) -> None:
        """
        Make the generation of this manifest the one that is written, creating it where needed.

        When it differs from the tenant's present one, nothing is carried over: everything that
        the tenant keeps has to be written again (`reusable_vectors` still reads the present one).
        """
        ...

    def reusable_vectors(
        self, source_id: str, content_sha256: str | None = None
    ) -> Mapping[str, Vector]:
        """
        Return stored vectors by `input_sha256`: of all versions of a source, of the same text under
        another name, and of what a run that was broken off has written.

        Empty where they were made with another model, or otherwise than the open generation's.
        """
        ...

    def saved_vectors(self, inputs: Collection[str]) -> Mapping[str, Vector]:
        """
        Return vectors that a run saved and did not publish, by `input_sha256`.
        """
        ...

    def save_vectors(self, vectors: Mapping[str, Vector]) -> None:
        """
        Keep vectors for a later run, should this one be broken off; they are safe on return.
        """
        ...

    def write(self, chunks: Sequence[ChunkPoint], sections: Sequence[SectionPoint]) -> None:
        """
        Write points; they carry `from_rev` = the revision being made.
        """
        ...

    def end_version(
        self, row: LedgerRow, *, active_to_rev: int | None = None, to_rev: int | None = None
    ) -> None:
        """
        Set the end of a published source version on all its points.
        """
        ...

    def set_readers(self, source_id: str, readers: tuple[str, ...] | None) -> None:
        """
        Set the readers on all points of a source, in all revisions, when the change is committed.
        """
        ...

    def commit(
        self, rows: Sequence[LedgerRow], *, readers_required: bool, summary: RevisionSummary
    ) -> IndexVersion:
        """
        Flush, write the full new ledger and move the head in one step.

        Args:
            rows: Every row of the tenant, present and ended, replacing the ledger's.
            readers_required: Whether absent readers mean invisible from now on.
            summary: What this revision did.
        """
        ...

    def stage(
        self, rows: Sequence[LedgerRow], *, readers_required: bool, summary: RevisionSummary
    ) -> IndexVersion:
        """
        Do all that `commit` does but for what readers see, which is left to `publish_build`.

        Any other change of the tenant's part (of an embedded index: of the index) discards it.
        """
        ...


@dataclass(frozen=True, slots=True)
class IndexListing:
    """
    One index as listings show it, for one tenant.
    """

    name: str
    manifest: Manifest
    ledger: TenantLedger
    tenant: str = ""


class IndexStore(Protocol):
    """
    Where indexes are written.
    """

    def publication(self, index: str, tenant: str) -> AbstractContextManager[Publication]:
        """
        Lock the tenant's part of an index (creating the index where needed) and open a change.

        Raises:
            IndexUnavailable: Another process is writing, or the place cannot be written.
            IndexUnusable: The files are damaged or the name is malformed.
        """
        ...

    def upkeep(self, index: str, tenant: str) -> AbstractContextManager[Upkeep]:
        """
        Lock the tenant's part of an index that is there.

        Raises:
            IndexUnknown: Nothing was ever published under this name.
            IndexUnavailable: Another process is writing, or the place cannot be written.
        """
        ...

    def waiting_build(self, index: str, tenant: str) -> Build | None:
        """
        Return the build of the tenant's part that waits to be published, or None.
        """
        ...

    def publish_build(self, index: str, tenant: str) -> IndexVersion:
        """
        Publish the tenant's build that waits, in one write of the head.

        Raises:
            InvalidRequest: No build waits.
            IndexUnusable: What waits is not what was built.
        """
        ...

    def reading(
        self, index: str, tenant: str, *, of_build: bool = False
    ) -> AbstractContextManager[PartReader]:
        """
        Open the tenant's part of an index, or its build that waits, without changing or locking
        anything; an index that is not there is empty.

        Raises:
            InvalidRequest: No build waits.
        """
        ...

    def listings(self, tenant: str | None = None) -> Sequence[IndexListing]:
        """
        Return every index with its tenants' parts, or with the one tenant's part.
        """
        ...
