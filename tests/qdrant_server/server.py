"""
A Qdrant server in the test process: its own protocol in front of the real engine.

One embedded shard stands for a collection. It has the calls and fields that the adapters use, and
refuses all others, so that nothing is tested that a real server would not be asked.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable
from concurrent import futures
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import grpc
import qdrant_edge as edge
from google.protobuf.message import Message
from qdrant_client import grpc as wire

from tests.qdrant_server.fields import Refused, require_implemented
from tests.qdrant_server.points import PointsServicer

Answer = TypeVar("Answer")

_UNUSED = "unused"


class TestServer:
    """
    A running server; leave its block to stop it and remove its files.

    Attributes:
        refuse: When set, every call is answered with this status: for tests of failures.
        calls: The names of the calls so far.
    """

    __test__ = False

    def __init__(self, api_key: str | None = None) -> None:
        self._api_key = api_key
        self._folder = Path(tempfile.mkdtemp(prefix="qdrant-"))
        self._shards: dict[str, edge.EdgeShard] = {}
        self._lock = threading.Lock()
        self._server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
        self.refuse: grpc.StatusCode | None = None
        self.calls: list[str] = []
        wire.add_PointsServicer_to_server(  # type: ignore[no-untyped-call]
            PointsServicer(self), self._server
        )
        wire.add_CollectionsServicer_to_server(  # type: ignore[no-untyped-call]
            _Collections(self), self._server
        )
        self.port = self._server.add_insecure_port("127.0.0.1:0")

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.stop(grace=None).wait()
        for shard in self._shards.values():
            shard.close()
        shutil.rmtree(self._folder)

    def collections(self) -> list[str]:
        """
        Return the names of all collections.
        """
        return sorted(self._shards)

    def shard(self, name: str) -> edge.EdgeShard:
        """
        Return the engine's shard of a collection.
        """
        if name not in self._shards:
            raise Refused(
                grpc.StatusCode.NOT_FOUND, f"Not found: Collection `{name}` doesn't exist!"
            )
        return self._shards[name]

    def create(self, request: wire.CreateCollection) -> None:
        """
        Make a collection.
        """
        name = request.collection_name
        if name in self._shards:
            raise Refused(grpc.StatusCode.ALREADY_EXISTS, f"Collection `{name}` already exists!")
        path = self._folder / name
        path.mkdir()
        sparse = request.sparse_vectors_config.map
        config = edge.EdgeConfig(
            vectors={
                key: edge.EdgeVectorParams(params.size, edge.Distance.Cosine)
                for key, params in request.vectors_config.params_map.map.items()
            },
            # The engine wants at least one vector name; the server does not.
            sparse_vectors={
                key: edge.EdgeSparseVectorParams(
                    modifier=edge.Modifier.Idf if params.modifier == wire.Idf else None
                )
                for key, params in sparse.items()
            }
            or {_UNUSED: edge.EdgeSparseVectorParams()},
        )
        self._shards[name] = edge.EdgeShard.create(str(path), config)

    def remove(self, name: str) -> bool:
        """
        Remove a collection, and return whether it was there.
        """
        shard = self._shards.pop(name, None)
        if shard is not None:
            shard.close()
            shutil.rmtree(self._folder / name)
        return shard is not None

    def answer(
        self, call: str, request: Message, context: grpc.ServicerContext, do: Callable[[], Answer]
    ) -> Answer:
        """
        Check a call, then do it.
        """
        with self._lock:
            self.calls.append(call)
        try:
            self._admit(request, context)
            return do()
        except Refused as refused:
            context.abort(refused.code, refused.details)
        except Exception as error:  # noqa: BLE001  the engine raises nothing narrower
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        raise AssertionError

    def _admit(self, request: Message, context: grpc.ServicerContext) -> None:
        if self.refuse is not None:
            raise Refused(self.refuse, "refused by the test")
        if self._api_key and ("api-key", self._api_key) not in context.invocation_metadata():
            raise Refused(grpc.StatusCode.UNAUTHENTICATED, "Must provide an API key")
        require_implemented(request)


class _Collections(wire.CollectionsServicer):
    def __init__(self, server: TestServer) -> None:
        self._server = server

    def List(
        self, request: wire.ListCollectionsRequest, context: grpc.ServicerContext
    ) -> wire.ListCollectionsResponse:
        def do() -> wire.ListCollectionsResponse:
            names = self._server.collections()
            return wire.ListCollectionsResponse(
                collections=[wire.CollectionDescription(name=name) for name in names]
            )

        return self._server.answer("List", request, context, do)

    def CollectionExists(
        self, request: wire.CollectionExistsRequest, context: grpc.ServicerContext
    ) -> wire.CollectionExistsResponse:
        def do() -> wire.CollectionExistsResponse:
            exists = request.collection_name in self._server.collections()
            return wire.CollectionExistsResponse(result=wire.CollectionExists(exists=exists))

        return self._server.answer("CollectionExists", request, context, do)

    def Create(
        self, request: wire.CreateCollection, context: grpc.ServicerContext
    ) -> wire.CollectionOperationResponse:
        def do() -> wire.CollectionOperationResponse:
            self._server.create(request)
            return wire.CollectionOperationResponse(result=True)

        return self._server.answer("Create", request, context, do)

    def Delete(
        self, request: wire.DeleteCollection, context: grpc.ServicerContext
    ) -> wire.CollectionOperationResponse:
        def do() -> wire.CollectionOperationResponse:
            is_there = self._server.remove(request.collection_name)
            return wire.CollectionOperationResponse(result=is_there)

        return self._server.answer("Delete", request, context, do)
