"""
The calls that write and read points.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import grpc
import qdrant_edge as edge
from google.protobuf.message import Message
from qdrant_client import grpc as wire
from qdrant_client.conversions.conversion import grpc_to_payload

from tests.qdrant_server.collection import Collection
from tests.qdrant_server.fields import Refused
from tests.qdrant_server.translation import edge_filter, retrieved_point, scored_point, wire_id

Answer = TypeVar("Answer")

_SCHEMAS = {
    wire.FieldTypeKeyword: edge.PayloadSchemaType.Keyword,
    wire.FieldTypeInteger: edge.PayloadSchemaType.Integer,
    wire.FieldTypeBool: edge.PayloadSchemaType.Bool,
}


class Served(Protocol):
    """
    What the calls need of the server.

    Attributes:
        emptied: Names of collections whose reads are answered with no points.
        is_terse: Whether searches are answered with no results at all.
    """

    emptied: list[str]
    is_terse: bool

    def collection(self, name: str) -> Collection:
        """
        Return a collection.
        """
        ...

    def answer(
        self, call: str, request: Message, context: grpc.ServicerContext, do: Callable[[], Answer]
    ) -> Answer:
        """
        Check a call, then do it.
        """
        ...


class PointsServicer(wire.PointsServicer):
    def __init__(self, server: Served) -> None:
        self._server = server

    def CreateFieldIndex(
        self, request: wire.CreateFieldIndexCollection, context: grpc.ServicerContext
    ) -> wire.PointsOperationResponse:
        def write(collection: Collection) -> None:
            schema: edge.PayloadSchemaType | edge.KeywordIndexParams = _SCHEMAS[request.field_type]
            if request.field_index_params.keyword_index_params.is_tenant:
                schema = edge.KeywordIndexParams(is_tenant=True)
            collection.change(
                lambda _: edge.UpdateOperation.create_field_index(request.field_name, schema)
            )

        return self._write("CreateFieldIndex", request, context, write)

    def Upsert(
        self, request: wire.UpsertPoints, context: grpc.ServicerContext
    ) -> wire.PointsOperationResponse:
        return self._write("Upsert", request, context, lambda found: found.upsert(request))

    def SetPayload(
        self, request: wire.SetPayloadPoints, context: grpc.ServicerContext
    ) -> wire.PointsOperationResponse:
        def write(collection: Collection) -> None:
            payload = grpc_to_payload(request.payload)
            wanted = request.points_selector.filter
            collection.change(
                lambda _: edge.UpdateOperation.set_payload_by_filter(edge_filter(wanted), payload)
            )

        return self._write("SetPayload", request, context, write)

    def Delete(
        self, request: wire.DeletePoints, context: grpc.ServicerContext
    ) -> wire.PointsOperationResponse:
        def change(_: int) -> edge.UpdateOperation:
            if request.points.HasField("filter"):
                return edge.UpdateOperation.delete_points_by_filter(
                    edge_filter(request.points.filter)
                )
            ids: list[edge.PointId] = [point.uuid for point in request.points.points.ids]
            return edge.UpdateOperation.delete_points(ids)

        return self._write("Delete", request, context, lambda found: found.change(change))

    def Scroll(
        self, request: wire.ScrollPoints, context: grpc.ServicerContext
    ) -> wire.ScrollResponse:
        def do() -> wire.ScrollResponse:
            collection = self._server.collection(request.collection_name)
            if request.collection_name in self._server.emptied:
                return wire.ScrollResponse()
            limit = request.limit if request.HasField("limit") else 10
            records, following = collection.scroll(request, limit)
            return wire.ScrollResponse(
                result=[retrieved_point(record) for record in records],
                next_page_offset=None if following is None else wire_id(following),
            )

        return self._server.answer("Scroll", request, context, do)

    def Count(self, request: wire.CountPoints, context: grpc.ServicerContext) -> wire.CountResponse:
        def do() -> wire.CountResponse:
            count = self._server.collection(request.collection_name).count(request)
            return wire.CountResponse(result=wire.CountResult(count=count))

        return self._server.answer("Count", request, context, do)

    def QueryBatch(
        self, request: wire.QueryBatchPoints, context: grpc.ServicerContext
    ) -> wire.QueryBatchResponse:
        def do() -> wire.QueryBatchResponse:
            if any(q.collection_name != request.collection_name for q in request.query_points):
                raise Refused(
                    grpc.StatusCode.INVALID_ARGUMENT, "one batch request names one collection"
                )
            collection = self._server.collection(request.collection_name)
            if self._server.is_terse:
                return wire.QueryBatchResponse()
            is_emptied = request.collection_name in self._server.emptied
            queries = request.query_points
            batches = (
                [[] for _ in queries]
                if is_emptied
                else collection.query(queries, request.read_consistency)
            )
            return wire.QueryBatchResponse(
                result=[
                    wire.BatchResult(result=[scored_point(point) for point in points])
                    for points in batches
                ]
            )

        return self._server.answer("QueryBatch", request, context, do)

    def _write(
        self,
        call: str,
        request: wire.UpsertPoints
        | wire.SetPayloadPoints
        | wire.DeletePoints
        | wire.CreateFieldIndexCollection,
        context: grpc.ServicerContext,
        write: Callable[[Collection], None],
    ) -> wire.PointsOperationResponse:
        def do() -> wire.PointsOperationResponse:
            if not request.wait:
                raise Refused(grpc.StatusCode.INVALID_ARGUMENT, "a write that is not waited for")
            write(self._server.collection(request.collection_name))
            return wire.PointsOperationResponse(
                result=wire.UpdateResult(status=wire.UpdateStatus.Completed)
            )

        return self._server.answer(call, request, context, do)
