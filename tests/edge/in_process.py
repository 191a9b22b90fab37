"""
A service inside the test process, on free ports of the loopback address.
"""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc
from contextassembler.v1.context_assembler_service_pb2_grpc import ContextAssemblerServiceStub
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from server.bootstrap import Service
from server.lifecycle import serve
from server.settings import Settings


@dataclass
class Running:
    """
    A service in this process, its channel, and how to stop it.
    """

    service: Service
    channel: grpc.aio.Channel
    metrics_port: int
    stop: asyncio.Event
    task: asyncio.Task[None]

    @property
    def stub(self) -> ContextAssemblerServiceStub:
        return ContextAssemblerServiceStub(self.channel)

    async def metrics(self) -> str:
        """
        Return the page that a monitor reads.
        """
        return await asyncio.to_thread(self._metrics)

    def _metrics(self) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics") as reply:
            return str(reply.read().decode())


@asynccontextmanager
async def running_service(
    settings: Settings, credentials: grpc.ChannelCredentials | None = None, **changed: Any
) -> AsyncIterator[Running]:
    """
    Serve with some settings changed until the block is left.
    """
    mine = settings.model_copy(
        update={
            "host": "127.0.0.1",
            "port": 0,
            "health_port": 0,
            "metrics_port": 0,
            "log_level": "ERROR",
            **changed,
        }
    )
    ready: asyncio.Future[tuple[Service, int]] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    task = asyncio.create_task(
        serve(mine, ready=lambda service, port: ready.set_result((service, port)), stop=stop)
    )
    await asyncio.wait((task, ready), return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        task.result()
    service, metrics_port = ready.result()
    async with channel_to(service.port, credentials) as channel:
        yield Running(service, channel, metrics_port, stop, task)
    stop.set()
    await task


def channel_to(port: int, credentials: grpc.ChannelCredentials | None = None) -> grpc.aio.Channel:
    """
    Return a channel of its own to a port of this machine.
    """
    if credentials is None:
        return grpc.aio.insecure_channel(f"127.0.0.1:{port}")
    options = [("grpc.use_local_subchannel_pool", 1)]
    return grpc.aio.secure_channel(f"localhost:{port}", credentials, options=options)


def reason_of(error: grpc.aio.AioRpcError) -> str:
    """
    Return the reason that an error carries, without its prefix.
    """
    status = rpc_status.from_call(error)  # type: ignore[arg-type]
    info = error_details_pb2.ErrorInfo()
    assert status is not None
    assert status.details[0].Unpack(info)
    return str(info.reason).removeprefix("ERROR_REASON_")
