"""
What a tenant's part of an index is made of: its points, and what the ledger knows of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from assembler.errors import InvalidRequest
from assembler.model import FOREVER, Chunk, Section
from assembler.ports import Vector


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """
    One source version of a tenant as the ledger keeps it.

    Attributes:
        source_set: The set whose desired state a run of the indexer states.
        described_sha256: Hash of title, uri, media type, language and metadata.
        readers: None where nobody was named.
        generation: Where its points are; "" until it is committed.
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
    generation: str = ""


@dataclass(frozen=True, slots=True)
class RevisionSummary:
    """
    One published revision of a tenant; `published_at` is RFC 3339, UTC.

    Attributes:
        generation: Where it can be read; "" until it is committed.
    """

    revision: int
    published_at: str
    added: int
    ended: int
    embedded: int
    reused: int
    generation: str = ""


@dataclass(frozen=True, slots=True)
class Tombstone:
    """
    A purged source: it is not indexed again until the purge is lifted.

    Attributes:
        purged_at: RFC 3339, UTC.
        readers: Who could read it, and so may learn that it is gone.
    """

    source_id: str
    purged_at: str
    readers: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class TenantLedger:
    """
    Everything known of one tenant's part of an index; revision 0 is the empty, unpublished part.

    Attributes:
        rows: Of the present generation, present and ended, as of the head.
        revisions: Those that are kept, the head last.
        newest_revision: The highest number that was ever published, also where it was rolled back.
        earlier: Rows of other generations, to which the head can be moved back.
        tombstones: Of purged sources.
    """

    generation: str | None
    revision: int
    readers_required: bool
    rows: tuple[LedgerRow, ...]
    revisions: tuple[RevisionSummary, ...]
    newest_revision: int = 0
    earlier: tuple[LedgerRow, ...] = ()
    tombstones: tuple[Tombstone, ...] = ()

    @property
    def next_revision(self) -> int:
        """
        Return the number of the next publish: one that never stood for anything else.
        """
        return max(self.revision, self.newest_revision) + 1


@dataclass(frozen=True, slots=True)
class Retention:
    """
    Which revisions are kept.

    Attributes:
        revisions: How many, the head included; at least 1.
        retired_seconds: A revision is kept so long after it ceased to be the head, however many
            there are: requests may still be reading it.
    """

    revisions: int = 10
    retired_seconds: float = 3600.0

    def __post_init__(self) -> None:
        if self.revisions < 1:
            raise InvalidRequest("retained_revisions", f"is {self.revisions}, the head is one")
        if not (math.isfinite(self.retired_seconds) and self.retired_seconds >= 0):
            raise InvalidRequest(
                "retired_seconds", f"is {self.retired_seconds}; give seconds, 0 or more"
            )


@dataclass(frozen=True, slots=True)
class Collected:
    """
    What a collection removed, and which revisions are left.
    """

    kept: tuple[int, ...]
    revisions: int
    points: int
    rows: int
    generations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Purged:
    """
    What a purge removed.
    """

    source_id: str
    points: int
    rows: int


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
