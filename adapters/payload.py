"""
The payload of every stored point, in both directions.

What is read back was written by someone else, perhaps long ago or by mistake: every value is
checked, and a record that does not hold raises `PayloadDamaged`, which readers turn into
"not returned".
"""

from __future__ import annotations

import hashlib
import uuid

from adapters.payload_keys import (
    ACTIVE_TO_REV,
    BLOCKS,
    BORDER_KINDS,
    BORDER_OFFSETS,
    CHUNK_KEYS,
    CHUNK_SPANS,
    CONTENT_SHA256,
    END,
    FIELDS,
    FIRST_CHUNK_ORDINAL,
    FROM_REV,
    HEADING_PATH,
    INPUT_SHA256,
    KEY,
    KIND,
    LANGUAGE,
    MEDIA_TYPE,
    METADATA,
    ORDINAL,
    READERS,
    SECTION_KEY,
    SOURCE_ID,
    START,
    TENANT,
    TEXT,
    TEXT_SHA256,
    TITLE,
    TO_REV,
    URI,
    VERSION,
)
from adapters.payload_values import (
    Payload,
    PayloadDamaged,
    checked_fields,
    checked_integer,
    checked_integers,
    checked_metadata,
    checked_text,
    checked_texts,
    storable,
)
from adapters.records import ChunkPoint, SectionPoint
from assembler.model import (
    FOREVER,
    Block,
    Border,
    BorderKind,
    Chunk,
    PointKind,
    Provenance,
    Section,
)
from assembler.span import Span

_NAMESPACE = uuid.UUID("6f1f2a7e-5d0b-5c55-9a57-2f6c3b1f9e10")
_BORDER_KINDS = {kind.value: kind for kind in BorderKind}


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
        CHUNK_KEYS: list(section.chunk_keys),
        BORDER_OFFSETS: [border.offset for border in section.borders],
        BORDER_KINDS: "".join(border.kind.value for border in section.borders),
        BLOCKS: [
            edge
            for block in section.blocks
            for edge in (block.span.start, block.span.end, block.lead.start, block.lead.end)
        ],
        METADATA: {name: storable(name, value) for name, value in section.metadata.items()},
    }


def decode_chunk(
    payload: Payload, revision: int = FOREVER, provenance: Provenance | None = None
) -> Chunk:
    """
    Return the chunk of a payload with at least `CHUNK_HIT_KEYS`, as of a revision.

    Args:
        payload: As it is stored.
        revision: See `decode_provenance`.
        provenance: The payload's, where it is decoded already.

    Raises:
        PayloadDamaged: It does not hold what was written.
    """
    return Chunk(
        key=checked_text(payload, KEY),
        provenance=provenance or decode_provenance(payload, PointKind.CHUNK, revision),
        section_key=checked_text(payload, SECTION_KEY),
        span=_span(payload),
        ordinal=checked_integer(payload, ORDINAL),
        text_sha256=checked_text(payload, TEXT_SHA256),
    )


def decode_section(
    payload: Payload, revision: int = FOREVER, provenance: Provenance | None = None
) -> Section:
    """
    Return the section of a whole payload, as of a revision; see `decode_chunk`.

    Raises:
        PayloadDamaged: It does not hold what was written.
    """
    provenance = provenance or decode_provenance(payload, PointKind.SECTION, revision)
    span, text = _span(payload), checked_text(payload, TEXT)
    if len(text) != span.length:
        raise PayloadDamaged(TEXT)
    text_sha256 = checked_text(payload, TEXT_SHA256)
    if hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() != text_sha256:
        raise PayloadDamaged(TEXT_SHA256)
    chunk_keys = checked_texts(payload, CHUNK_KEYS) if CHUNK_KEYS in payload else ()
    chunk_spans = _inside(span, _spans(payload, CHUNK_SPANS), CHUNK_SPANS)
    if chunk_keys and len(chunk_keys) != len(chunk_spans):
        raise PayloadDamaged(CHUNK_KEYS)
    return Section(
        key=checked_text(payload, KEY),
        provenance=provenance,
        span=span,
        ordinal=checked_integer(payload, ORDINAL),
        text=text,
        text_sha256=text_sha256,
        heading_path=checked_texts(payload, HEADING_PATH),
        title=checked_text(payload, TITLE),
        uri=checked_text(payload, URI),
        media_type=checked_text(payload, MEDIA_TYPE),
        language=checked_text(payload, LANGUAGE),
        first_chunk_ordinal=checked_integer(payload, FIRST_CHUNK_ORDINAL),
        chunk_spans=chunk_spans,
        borders=_borders(payload, span),
        blocks=_blocks(payload, span),
        metadata=checked_metadata(payload.get(METADATA, {})),
        chunk_keys=chunk_keys,
    )


def decode_provenance(payload: Payload, kind: PointKind, revision: int = FOREVER) -> Provenance:
    """
    Return where a record comes from, as of a revision: what ends later is still open in it.

    Raises:
        PayloadDamaged: It does not hold what was written, or is of the other kind.
    """
    if payload.get(KIND) != kind.value:
        raise PayloadDamaged(KIND)
    readers = payload.get(READERS)
    return Provenance(
        tenant=checked_text(payload, TENANT),
        source_id=checked_text(payload, SOURCE_ID),
        version=checked_text(payload, VERSION),
        content_sha256=checked_text(payload, CONTENT_SHA256),
        readers=None if readers is None else checked_texts(payload, READERS),
        from_rev=checked_integer(payload, FROM_REV),
        active_to_rev=_end(payload, ACTIVE_TO_REV, revision),
        to_rev=_end(payload, TO_REV, revision),
        fields=checked_fields(payload.get(FIELDS, {})),
    )


def decode_text(
    payload: Payload, revision: int = FOREVER, provenance: Provenance | None = None
) -> str:
    """
    Return the text of a payload with at least `CHUNK_TEXT_KEYS`; it is the same in all revisions.

    Raises:
        PayloadDamaged: It does not hold what was written.
    """
    del revision, provenance
    return checked_text(payload, TEXT)


def _encode_provenance(kind: PointKind, key: str, provenance: Provenance) -> dict[str, object]:
    readers = provenance.readers
    return {
        KIND: kind.value,
        KEY: key,
        TENANT: provenance.tenant,
        SOURCE_ID: provenance.source_id,
        VERSION: provenance.version,
        CONTENT_SHA256: provenance.content_sha256,
        READERS: None if readers is None else list(readers),
        FROM_REV: provenance.from_rev,
        ACTIVE_TO_REV: provenance.active_to_rev,
        TO_REV: provenance.to_rev,
        FIELDS: {name: storable(name, value) for name, value in provenance.fields.items()},
    }


def _end(payload: Payload, key: str, revision: int) -> int:
    end = checked_integer(payload, key)
    return end if end <= revision else FOREVER


def _span(payload: Payload) -> Span:
    start, end = checked_integer(payload, START), checked_integer(payload, END)
    try:
        return Span(start, end)
    except ValueError as error:
        raise PayloadDamaged(START) from error


def _spans(payload: Payload, key: str) -> tuple[Span, ...]:
    edges = checked_integers(payload, key, group=2)
    try:
        return tuple(map(Span, edges[::2], edges[1::2]))
    except ValueError as error:
        raise PayloadDamaged(key) from error


def _inside(whole: Span, spans: tuple[Span, ...], key: str) -> tuple[Span, ...]:
    if not all(whole.contains(span) for span in spans):
        raise PayloadDamaged(key)
    return spans


def _borders(payload: Payload, whole: Span) -> tuple[Border, ...]:
    offsets = checked_integers(payload, BORDER_OFFSETS)
    if not all(whole.start <= offset <= whole.end for offset in offsets):
        raise PayloadDamaged(BORDER_OFFSETS)
    kinds = checked_text(payload, BORDER_KINDS)
    try:
        return tuple(
            Border(offset, _BORDER_KINDS[kind]) for offset, kind in zip(offsets, kinds, strict=True)
        )
    except (KeyError, ValueError) as error:
        raise PayloadDamaged(BORDER_KINDS) from error


def _blocks(payload: Payload, whole: Span) -> tuple[Block, ...]:
    spans = _inside(whole, _spans(payload, BLOCKS), BLOCKS)
    if len(spans) % 2:
        raise PayloadDamaged(BLOCKS)
    return tuple(Block(span, lead) for span, lead in zip(spans[::2], spans[1::2], strict=True))
