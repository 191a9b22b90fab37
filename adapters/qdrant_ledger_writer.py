"""
The ledger collection of an index, for the writing side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from qdrant_client import QdrantClient
from qdrant_client import grpc as wire
from qdrant_client.conversions.conversion import payload_to_grpc

from adapters.ledger import HEAD, REVISION, ROW, Head, as_of, tenant_ledger
from adapters.payload_values import Payload
from adapters.qdrant_ledger import (
    TENANT,
    LedgerView,
    has_id,
    head_id,
    head_point,
    ledger_collection,
    manifest_point,
    of_record,
    of_view,
    payloads,
    read_bodies,
    read_view,
    revision_point,
    row_id,
    row_point,
)
from adapters.qdrant_points import PAGE, scroll_points
from adapters.qdrant_search import MAJORITY
from adapters.store import LedgerRow, Manifest, RevisionSummary, TenantLedger
from assembler.errors import IndexUnknown


class QdrantLedgerWriter:
    """
    The ledger collection of one index, for the writing side.
    """

    def __init__(self, client: QdrantClient, index: str, timeout_seconds: float) -> None:
        self._client = client
        self._index = index
        self._name = ledger_collection(index)
        self._timeout = timeout_seconds

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
        rows = self._bodies_of_rows(tenant)
        stored = list(self._scroll(of_record("revision", tenant)))
        revisions = read_bodies(self._index, "revision", REVISION, stored)
        known = [summary for summary in revisions if summary.revision <= head.revision]
        return tenant_ledger(head, as_of(rows, head.revision), known)

    def heads(self) -> dict[str, Head]:
        """
        Return the heads of all tenants.
        """
        stored = list(self._scroll(of_record("head")))
        bodies = read_bodies(self._index, "head", HEAD, stored)
        return {
            str(payload.get(TENANT)): body for payload, body in zip(stored, bodies, strict=True)
        }

    def record(
        self,
        tenant: str,
        manifest: Manifest,
        rows: Sequence[LedgerRow],
        revisions: Sequence[RevisionSummary],
    ) -> None:
        """
        Write everything but the head; readers see of it what their head has reached.
        """
        known = {row_id(tenant, row): row for row in self._bodies_of_rows(tenant)}
        changed = [row for row in rows if known.get(row_id(tenant, row)) != row]
        points = [row_point(tenant, row) for row in changed]
        points.append(revision_point(tenant, revisions[-1]))
        points.append(manifest_point(manifest, revisions[-1].published_at))
        for first in range(0, len(points), PAGE):
            self._upsert(points[first : first + PAGE])

    def forget_rows(self, tenant: str, kept: Sequence[LedgerRow]) -> None:
        """
        Delete the rows that the ledger no longer has.
        """
        wanted = {row_id(tenant, row) for row in kept}
        gone = [
            point_id
            for row in self._bodies_of_rows(tenant)
            if (point_id := row_id(tenant, row)) not in wanted
        ]
        for first in range(0, len(gone), PAGE):
            ids = [wire.PointId(uuid=point_id) for point_id in gone[first : first + PAGE]]
            request = wire.DeletePoints(
                collection_name=self._name,
                wait=True,
                points=wire.PointsSelector(points=wire.PointsIdsList(ids=ids)),
            )
            self._client.grpc_points.Delete(request, timeout=self._timeout)

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

    def _bodies_of_rows(self, tenant: str) -> list[LedgerRow]:
        stored = list(self._scroll(of_record("row", tenant)))
        return read_bodies(self._index, "row", ROW, stored)

    def _upsert(self, points: Sequence[wire.PointStruct]) -> None:
        request = wire.UpsertPoints(collection_name=self._name, wait=True, points=points)
        self._client.grpc_points.Upsert(request, timeout=self._timeout)

    def _scroll(self, wanted: wire.Filter) -> Iterator[Payload]:
        offset = None
        while True:
            request = scroll_points(
                self._name, wanted, None, PAGE, offset=offset, consistency=MAJORITY
            )
            answer = self._client.grpc_points.Scroll(request, timeout=self._timeout)
            yield from payloads(answer.result)
            if not answer.HasField("next_page_offset"):
                return
            offset = answer.next_page_offset
