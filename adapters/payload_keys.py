"""
The one home of every payload key, and of which keys get an index.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping

from assembler.model import FIELDS_PREFIX, FieldType

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
CHUNK_KEYS = "chunk_keys"
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

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]+")


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
    SECTION_KEY: IndexKind.KEYWORD,
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
