"""
The ledger collection of an index: heads, manifests, rows and revisions as points without vectors.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pydantic import TypeAdapter
from qdrant_client import grpc as wire
from qdrant_client.conversions.conversion import grpc_to_payload, payload_to_grpc

from adapters.head import Build, Head
from adapters.ledger import (
    BUILD,
    FORMAT,
    HEAD,
    MANIFEST,
    REVISION,
    ROW,
    TOMBSTONE,
    Record,
    plain,
    read_record,
    require_format,
)
from adapters.payload_values import Payload
from adapters.records import LedgerRow, RevisionSummary, Tombstone
from adapters.store import Manifest
from assembler.errors import IndexUnavailable, IndexUnknown

RECORD = "record"
TENANT = "tenant"
SOURCE_ID = "source_id"
WRITER = "writer"
WRITER_UNTIL = "writer_until"
RETIRING = "retiring"
INDEXED = (RECORD, TENANT, SOURCE_ID, WRITER)
"""The ledger's keys with a keyword index; `WRITER_UNTIL` has one for integers."""

_NAMESPACE = uuid.UUID("0d6c9f0e-4b39-5d0a-8f67-1f7f0c8d2b11")


@dataclass(frozen=True, slots=True)
class LedgerView:
    """
    What readers know of one tenant's part.

    Attributes:
        newest: The generation that was published last, by any tenant.
        retiring: Generations that are being removed.
    """

    head: Head
    manifests: Mapping[str, Manifest]
    newest: str
    retiring: frozenset[str] = frozenset()


def ledger_collection(index: str) -> str:
    """
    Return the name of an index's ledger collection.
    """
    return f"ctx__{index}__ledger"


def index_of_ledger(collection: str) -> str | None:
    """
    Return the index whose ledger a collection is, or None.
    """
    parts = collection.split("__")
    is_ledger = len(parts) == 3 and parts[0] == "ctx" and parts[2] == "ledger"  # noqa: PLR2004 - as many as are named here
    return parts[1] if is_ledger else None


LedgerKey: TypeAlias = tuple[str, ...]
"""What tells a record from all others of the ledger: its kind, then what names it."""


def record_id(record: str, *parts: str) -> str:
    """
    Return the id of a record's point, by the parts of its key.
    """
    named = "".join(f"{len(part)}:{part}" for part in (record, *parts))
    return str(uuid.uuid5(_NAMESPACE, named))


def head_id(tenant: str) -> str:
    """
    Return the id of a tenant's head.
    """
    return record_id("head", tenant)


def head_payload(head: Head) -> dict[str, object]:
    """
    Return what moving a head writes.
    """
    return {"format": FORMAT, "body": plain(HEAD, head)}


def head_point(tenant: str, head: Head) -> wire.PointStruct:
    """
    Return a head that nobody is writing.
    """
    extra = {TENANT: tenant, WRITER: "", WRITER_UNTIL: 0}
    return _point(head_id(tenant), "head", plain(HEAD, head), extra)


def manifest_point(manifest: Manifest, published_at: str) -> wire.PointStruct:
    """
    Return the record of a generation.
    """
    point_id = record_id("manifest", manifest.generation)
    extra = {"generation": manifest.generation, "published_at": published_at}
    return _point(point_id, "manifest", plain(MANIFEST, manifest), extra)


def row_point(tenant: str, row: LedgerRow) -> wire.PointStruct:
    """
    Return the record of a source version.
    """
    extra = {TENANT: tenant, SOURCE_ID: row.source_id}
    return _point(record_id(*row_key(tenant, row)), "row", plain(ROW, row), extra)


def row_key(tenant: str, row: LedgerRow) -> LedgerKey:
    """
    Return the key of a source version's record.
    """
    return ("row", tenant, row.source_id, row.version, row.content_sha256, str(row.from_rev))


def revision_point(tenant: str, summary: RevisionSummary) -> wire.PointStruct:
    """
    Return the record of a revision.
    """
    point_id = record_id("revision", tenant, str(summary.revision))
    return _point(point_id, "revision", plain(REVISION, summary), {TENANT: tenant})


def tombstone_point(tenant: str, tombstone: Tombstone) -> wire.PointStruct:
    """
    Return the record of a purged source.
    """
    extra = {TENANT: tenant, SOURCE_ID: tombstone.source_id}
    point_id = record_id("tombstone", tenant, tombstone.source_id)
    return _point(point_id, "tombstone", plain(TOMBSTONE, tombstone), extra)


def build_point(tenant: str, build: Build) -> wire.PointStruct:
    """
    Return the record of a build that waits.
    """
    return _point(record_id(*build_key(tenant)), "build", plain(BUILD, build), {TENANT: tenant})


def build_key(tenant: str) -> LedgerKey:
    """
    Return the key of a tenant's build.
    """
    return ("build", tenant)


def _point(
    point_id: str, record: str, body: object, extra: Mapping[str, object]
) -> wire.PointStruct:
    return wire.PointStruct(
        id=wire.PointId(uuid=point_id),
        payload=payload_to_grpc({RECORD: record, "format": FORMAT, "body": body, **extra}),
        # An absent field is refused; an empty one says that there are no vectors.
        vectors=wire.Vectors(vectors=wire.NamedVectors()),
    )


def of_record(record: str, tenant: str | None = None) -> wire.Filter:
    """
    Return the filter of one kind of records.
    """
    keys = {RECORD: record, TENANT: tenant}
    return wire.Filter(
        must=[keyword(key, value) for key, value in keys.items() if value is not None]
    )


def of_part(tenant: str) -> wire.Filter:
    """
    Return the filter of a tenant's rows, revisions and tombstones.
    """
    return wire.Filter(
        must=[keyword(TENANT, tenant)],
        should=[keyword(RECORD, record) for record in ("row", "revision", "tombstone")],
    )


def of_source(tenant: str, source_id: str) -> wire.Filter:
    """
    Return the filter of all records of a source.
    """
    return wire.Filter(must=[keyword(TENANT, tenant), keyword(SOURCE_ID, source_id)])


def of_view(tenant: str) -> wire.Filter:
    """
    Return the filter of all that a `LedgerView` is made of.
    """
    return wire.Filter(
        should=[
            keyword(RECORD, "manifest"),
            wire.Condition(filter=of_record("head", tenant)),
        ]
    )


def keyword(key: str, value: str) -> wire.Condition:
    """
    Return the condition that a key has exactly this value.
    """
    return wire.Condition(field=wire.FieldCondition(key=key, match=wire.Match(keyword=value)))


def has_id(point_id: str) -> wire.Condition:
    """
    Return the condition that a point has this id.
    """
    return wire.Condition(has_id=wire.HasIdCondition(has_id=[wire.PointId(uuid=point_id)]))


def payloads(points: Sequence[wire.RetrievedPoint]) -> list[Payload]:
    """
    Return the payloads of points.
    """
    return [grpc_to_payload(point.payload) for point in points]


def read_view(index: str, stored: Sequence[Payload]) -> LedgerView:
    """
    Return what the records say.

    Raises:
        IndexUnknown: Nothing was ever published.
        IndexUnusable: A record is damaged, or was written by a newer release.
    """
    heads = read_bodies(index, "head", HEAD, stored)
    manifests = read_bodies(index, "manifest", MANIFEST, stored)
    for manifest in manifests:
        require_format(index, manifest.format_version)
    published = sorted(
        (str(payload.get("published_at")), str(payload.get("generation")))
        for payload in stored
        if payload.get(RECORD) == "manifest"
    )
    if not published:
        raise IndexUnknown(index)
    return LedgerView(
        head=heads[0] if heads else Head(),
        manifests={manifest.generation: manifest for manifest in manifests},
        newest=published[-1][1],
        retiring=frozenset(
            str(payload.get("generation")) for payload in stored if payload.get(RETIRING)
        ),
    )


def require_head(index: str, known: LedgerView, stored: Sequence[Payload]) -> None:
    """
    Refuse to take a ledger that has lost the tenant's head for one that never had it.

    Raises:
        IndexUnavailable: The head was there, and is not.
    """
    has_head = any(payload.get(RECORD) == "head" for payload in stored)
    if known.head.generation is not None and not has_head:
        problem = f"the ledger of index {index!r} has lost a head; a replica may be recovering"
        raise IndexUnavailable(problem, retry_seconds=2.0)


def read_bodies(
    index: str, record: str, kind: TypeAdapter[Record], stored: Sequence[Payload]
) -> list[Record]:
    """
    Return the records of one kind.

    Raises:
        IndexUnusable: A record is damaged, or was written by a newer release.
    """
    found = []
    for payload in stored:
        if payload.get(RECORD) == record:
            require_format(index, payload.get("format"))
            found.append(read_record(kind, index, f"the ledger's {record}", payload.get("body")))
    return found
