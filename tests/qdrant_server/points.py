"""
The calls that write and read points.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias, TypeVar

import grpc
import qdrant_edge as edge
from google.protobuf.message import Message
from qdrant_client import grpc as wire
from qdrant_client.conversions.conversion import grpc_to_payload

from tests.qdrant_server.fields import Refused
from tests.qdrant_server.translation import (
    edge_filter,
    edge_point,
    edge_query,
    edge_selector,
    retrieved_point,
    scored_point,
)

Answer = TypeVar("Answer")
AnyUpdate: TypeAlias = (
    wire.UpsertPoints | wire.SetPayloadPoints | wire.DeletePoints | wire.CreateFieldIndexCollection
)

_SCHEMAS = {
    wire.FieldTypeKeyword: edge.PayloadSchemaType.Keyword,
    wire.FieldTypeInteger: edge.PayloadSchemaType.Integer,
    wire.FieldTypeBool: edge.PayloadSchemaType.Bool,
}


class ServedShards(Protocol):
    """
    What the calls need of the server.
    """

    def shard(self, name: str) -> edge.EdgeShard:
        """
        Return the engine's shard of a collection.
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
    def __init__(self, server: ServedShards) -> None:
        self._server = server

    def CreateFieldIndex(
        self, request: wire.CreateFieldIndexCollection, context: grpc.ServicerContext
    ) -> wire.PointsOperationResponse:
        schema: edge.PayloadSchemaType | edge.KeywordIndexParams = _SCHEMAS[request.field_type]
        if request.field_index_params.keyword_index_params.is_tenant:
            schema = edge.KeywordIndexParams(is_tenant=True)
        operation = edge.UpdateOperation.create_field_index(request.field_name, schema)
        return self._update("CreateFieldIndex", request, context, lambda: operation)

    def Upsert(
        self, request: wire.UpsertPoints, context: grpc.ServicerContext
    ) -> wire.PointsOperationResponse:
        is_insert = request.update_mode == wire.InsertOnly
        return self._update(
            "Upsert",
            request,
            context,
            lambda: edge.UpdateOperation.upsert_points(
                [edge_point(point) for point in request.points],
                update_mode=edge.UpdateMode.InsertOnly if is_insert else None,
            ),
        )

    def SetPayload(
        self, request: wire.SetPayloadPoints, context: grpc.ServicerContext
    ) -> wire.PointsOperationResponse:
        payload = grpc_to_payload(request.payload)
        return self._update(
            "SetPayload",
            request,
            context,
            lambda: edge.UpdateOperation.set_payload_by_filter(
                edge_filter(request.points_selector.filter), payload
            ),
        )

    def Delete(
        self, request: wire.DeletePoints, context: grpc.ServicerContext
    ) -> wire.PointsOperationResponse:
        def operation() -> edge.UpdateOperation:
            if request.points.HasField("filter"):
                return edge.UpdateOperation.delete_points_by_filter(
                    edge_filter(request.points.filter)
                )
            ids: list[edge.PointId] = [point.uuid for point in request.points.points.ids]
            return edge.UpdateOperation.delete_points(ids)

        return self._update("Delete", request, context, operation)

    def Scroll(
        self, request: wire.ScrollPoints, context: grpc.ServicerContext
    ) -> wire.ScrollResponse:
        def do() -> wire.ScrollResponse:
            names = list(request.with_vectors.include.names)
            records, following = self._server.shard(request.collection_name).scroll(
                edge.ScrollRequest(
                    offset=request.offset.uuid if request.HasField("offset") else None,
                    limit=request.limit if request.HasField("limit") else 10,
                    filter=edge_filter(request.filter),
                    with_payload=edge_selector(request.with_payload),
                    with_vector=names or False,
                )
            )
            return wire.ScrollResponse(
                result=[retrieved_point(record) for record in records],
                next_page_offset=wire.PointId(uuid=str(following)) if following else None,
            )

        return self._server.answer("Scroll", request, context, do)

    def Count(self, request: wire.CountPoints, context: grpc.ServicerContext) -> wire.CountResponse:
        def do() -> wire.CountResponse:
            count = self._server.shard(request.collection_name).count(
                edge.CountRequest(exact=request.exact, filter=edge_filter(request.filter))
            )
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
            batches = self._server.shard(request.collection_name).query_batch(
                edge.QueryBatchRequest([edge_query(query) for query in request.query_points])
            )
            return wire.QueryBatchResponse(
                result=[
                    wire.BatchResult(result=[scored_point(point) for point in points])
                    for points in batches
                ]
            )

        return self._server.answer("QueryBatch", request, context, do)

    def _update(
        self,
        call: str,
        request: AnyUpdate,
        context: grpc.ServicerContext,
        operation: Callable[[], edge.UpdateOperation],
    ) -> wire.PointsOperationResponse:
        def do() -> wire.PointsOperationResponse:
            if not request.wait:
                raise Refused(grpc.StatusCode.INVALID_ARGUMENT, "a write that is not waited for")
            self._server.shard(request.collection_name).update(operation())
            return wire.PointsOperationResponse(
                result=wire.UpdateResult(status=wire.UpdateStatus.Completed)
            )

        return self._server.answer(call, request, context, do)
