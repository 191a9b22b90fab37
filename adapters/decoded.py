"""
Stored points as reads need them: decoded as of a revision, those of one source version with one
provenance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from adapters.payload import decode_chunk, decode_provenance
from adapters.payload_keys import (
    ACTIVE_TO_REV,
    CONTENT_SHA256,
    FIELDS,
    FROM_REV,
    KEY,
    KIND,
    READERS,
    SOURCE_ID,
    TENANT,
    TO_REV,
    VERSION,
)
from adapters.payload_values import Payload, PayloadDamaged, checked_text
from assembler.model import Chunk, PointKind, Provenance

Item = TypeVar("Item")

KEPT = 4096
"""Provenances that one decoder knows at most."""

Decode: TypeAlias = "Callable[[Payload, int, Provenance], Item]"
"""What makes an item of a payload, a revision, and the provenance that was decoded before."""


class Record(NamedTuple, Generic[Item]):
    """
    A stored point that holds what was written.
    """

    key: str
    provenance: Provenance
    item: Item


class ScoredRecord(NamedTuple):
    """
    One point that an engine's search returned.

    Attributes:
        record: Its chunk; of sections, which searches do not read, there is none. None where the
            point does not hold what was written.
    """

    score: float
    record: Record[Chunk | None] | None


class Decoder:
    """
    Decodes payloads as of one revision; any number of threads may use it.
    """

    def __init__(self, revision: int) -> None:
        self._revision = revision
        self._known: dict[tuple[object, ...], Provenance] = {}

    def record(
        self, payload: Payload, kind: PointKind, decode: Decode[Item]
    ) -> Record[Item] | None:
        """
        Return what a payload holds, or None where that is not what was written.
        """
        try:
            provenance = self._provenance(payload, kind)
            item = decode(payload, self._revision, provenance)
            return Record(checked_text(payload, KEY), provenance, item)
        except PayloadDamaged:
            return None

    def hit(self, payload: Payload, kind: PointKind) -> Record[Chunk | None] | None:
        """
        Return what searches need of a payload.
        """
        decode: Decode[Chunk | None] = decode_chunk if kind is PointKind.CHUNK else _nothing
        return self.record(payload, kind, decode)

    def _provenance(self, payload: Payload, kind: PointKind) -> Provenance:
        get = payload.get
        if get(KIND) != kind.value:
            raise PayloadDamaged(KIND)
        # as text, for 1 and True are equal and are not the same
        ends = repr((get(FROM_REV), get(ACTIVE_TO_REV), get(TO_REV), get(READERS), get(FIELDS, {})))
        facts = (get(TENANT), get(SOURCE_ID), get(VERSION), get(CONTENT_SHA256))
        try:
            known = self._known.get((*facts, ends))
        except TypeError:  # a list where a text was written
            known = None
        if known is None:
            known = decode_provenance(payload, kind, self._revision)
            if len(self._known) >= KEPT:
                self._known = {}
            self._known[*facts, ends] = known
        return known


def _nothing(payload: Payload, revision: int, provenance: Provenance) -> None:
    del payload, revision, provenance
