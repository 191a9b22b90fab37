"""
The writing side of an index: manifest, ledger, and one publication at a time.

Both backends fulfil `IndexStore`; the indexer knows nothing else of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import Protocol

from assembler.model import FOREVER, Chunk, FieldType, Section
from assembler.ports import ModelIdentity, Vector
from assembler.scope import IndexVersion


@dataclass(frozen=True, slots=True)
class EmbeddingSpec:
    """
    How texts become vectors.

    Attributes:
        max_tokens: The model's maximum, special tokens included; longer input is never given.
        pooling: For example ``mean``.
        prefix: Text before every document (some models ask for one); "" for none.
        query_prefix: Text before every query.
    """

    model: ModelIdentity
    revision: str
    max_tokens: int
    pooling: str
    prefix: str
    query_prefix: str
    normalised: bool


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
        shape = [
            self.format_version,
            self.chunker.fingerprint,
            asdict(self.embedding),
            asdict(self.bm25),
            sorted((name, kind.value) for name, kind in self.fields.items()),
            # Without section vectors a generation keeps the name it always had.
            *(["section_vectors"] if self.section_vectors else []),
        ]
        return "g" + _digest(shape)[:10]


def _digest(shape: object) -> str:
    return hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """
    One source version of a tenant as the ledger keeps it.

    Attributes:
        source_set: The set whose desired state a run of the indexer states.
        described_sha256: Hash of title, uri, media type, language and metadata.
        readers: None where nobody was named.
    """

    source_id: str
    version: str
    content_sha256: str
    source_set: str
    described_sha256: str
    language: str
    title: str
    uri: str
    media_type: str
    chars: int
    sections: int
    chunks: int
    tokens: int
    readers: tuple[str, ...] | None
    from_rev: int
    active_to_rev: int = FOREVER
    to_rev: int = FOREVER


@dataclass(frozen=True, slots=True)
class RevisionSummary:
    """
    One published revision of a tenant; `published_at` is RFC 3339, UTC.
    """

    revision: int
    published_at: str
    added: int
    ended: int
    embedded: int
    reused: int


@dataclass(frozen=True, slots=True)
class TenantLedger:
    """
    Everything known of one tenant's part of an index; revision 0 is the empty, unpublished part.
    """

    generation: str | None
    revision: int
    readers_required: bool
    rows: tuple[LedgerRow, ...]
    revisions: tuple[RevisionSummary, ...]


@dataclass(frozen=True, slots=True)
class ChunkPoint:
    """
    A chunk to be written.

    Attributes:
        text: Its own text, the fallback where its section cannot be used.
        bm25_text: What is BM25-encoded (heading path and text), not normalised yet.
        input_sha256: Hash of the exact embedding input, by which its vector can be reused.
    """

    chunk: Chunk
    text: str
    vector: Vector
    bm25_text: str
    language: str
    input_sha256: str


@dataclass(frozen=True, slots=True)
class SectionPoint:
    """
    A section to be written: what of it is BM25-encoded, and the mean of its chunks' vectors.
    """

    section: Section
    bm25_text: str
    vector: Vector | None = None


class Publication(Protocol):
    """
    One change of one tenant's part, under its writer lock; nothing is visible before `commit`.

    Left without `commit`, it leaves the served state as it was.
    """

    @property
    def ledger(self) -> TenantLedger:
        """
        Return the state before this change. Its revision + 1 is the one being made.
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

    def reusable_vectors(self, source_id: str) -> Mapping[str, Vector]:
        """
        Return stored vectors of all versions of a source by `input_sha256`.

        Empty where the present generation was made with another model.
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
        Set the readers on all points of a source, in all revisions; it takes effect at once.
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

    def listings(self, tenant: str | None = None) -> Sequence[IndexListing]:
        """
        Return every index with its tenants' parts, or with the one tenant's part.
        """
        ...
