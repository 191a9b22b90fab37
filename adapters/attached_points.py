"""
The points of an attached collection, as far as they fit its mapping.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qdrant_client import grpc as wire

from adapters.attachment import PayloadMapping
from adapters.payload_values import Payload, PayloadDamaged
from assembler.model import Provenance
from assembler.span import Span

REVISION = 1
"""An attached collection has one revision."""

MOST_CHARS = 2**40
"""The largest offset and ordinal that is taken for one."""


@dataclass(frozen=True, slots=True)
class AttachedPoint:
    """
    One chunk of an attached collection.

    Attributes:
        span: Its range of the source's text; None where that is not known.
        ordinal: Its number in the source; None where that is not known, or not needed.
        section: What its section's chunks have in common; None where nothing is said.
    """

    key: str
    tenant: str
    source_id: str
    version: str
    content: str
    text: str
    span: Span | None
    ordinal: int | None
    section: str | None

    def provenance(self, content_sha256: str) -> Provenance:
        """
        Return where it comes from; whoever may read of the tenant may read it.

        Args:
            content_sha256: What tells the text that its offsets count in from others.
        """
        return Provenance(self.tenant, self.source_id, self.version, content_sha256, None, REVISION)


def read_point(mapping: PayloadMapping, key: str, payload: Payload) -> AttachedPoint:
    """
    Return what a payload says.

    Offsets that cannot be those of the text are not used; the chunk then stands alone.

    Raises:
        PayloadDamaged: It has no text, no source, or not the tenant, where the mapping says that
            they are.
    """
    payload = _opened(mapping, payload)
    text = _text(payload, mapping.text)
    return AttachedPoint(
        key=key,
        tenant="" if mapping.tenant is None else _text(payload, mapping.tenant, may_be_empty=True),
        source_id=_text(payload, mapping.source),
        version=_label(payload, mapping.version),
        content=_label(payload, mapping.content),
        text=text,
        span=_span(mapping, payload, text),
        ordinal=_number(payload, mapping.ordinal),
        section=_label(payload, mapping.section) or None,
    )


def key_of(point_id: wire.PointId) -> str:
    """
    Return the key of a chunk: the id of its point.
    """
    return point_id.uuid or str(point_id.num)


def value_at(payload: Payload, path: str) -> Any:
    """
    Return the value at a path, None where there is none.
    """
    found: Any = payload
    for part in path.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(part)
    return found


def _opened(mapping: PayloadMapping, payload: Payload) -> Payload:
    """
    Return the payload with what its JSON texts hold in their place.
    """
    opened = dict(payload)
    for key in mapping.json_keys:
        text = payload.get(key)
        try:
            opened[key] = json.loads(text) if isinstance(text, str) else None
        except (ValueError, RecursionError):
            opened[key] = None
    return opened


def _text(payload: Payload, path: str, *, may_be_empty: bool = False) -> str:
    value = value_at(payload, path)
    if not isinstance(value, str) or not (value or may_be_empty) or not _is_whole(value):
        raise PayloadDamaged(path)
    return value


def _is_whole(text: str) -> bool:
    """
    Return whether a text can be sent: JSON inside a text can spell half a surrogate pair.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _label(payload: Payload, path: str | None) -> str:
    value = None if path is None else value_at(payload, path)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and _is_whole(value) else ""


def _number(payload: Payload, path: str | None) -> int | None:
    value = None if path is None else value_at(payload, path)
    if isinstance(value, float) and value.is_integer():  # what went through JSON elsewhere
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value < MOST_CHARS else None


def _span(mapping: PayloadMapping, payload: Payload, text: str) -> Span | None:
    start = _number(payload, mapping.start)
    if start is None:
        return None
    if mapping.end is not None and _number(payload, mapping.end) != start + len(text):
        return None
    return Span(start, start + len(text))
