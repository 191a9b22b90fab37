"""
Reads of the points of an attached collection: the scope goes into each, and what comes back is
checked by it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from qdrant_client import AsyncQdrantClient
from qdrant_client import grpc as wire
from qdrant_client.conversions.conversion import grpc_to_payload

from adapters.attached_looks import AttachedLooks
from adapters.attached_points import AttachedPoint, key_of, read_point
from adapters.attached_shape import missing
from adapters.attachment import Attachment, PayloadMapping
from adapters.payload_values import Payload, PayloadDamaged
from adapters.qdrant_connection import translated
from adapters.qdrant_filter import qdrant_filter
from adapters.qdrant_link import Answer, QdrantLink, Send
from adapters.qdrant_points import PAGE, scroll_points
from adapters.qdrant_search import SearchSettings, query_batch
from adapters.scope_gate import ScopeGate
from adapters.searches import PointQuery
from assembler.errors import IndexUnavailable, IndexUnusable
from assembler.filters import AnyString, Condition, Filter
from assembler.scope import ReadScope


class AttachedReads:
    """
    The reads of one scope.
    """

    def __init__(
        self,
        attachment: Attachment,
        scope: ReadScope,
        link: QdrantLink,
        settings: SearchSettings,
        looks: AttachedLooks,
        deny: Callable[[Mapping[str, int]], None],
    ) -> None:
        """
        Name what is read.

        Args:
            attachment: The collection.
            scope: What may be seen of it.
            link: The connection.
            settings: How searches are run.
            looks: Asked why a read was refused.
            deny: Told of points that came back and are not used, by reason.
        """
        self._attachment = attachment
        self._scope = scope
        self._link = link
        self._settings = settings
        self._looks = looks
        self._deny = deny
        self._demanded = _demanded(attachment.mapping, scope)

    @property
    def mapping(self) -> PayloadMapping:
        """
        Return where payloads have what is needed.
        """
        return self._attachment.mapping

    async def search(
        self, queries: Sequence[PointQuery]
    ) -> tuple[list[list[tuple[str, float]]], list[AttachedPoint]]:
        """
        Return keys and scores for each search, and the points that fit, each once.
        """
        demanded, attachment = self._demanded, self._attachment
        if demanded is None:
            return [[] for _ in queries], []
        asked = [
            replace(one, using=attachment.vector, wanted=demanded, keys=self.mapping.returned)
            for one in queries
        ]

        def send(client: AsyncQdrantClient, timeout: float) -> Awaitable[wire.QueryBatchResponse]:
            request = query_batch(attachment.collection, asked, self._settings, timeout)
            call: Awaitable[wire.QueryBatchResponse]
            call = client.grpc_points.QueryBatch(request, timeout=timeout)
            return call

        answer = await self._asked("query_batch", send)
        if len(answer.result) != len(queries):
            problem = f"Qdrant answered {len(answer.result)} of {len(queries)} searches"
            raise IndexUnavailable(problem)
        found = {
            key_of(point.id): grpc_to_payload(point.payload)
            for batch in answer.result
            for point in batch.result
        }
        results = [
            [(key_of(point.id), point.score) for point in batch.result] for batch in answer.result
        ]
        return results, self._fitting(found)

    async def points(self, keys: Sequence[str]) -> list[AttachedPoint]:
        """
        Return the points with these keys, which are the ids that Qdrant knows them by.
        """
        ids = [one for key in dict.fromkeys(keys) if (one := _id_of(key)) is not None]
        named = wire.Condition(has_id=wire.HasIdCondition(has_id=ids))
        return await self._read(named, len(ids))

    async def matching(self, wanted: Filter, most: int) -> list[AttachedPoint]:
        """
        Return the points that pass, by id, so many at most.
        """
        return await self._read(wire.Condition(filter=qdrant_filter(wanted)), most)

    async def _read(self, wanted: wire.Condition, most: int) -> list[AttachedPoint]:
        if self._demanded is None or most == 0:
            return []
        demanded = wire.Condition(filter=qdrant_filter(self._demanded))
        native = wire.Filter(must=[demanded, wanted])
        found: dict[str, Payload] = {}
        offset: wire.PointId | None = None
        while True:
            answer = await self._page(native, min(PAGE, most - len(found)), offset)
            found.update(
                (key_of(point.id), grpc_to_payload(point.payload)) for point in answer.result
            )
            if len(found) >= most or not answer.HasField("next_page_offset"):
                return self._fitting(found)
            offset = answer.next_page_offset

    async def _page(
        self, wanted: wire.Filter, size: int, offset: wire.PointId | None
    ) -> wire.ScrollResponse:
        def send(client: AsyncQdrantClient, timeout: float) -> Awaitable[wire.ScrollResponse]:
            request = scroll_points(
                self._attachment.collection,
                wanted,
                self.mapping.returned,
                size,
                offset=offset,
                consistency=self._settings.read_consistency,
                timeout_seconds=timeout,
            )
            call: Awaitable[wire.ScrollResponse]
            call = client.grpc_points.Scroll(request, timeout=timeout)
            return call

        return await self._asked("scroll", send)

    async def _asked(self, operation: str, send: Send[Answer]) -> Answer:
        """
        Return the answer to a read; one that is refused may be of a collection that is another now.
        """
        index = self._scope.index
        try:
            with translated(index, missing=missing(index, self._attachment)):
                return await self._link.call(operation, send)
        except IndexUnusable as refused:
            raise await self._looks.explain(index, refused) from refused

    def _fitting(self, found: Mapping[str, Payload]) -> list[AttachedPoint]:
        """
        Return the points that fit the mapping and lie in the scope.
        """
        gate, kept, refused = ScopeGate(self._scope), list[AttachedPoint](), Counter[str]()
        for key, payload in found.items():
            try:
                point = read_point(self.mapping, key, payload)
            except PayloadDamaged:
                refused["damaged"] += 1
                continue
            provenance = point.provenance(point.content)
            if gate.admits(provenance):
                kept.append(point)
            else:
                refused["scope"] += gate.is_denied(provenance)
        self._deny(refused)
        return kept


def _demanded(mapping: PayloadMapping, scope: ReadScope) -> Filter | None:
    """
    Return what the scope demands of points, or None where no point can meet it.
    """
    parts: list[Condition] = []
    if mapping.tenant is not None:
        parts.append(Condition(mapping.tenant, AnyString((scope.tenant,))))
    elif scope.tenant:
        return None
    if scope.asked.source_ids:
        parts.append(Condition(mapping.source, AnyString(scope.asked.source_ids)))
    return Filter(all_of=tuple(parts))


def _id_of(key: str) -> wire.PointId | None:
    if key.isascii() and key.isdigit() and len(key) < len(str(2**63)):
        return wire.PointId(num=int(key))
    try:
        return wire.PointId(uuid=str(UUID(key)))
    except ValueError:
        return None
