"""
What is stored and read back: provenance, chunks, sections and hits.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from assembler.filters import FieldValue
from assembler.span import Span

if TYPE_CHECKING:
    from collections.abc import Mapping

FOREVER = 2**53
"""The `active_to_rev` and `to_rev` of what has not ended (exact as a JSON number)."""

FIELDS_PREFIX = "fields."
"""Payload prefix of the filterable metadata fields."""

MetadataValue: TypeAlias = "str | int | float | bool | tuple[MetadataValue, ...] | None"


class FieldType(enum.Enum):
    """
    The types that a filterable field can be declared with.
    """

    KEYWORD = "keyword"
    KEYWORD_LIST = "keyword_list"
    BOOL = "bool"
    INT64 = "int64"
    TIMESTAMP = "timestamp"


class PointKind(enum.Enum):
    """
    The two kinds of points in a collection.
    """

    CHUNK = "chunk"
    SECTION = "section"


class SourceState(enum.Enum):
    """
    How a source version stands in the revision that was read.
    """

    CURRENT = "current"
    SUPERSEDED = "superseded"
    ENDED = "ended"


class VersionKey(NamedTuple):
    """
    The identity within which spans may merge: one exact text of one source of one tenant.
    """

    index: str  # type: ignore[assignment]  # hides `tuple.index`
    tenant: str
    source_id: str
    version: str
    content_sha256: str


@dataclass(frozen=True, slots=True)
class Provenance:
    """
    Where a stored point comes from and who may read it when.

    Attributes:
        readers: Principals that may read the source; None where nobody was named.
        from_rev: First revision that sees the point.
        active_to_rev: First revision in which the version is no longer the active one.
        to_rev: First revision that no longer sees the point at all.
        fields: Filterable metadata by declared name.
    """

    tenant: str
    source_id: str
    version: str
    content_sha256: str
    readers: tuple[str, ...] | None
    from_rev: int
    active_to_rev: int = FOREVER
    to_rev: int = FOREVER
    fields: Mapping[str, FieldValue] = field(default_factory=dict)

    def value_of(self, key: str) -> FieldValue:
        """
        Return the value of a payload key, or None where it is missing.
        """
        if key.startswith(FIELDS_PREFIX):
            return self.fields.get(key.removeprefix(FIELDS_PREFIX))
        value: FieldValue = getattr(self, key, None)
        return value

    def state_at(self, revision: int) -> SourceState:
        """
        Return how the version stands in a revision.
        """
        if revision < self.active_to_rev and revision < self.to_rev:
            return SourceState.CURRENT
        return SourceState.SUPERSEDED if revision < self.to_rev else SourceState.ENDED


class Chunk(NamedTuple):
    """
    A child: the small span of a section that was embedded. Its text is not fetched by searches.

    Attributes:
        ordinal: 0-based position among all chunks of the source version.
        text_sha256: Hash of exactly the chunk's text, in UTF-8, as hex digits; "" where only its
            section says that it is there.
    """

    key: str
    provenance: Provenance
    section_key: str
    span: Span
    ordinal: int
    text_sha256: str


class Hit(NamedTuple):
    """
    A chunk that one search returned, with that search's raw score (higher is better).
    """

    chunk: Chunk
    score: float


class SectionHit(NamedTuple):
    """
    A section that one search returned, by key, with that search's raw score.
    """

    section_key: str
    score: float


class BorderKind(enum.Enum):
    """
    What begins at a border.
    """

    PARAGRAPH = "p"
    SENTENCE = "s"
    FORCED = "f"


class Border(NamedTuple):
    """
    A place where text may be cut: the offset at which a paragraph, a sentence or,
    inside a sentence longer than a chunk, a forced piece begins.
    """

    offset: int
    kind: BorderKind


@dataclass(frozen=True, slots=True)
class Block:
    """
    A table, list or code block, and the lead (header row, lead-in, fence) that a part of it needs.

    Attributes:
        span: The block, its lead not necessarily included (a list's lead-in stands before it).
        lead: What is carried along when a part of the block is shown without it.
    """

    span: Span
    lead: Span


@dataclass(frozen=True, slots=True)
class Section:
    """
    A parent: one headed part of a source version. The sections of a version partition its text.

    Attributes:
        span: Its range in the source text; all offsets below count in the source text too.
        chunk_spans: The spans of its chunks, in order.
        chunk_keys: Their keys; none where only their spans are known.
        borders: Where it may be cut inside, in order.
    """

    key: str
    provenance: Provenance
    span: Span
    ordinal: int
    text: str
    text_sha256: str
    heading_path: tuple[str, ...]
    title: str
    uri: str
    media_type: str
    language: str
    first_chunk_ordinal: int
    chunk_spans: tuple[Span, ...]
    borders: tuple[Border, ...]
    blocks: tuple[Block, ...] = ()
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    chunk_keys: tuple[str, ...] = ()

    def slice(self, span: Span) -> str:
        """
        Return the text of a range that lies inside the section.
        """
        return self.text[span.start - self.span.start : span.end - self.span.start]
