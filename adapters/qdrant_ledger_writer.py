"""
The ledger collection of an index, for the writing side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from qdrant_client import QdrantClient
from qdrant_client import grpc as wire
from qdrant_client.conversions.conversion import payload_to_grpc

from adapters.head import Build, Head
from adapters.ledger import BUILD, HEAD, REVISION, ROW, TOMBSTONE, tenant_ledger
from adapters.payload_values import Payload
from adapters.qdrant_ledger import (
    RETIRING,
    TENANT,
    WRITER,
    WRITER_UNTIL,
    LedgerKey,
    LedgerView,
    build_key,
    build_point,
    has_id,
    head_id,
    head_point,
    ledger_collection,
    manifest_point,
    of_part,
    of_record,
    of_view,
    payloads,
    read_bodies,
    read_view,
    record_id,
    revision_point,
    row_key,
    row_point,
    tombstone_point,
)
from adapters.qdrant_points import PAGE, scroll_points
from adapters.qdrant_search import MAJORITY
from adapters.records import LedgerRow, RevisionSummary, TenantLedger, Tombstone
from adapters.store import Manifest
from assembler.errors import IndexUnknown

LEDGER_PAGE = 2_048
"""Records that are read together: each has a few hundred bytes, and a page costs more than they."""

LedgerRecord: TypeAlias = LedgerRow | RevisionSummary | Tombstone


class QdrantLedgerWriter:
    """
    The ledger collection of one index, for the writing side.
    """

    def __init__(self, client: QdrantClient, index: str, timeout_seconds: float) -> None:
        self._client = client
        self._index = index
        self._name = ledger_collection(index)
        self._timeout = timeout_seconds
        self._known: dict[LedgerKey, LedgerRecord] = {}

    def view(self, tenant: str) -> LedgerView | None:
        """
        Return what readers know, or None before anyone has published.
        """
        stored = list(self._scroll(of_view(tenant)))
        try:
            return read_view(self._index, stored)
        except IndexUnknown:
            return None

    def ledger(self, tenant: str, head: Head) -> TenantLedger:
        """
        Return everything known of one tenant's part as of its head.
        """
        stored = list(self._scroll(of_part(tenant)))
        rows = read_bodies(self._index, "row", ROW, stored)
        revisions = read_bodies(self._index, "revision", REVISION, stored)
        tombstones = read_bodies(self._index, "tombstone", TOMBSTONE, stored)
        self._known = _records(tenant, rows, revisions, tombstones)
        return tenant_ledger(head, rows, revisions, tombstones)

    def heads(self) -> dict[str, Head]:
        """
        Return the heads of all tenants.
        """
        stored = list(self._scroll(of_record("head")))
        bodies = read_bodies(self._index, "head", HEAD, stored)
        return {
            str(payload.get(TENANT)): body for payload, body in zip(stored, bodies, strict=True)
        }

    def record(self, tenant: str, ledger: TenantLedger, manifest: Manifest | None) -> None:
        """
        Write everything but the head; readers see of it what their head has reached.

        Only what differs from what `ledger` read is written.
        """
        wanted = _records_of(tenant, ledger)
        changed = {key: one for key, one in wanted.items() if self._known.get(key) != one}
        points = [_record_point(tenant, one) for one in changed.values()]
        for first in range(0, len(points), PAGE):
            self._upsert(points[first : first + PAGE])
        self._known |= changed
        if manifest is not None:
            self.write_manifest(manifest, ledger.revisions[-1].published_at)

    def write_manifest(self, manifest: Manifest, published_at: str) -> None:
        """
        Write the record of a generation; with the first, readers know the index.
        """
        self._upsert([manifest_point(manifest, published_at)])

    def forget(self, tenant: str, ledger: TenantLedger) -> None:
        """
        Delete what the ledger no longer has.
        """
        wanted = _records_of(tenant, ledger)
        self._delete([key for key in self._known if key not in wanted])

    def forget_beyond(self, tenant: str, revision: int) -> None:
        """
        Delete the rows and revisions beyond a revision, and a build that waits.
        """
        beyond = [key for key, one in self._known.items() if _revision_of(one) > revision]
        self._delete([*beyond, build_key(tenant)])

    def build(self, tenant: str) -> Build | None:
        """
        Return the tenant's build that waits, or None.
        """
        stored = list(self._scroll(of_record("build", tenant)))
        return next(iter(read_bodies(self._index, "build", BUILD, stored)), None)

    def write_build(self, tenant: str, build: Build) -> None:
        """
        Write that a build waits.
        """
        self._upsert([build_point(tenant, build)])

    def forget_build(self, tenant: str) -> None:
        """
        Delete the tenant's build.
        """
        self._delete([build_key(tenant)])

    def used_generations(self) -> set[str]:
        """
        Return the generations that some tenant's head, kept revision or build is in, or may be.
        """
        stored = list(self._scroll(of_record("revision")))
        revisions = read_bodies(self._index, "revision", REVISION, stored)
        builds = read_bodies(self._index, "build", BUILD, list(self._scroll(of_record("build"))))
        heads = [*self.heads().values(), *(build.head for build in builds)]
        used = {revision.generation for revision in revisions}
        return used | {head.generation for head in heads if head.generation is not None}

    def has_writers(self, *, besides: str, now: float) -> bool:
        """
        Return whether anyone but one tenant's writer holds a lock.
        """
        return any(
            payload.get(WRITER) and float(str(payload.get(WRITER_UNTIL, 0))) > now
            for payload in self._scroll(of_record("head"))
            if payload.get(TENANT) != besides
        )

    def mark_retiring(self, generation: str, *, is_retiring: bool) -> None:
        """
        Say of a generation that it is being removed, or that it is not.
        """
        point = has_id(record_id("manifest", generation))
        request = wire.SetPayloadPoints(
            collection_name=self._name,
            wait=True,
            payload=payload_to_grpc({RETIRING: is_retiring}),
            points_selector=wire.PointsSelector(filter=wire.Filter(must=[point])),
            ordering=wire.WriteOrdering(type=wire.Strong),
        )
        self._client.grpc_points.SetPayload(request, timeout=self._timeout)

    def forget_manifest(self, generation: str) -> None:
        """
        Delete the record of a generation.
        """
        self._delete([("manifest", generation)])

    def add_head(self, tenant: str) -> None:
        """
        Write an empty head where the tenant has none.
        """
        request = wire.UpsertPoints(
            collection_name=self._name,
            wait=True,
            points=[head_point(tenant, Head())],
            update_mode=wire.InsertOnly,
        )
        self._client.grpc_points.Upsert(request, timeout=self._timeout)

    def change_head(self, tenant: str, condition: wire.Condition, payload: Payload) -> Payload:
        """
        Set keys of the head in one step where it meets the condition, and return what it is then.
        """
        request = wire.SetPayloadPoints(
            collection_name=self._name,
            wait=True,
            payload=payload_to_grpc(dict(payload)),
            points_selector=wire.PointsSelector(
                filter=wire.Filter(must=[has_id(head_id(tenant)), condition])
            ),
            ordering=wire.WriteOrdering(type=wire.Strong),
        )
        self._client.grpc_points.SetPayload(request, timeout=self._timeout)
        return next(iter(self._scroll(wire.Filter(must=[has_id(head_id(tenant))]))), {})

    def _delete(self, keys: Sequence[LedgerKey]) -> None:
        for first in range(0, len(keys), PAGE):
            points = [wire.PointId(uuid=record_id(*key)) for key in keys[first : first + PAGE]]
            request = wire.DeletePoints(
                collection_name=self._name,
                wait=True,
                points=wire.PointsSelector(points=wire.PointsIdsList(ids=points)),
            )
            self._client.grpc_points.Delete(request, timeout=self._timeout)
        for key in keys:
            self._known.pop(key, None)

    def _upsert(self, points: Sequence[wire.PointStruct]) -> None:
        request = wire.UpsertPoints(collection_name=self._name, wait=True, points=points)
        self._client.grpc_points.Upsert(request, timeout=self._timeout)

    def _scroll(self, wanted: wire.Filter) -> Iterator[Payload]:
        offset = None
        while True:
            request = scroll_points(
                self._name, wanted, None, LEDGER_PAGE, offset=offset, consistency=MAJORITY
            )
            answer = self._client.grpc_points.Scroll(request, timeout=self._timeout)
            yield from payloads(answer.result)
            if not answer.HasField("next_page_offset"):
                return
            offset = answer.next_page_offset


def _records_of(tenant: str, ledger: TenantLedger) -> dict[LedgerKey, LedgerRecord]:
    rows = (*ledger.rows, *ledger.earlier)
    return _records(tenant, rows, ledger.revisions, ledger.tombstones)


def _records(
    tenant: str,
    rows: Sequence[LedgerRow],
    revisions: Sequence[RevisionSummary],
    tombstones: Sequence[Tombstone],
) -> dict[LedgerKey, LedgerRecord]:
    """
    Return records by their key: ids are made of those alone that are written or deleted.
    """
    named: dict[LedgerKey, LedgerRecord] = {row_key(tenant, row): row for row in rows}
    for revision in revisions:
        named["revision", tenant, str(revision.revision)] = revision
    for tombstone in tombstones:
        named["tombstone", tenant, tombstone.source_id] = tombstone
    return named


def _record_point(tenant: str, record: LedgerRecord) -> wire.PointStruct:
    if isinstance(record, LedgerRow):
        return row_point(tenant, record)
    if isinstance(record, RevisionSummary):
        return revision_point(tenant, record)
    return tombstone_point(tenant, record)


def _revision_of(record: LedgerRecord) -> int:
    if isinstance(record, LedgerRow):
        return record.from_rev
    return record.revision if isinstance(record, RevisionSummary) else 0
