"""
The payload of every stored point: one home of its keys, and both directions of the translation.

What is read back was written by someone else, perhaps long ago or by mistake: every value is checked,
and a record that does not hold raises `PayloadDamaged`, which readers turn into "not returned".
"""

from __future__ import annotations

import enum
import math
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from adapters.store import ChunkPoint, SectionPoint
from assembler.filters import FieldValue
from assembler.model import (
    FIELDS_PREFIX,
    Block,
    Border,
    BorderKind,
    Chunk,
    FieldType,
    MetadataValue,
    PointKind,
    Provenance,
    Section,
)
from assembler.span import Span

Payload: TypeAlias = Mapping[str, object]

KIND = "kind"
KEY = "key"
TENANT = "tenant"
SOURCE_ID = "source_id"
VERSION = "version"
CONTENT_SHA256 = "content_sha256"
READERS = "readers"
FROM_REV = "from_rev"
ACTIVE_TO_REV = "active_to_rev"
TO_REV = "to_rev"
FIELDS = "fields"
START = "start"
END = "end"
ORDINAL = "ordinal"
TEXT = "text"
TEXT_SHA256 = "text_sha256"
SECTION_KEY = "section_key"
INPUT_SHA256 = "input_sha256"
LANGUAGE = "language"
HEADING_PATH = "heading_path"
TITLE = "title"
URI = "uri"
MEDIA_TYPE = "media_type"
FIRST_CHUNK_ORDINAL = "first_chunk_ordinal"
CHUNK_SPANS = "chunk_spans"
BORDER_OFFSETS = "border_offsets"
BORDER_KINDS = "border_kinds"
BLOCKS = "blocks"
METADATA = "metadata"

PROVENANCE_KEYS = (
    KIND,
    KEY,
    TENANT,
    SOURCE_ID,
    VERSION,
    CONTENT_SHA256,
    READERS,
    FROM_REV,
    ACTIVE_TO_REV,
    TO_REV,
    FIELDS,
)
CHUNK_HIT_KEYS = (*PROVENANCE_KEYS, SECTION_KEY, START, END, ORDINAL, TEXT_SHA256)
CHUNK_TEXT_KEYS = (*PROVENANCE_KEYS, TEXT)
VECTOR_KEYS = (INPUT_SHA256,)

_NAMESPACE = uuid.UUID("6f1f2a7e-5d0b-5c55-9a57-2f6c3b1f9e10")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]+")
_INT64 = range(-(2**63), 2**63)
_BLOCK_INTS = 4


class IndexKind(enum.Enum):
    """
    The payload indexes that keys get.
    """

    TENANT = "tenant"
    KEYWORD = "keyword"
    INTEGER = "integer"
    BOOL = "bool"


_INDEXED = {
    TENANT: IndexKind.TENANT,
    KIND: IndexKind.KEYWORD,
    KEY: IndexKind.KEYWORD,
    SOURCE_ID: IndexKind.KEYWORD,
    VERSION: IndexKind.KEYWORD,
    CONTENT_SHA256: IndexKind.KEYWORD,
    READERS: IndexKind.KEYWORD,
    FROM_REV: IndexKind.INTEGER,
    ACTIVE_TO_REV: IndexKind.INTEGER,
    TO_REV: IndexKind.INTEGER,
    START: IndexKind.INTEGER,
    END: IndexKind.INTEGER,
}
_FIELD_INDEX = {
    FieldType.KEYWORD: IndexKind.KEYWORD,
    FieldType.KEYWORD_LIST: IndexKind.KEYWORD,
    FieldType.BOOL: IndexKind.BOOL,
    FieldType.INT64: IndexKind.INTEGER,
    FieldType.TIMESTAMP: IndexKind.INTEGER,
}


class PayloadDamaged(ValueError):
    """
    A stored payload lacks a key, or holds a value of another type than was written.
    """

    def __init__(self, key: str) -> None:
        super().__init__(f"the stored value of {key!r} is missing or of another type")
        self.key = key


def payload_path(key: str) -> str:
    """
    Return a payload key as the engine's path syntax has it: names with dots or spaces are quoted.

    Raises:
        ValueError: The name holds a double quote, for which the syntax has no escape.
    """
    if not key.startswith(FIELDS_PREFIX):
        return key
    name = key.removeprefix(FIELDS_PREFIX)
    if _PLAIN_NAME.fullmatch(name):
        return key
    if '"' in name or not name:
        msg = f"a field name cannot be empty or hold a double quote: {name!r}"
        raise ValueError(msg)
    return f'{FIELDS_PREFIX}"{name}"'


def indexed_paths(fields: Mapping[str, FieldType]) -> dict[str, IndexKind]:
    """
    Return every path that gets a payload index: what filters and the writing side look up.
    """
    declared = {
        payload_path(FIELDS_PREFIX + name): _FIELD_INDEX[kind] for name, kind in fields.items()
    }
    return _INDEXED | declared


def point_id(kind: PointKind, tenant: str, key: str, from_rev: int) -> str:
    """
    Return the id of a point: of its key and revision, so that a resumed publish writes it again.
    """
    parts = (kind.value, tenant, key, str(from_rev))
    return str(uuid.uuid5(_NAMESPACE, "".join(f"{len(part)}:{part}" for part in parts)))


def encode_chunk(point: ChunkPoint) -> dict[str, object]:
    """
    Return the payload of a chunk.
    """
    chunk = point.chunk
    return {
        **_encode_provenance(PointKind.CHUNK, chunk.key, chunk.provenance),
        SECTION_KEY: chunk.section_key,
        START: chunk.span.start,
        END: chunk.span.end,
        ORDINAL: chunk.ordinal,
        TEXT_SHA256: chunk.text_sha256,
        TEXT: point.text,
        LANGUAGE: point.language,
        INPUT_SHA256: point.input_sha256,
    }


def encode_section(point: SectionPoint) -> dict[str, object]:
    """
    Return the payload of a section.
    """
    section = point.section
    return {
        **_encode_provenance(PointKind.SECTION, section.key, section.provenance),
        START: section.span.start,
        END: section.span.end,
        ORDINAL: section.ordinal,
        TEXT: section.text,
        TEXT_SHA256: section.text_sha256,
        HEADING_PATH: list(section.heading_path),
        TITLE: section.title,
        URI: section.uri,
        MEDIA_TYPE: section.media_type,
        LANGUAGE: section.language,
        FIRST_CHUNK_ORDINAL: section.first_chunk_ordinal,
        CHUNK_SPANS: [edge for span in section.chunk_spans for edge in (span.start, span.end)],
        BORDER_OFFSETS: [border.offset for border in section.borders],
        BORDER_KINDS: "".join(border.kind.value for border in section.borders),
        BLOCKS: [
            edge
            for block in section.blocks
            for edge in (block.span.start, block.span.end, block.lead.start, block.lead.end)
        ],
        METADATA: {name: _plain(name, value) for name, value in section.metadata.items()},
    }


def decode_chunk(payload: Payload) -> Chunk:
    """
    Return the chunk of a payload with at least `CHUNK_HIT_KEYS`.

    Raises:
        PayloadDamaged: It does not hold what was written.
    """
    provenance = decode_provenance(payload, PointKind.CHUNK)
    return Chunk(
        key=_text(payload, KEY),
        provenance=provenance,
        section_key=_text(payload, SECTION_KEY),
        span=_span(payload),
        ordinal=_integer(payload, ORDINAL),
        text_sha256=_text(payload, TEXT_SHA256),
    )


def decode_section(payload: Payload) -> Section:
    """
    Return the section of a whole payload.

    Raises:
        PayloadDamaged: It does not hold what was written.
    """
    provenance = decode_provenance(payload, PointKind.SECTION)
    span, text = _span(payload), _text(payload, TEXT)
    if len(text) != span.length:
        raise PayloadDamaged(TEXT)
    return Section(
        key=_text(payload, KEY),
        provenance=provenance,
        span=span,
        ordinal=_integer(payload, ORDINAL),
        text=text,
        text_sha256=_text(payload, TEXT_SHA256),
        heading_path=_texts(payload, HEADING_PATH),
        title=_text(payload, TITLE),
        uri=_text(payload, URI),
        media_type=_text(payload, MEDIA_TYPE),
        language=_text(payload, LANGUAGE),
        first_chunk_ordinal=_integer(payload, FIRST_CHUNK_ORDINAL),
        chunk_spans=_spans(payload, CHUNK_SPANS),
        borders=_borders(payload),
        blocks=_blocks(payload),
        metadata=_metadata(payload),
    )


def decode_provenance(payload: Payload, kind: PointKind) -> Provenance:
    """
    Return where a record comes from.

    Raises:
        PayloadDamaged: It does not hold what was written, or is of the other kind.
    """
    if payload.get(KIND) != kind.value:
        raise PayloadDamaged(KIND)
    readers = payload.get(READERS)
    return Provenance(
        tenant=_text(payload, TENANT),
        source_id=_text(payload, SOURCE_ID),
        version=_text(payload, VERSION),
        content_sha256=_text(payload, CONTENT_SHA256),
        readers=None if readers is None else _texts(payload, READERS),
        from_rev=_integer(payload, FROM_REV),
        active_to_rev=_integer(payload, ACTIVE_TO_REV),
        to_rev=_integer(payload, TO_REV),
        fields=_fields(payload),
    )


def text_of(payload: Payload) -> str:
    """
    Return the text of a payload with at least `CHUNK_TEXT_KEYS`.

    Raises:
        PayloadDamaged: It does not hold what was written.
    """
    return _text(payload, TEXT)
