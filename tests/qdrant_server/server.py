"""
A Qdrant server for tests: its own protocol in front of the real engine.

It has the calls and fields that the adapters use, and refuses all others, so that nothing is tested
that a real server would not be asked. `ServerProcess` runs it in a process of its own.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent import futures
from pathlib import Path
from typing import Self, TypeVar

import grpc
import qdrant_edge as edge
from google.protobuf.message import Message
from qdrant_client import grpc as wire

from tests.qdrant_server.collection import Collection
from tests.qdrant_server.fields import Refused, require_implemented
from tests.qdrant_server.points import PointsServicer

Answer = TypeVar("Answer")

# Making an index waits for the disk, 50 ms each; where there is one in memory, that is gone.
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - memory, by the name that Linux gives it


class TestServer:
    """
    A running server; leave its block to stop it and remove its files.

    Attributes:
        refuse: When set, every call is answered with this status.
        fail: Statuses that the next calls of a name are answered with.
        lost: Statuses that the next calls of a name are answered with although they were done.
        delay_seconds: How long every call takes at least.
        emptied: Names of collections whose reads are answered with no points.
        is_terse: Whether searches are answered with no results at all.
        calls: The names of the calls so far.
        requests: What was asked, for each call of `calls`.
    """

    __test__ = False

    def __init__(
        self,
        api_key: str | None = None,
        *,
        folder: Path | None = None,
        port: int = 0,
        credentials: grpc.ServerCredentials | None = None,
        indexing_kilobytes: int | None = None,
        is_recorded: bool = True,
        is_compressed: bool = False,
    ) -> None:
        """
        Open the collections that the folder holds, and a port.

        Args:
            api_key: What every call has to bring.
            folder: Kept when the server stops; None takes one that is removed then.
            port: 0 takes a free one.
            credentials: For TLS.
            indexing_kilobytes: From which size of vectors on the engine links them.
            is_recorded: Whether what is asked is kept; what is written takes much memory.
            is_compressed: Whether answers are sent as gzip to clients that take it, as a Qdrant
                server does; that takes CPU time.
        """
        self._api_key = api_key
        self._is_recorded = is_recorded
        self._compression = grpc.Compression.Gzip if is_compressed else None
        self._is_kept = folder is not None
        self._folder = folder or Path(tempfile.mkdtemp(prefix="qdrant-", dir=MEMORY))
        self._credentials = credentials
        self._indexing_kilobytes = indexing_kilobytes
        self._draw = random.Random(5)
        self._lock = threading.Lock()
        self._collections = {
            path.name: Collection.load(path, self._draw) for path in sorted(self._folder.iterdir())
        }
        self.refuse: grpc.StatusCode | None = None
        self.fail: dict[str, list[grpc.StatusCode]] = {}
        self.lost: dict[str, list[grpc.StatusCode]] = {}
        self.delay_seconds = 0.0
        self.emptied: list[str] = []
        self.is_terse = False
        self.calls: list[str] = []
        self.requests: list[Message] = []
        self.port = port
        self._server = self._listen()

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.delay_seconds = 0.0
        self._server.stop(grace=None).wait()
        for collection in self._collections.values():
            collection.close()
        if not self._is_kept:
            shutil.rmtree(self._folder)

    def drop_connections(self) -> None:
        """
        Cut every connection, with what is under way, and accept new ones.
        """
        self._server.stop(grace=None).wait()
        self._server = self._listen()
        self._server.start()

    def collections(self) -> list[str]:
        """
        Return the names of all collections.
        """
        return sorted(self._collections)

    def collection(self, name: str) -> Collection:
        """
        Return a collection.
        """
        if name not in self._collections:
            raise Refused(
                grpc.StatusCode.NOT_FOUND, f"Not found: Collection `{name}` doesn't exist!"
            )
        return self._collections[name]

    def shard(self, name: str) -> edge.EdgeShard:
        """
        Return the engine's shard of a collection that has one.
        """
        ((replica,),) = self.collection(name).shards
        return replica.engine

    def create(self, request: wire.CreateCollection) -> None:
        """
        Make a collection.
        """
        name = request.collection_name
        if name in self._collections:
            raise Refused(grpc.StatusCode.ALREADY_EXISTS, f"Collection `{name}` already exists!")
        folder = self._folder / name
        folder.mkdir()
        self._collections[name] = Collection(folder, request, self._draw, self._indexing_kilobytes)

    def hide(self, name: str) -> Callable[[], None]:
        """
        Deny that a collection is there, until what is returned is called.
        """
        hidden = self._collections.pop(name)
        return lambda: self._collections.update({name: hidden})

    def lose(self, name: str) -> None:
        """
        Lose a collection, with its files.
        """
        self._collections.pop(name).close()
        shutil.rmtree(self._folder / name)

    def reset(self) -> None:
        """
        Lose everything, and behave.
        """
        for name in self.collections():
            self.lose(name)
        self.refuse, self.fail, self.lost, self.delay_seconds = None, {}, {}, 0.0
        self.emptied, self.is_terse = [], False
        self.forget()

    def forget(self) -> None:
        """
        Forget the calls so far.
        """
        self.calls.clear()
        self.requests.clear()

    def answer(
        self, call: str, request: Message, context: grpc.ServicerContext, do: Callable[[], Answer]
    ) -> Answer:
        """
        Check a call, then do it.
        """
        with self._lock:
            if self._is_recorded:
                self.calls.append(call)
                self.requests.append(request)
            failing = self.fail.get(call)
            failure = failing.pop(0) if failing else self.refuse
        until = time.monotonic() + self.delay_seconds
        while time.monotonic() < until and self.delay_seconds and context.is_active():
            time.sleep(0.01)
        try:
            self._admit(request, context, failure)
            with self._lock:
                done = do()
                self._lose(call)
        except Refused as refused:
            context.abort(refused.code, refused.details)
        except Exception as error:  # noqa: BLE001  the engine raises nothing narrower
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        else:
            return done
        raise AssertionError

    def _lose(self, call: str) -> None:
        losing = self.lost.get(call)
        if losing:
            raise Refused(losing.pop(0), "the answer was lost by the test")

    def _admit(
        self, request: Message, context: grpc.ServicerContext, failure: grpc.StatusCode | None
    ) -> None:
        if failure is not None:
            raise Refused(failure, "refused by the test")
        if self._api_key and ("api-key", self._api_key) not in context.invocation_metadata():
            raise Refused(grpc.StatusCode.UNAUTHENTICATED, "Must provide an API key")
        require_implemented(request)

    def _listen(self) -> grpc.Server:
        workers = futures.ThreadPoolExecutor(max_workers=32)
        server = grpc.server(workers, compression=self._compression)
        wire.add_PointsServicer_to_server(  # type: ignore[no-untyped-call]
            PointsServicer(self), server
        )
        wire.add_CollectionsServicer_to_server(  # type: ignore[no-untyped-call]
            _Collections(self), server
        )
        where = f"127.0.0.1:{self.port}"
        if self._credentials is None:
            self.port = server.add_insecure_port(where)
        else:
            self.port = server.add_secure_port(where, self._credentials)
        return server


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

    def Get(
        self, request: wire.GetCollectionInfoRequest, context: grpc.ServicerContext
    ) -> wire.GetCollectionInfoResponse:
        def do() -> wire.GetCollectionInfoResponse:
            collection = self._server.collection(request.collection_name)
            return wire.GetCollectionInfoResponse(result=collection.described())

        return self._server.answer("Get", request, context, do)

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
            known = request.collection_name in self._server.collections()
            if known:
                self._server.lose(request.collection_name)
            return wire.CollectionOperationResponse(result=known)

        return self._server.answer("Delete", request, context, do)
