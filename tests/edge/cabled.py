"""
A service whose Qdrant server, and the connection to it, can be disturbed.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import grpc
import pytest
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from server.bootstrap import READINESS
from tests.edge.in_process import Running
from tests.qdrant_server.cable import Cable
from tests.qdrant_server.server import TestServer

DOCUMENT = (
    "# Fines\n\nFines are never paid back.\n\n# Trains\n\nTrains are booked in second class.\n"
)
SERVING = health_pb2.HealthCheckResponse.SERVING
LEDGER = "ctx__docs__ledger"
PREFIX = "context_assembler_dependency_"


@dataclass
class Fault:
    """
    How a call failed.
    """

    code: grpc.StatusCode
    reason: str
    has_retry_hint: bool


@dataclass
class Cabled:
    """
    A service, and everything between it and its index.
    """

    running: Running
    health: health_pb2_grpc.HealthStub
    qdrant: TestServer
    cable: Cable
    before: dict[str, float] = field(default_factory=dict)

    async def ask(self, seconds: float = 20.0) -> str:
        """
        Return the context of a question.
        """
        reply = await self.running.stub.AssembleContext(
            service_pb.AssembleContextRequest(
                queries=[service_pb.Query(text="Are fines paid back?")],
                targets=[service_pb.Target(index="docs")],
                budget=pb.Budget(tokenizer="o200k_base", context_tokens=100),
            ),
            timeout=seconds,
        )
        return str(reply.context.context)

    async def fail(self, seconds: float = 20.0) -> Fault:
        """
        Return how a question fails.
        """
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await self.ask(seconds)
        return fault_of(caught.value)

    async def is_ready(self, name: str = READINESS) -> bool:
        reply = await self.health.Check(health_pb2.HealthCheckRequest(service=name))
        return bool(reply.status == SERVING)

    def counts(self) -> dict[str, float]:
        """
        Return what is measured of calls to the Qdrant server.
        """
        return {
            " ".join([sample.name.removeprefix(PREFIX), *sorted(sample.labels.values())]): value
            for metric in self.running.service.metrics.registry.collect()
            for sample in metric.samples
            if sample.name.startswith(PREFIX) and "le" not in sample.labels
            for value in (sample.value,)
        }

    def rise(self, name: str) -> float:
        """
        Return by how much counts have risen in this test, together: those that begin so.
        """
        after = self.counts()
        names = [one for one in after if one.startswith(name)]
        assert names
        return sum(after[one] - self.before[one] for one in names)

    @property
    def is_given_up(self) -> bool:
        """
        Return whether calls to the server are refused.
        """
        return self.counts()["breaker_state open qdrant"] == 1

    @property
    def generation(self) -> str:
        (name,) = (name for name in self.qdrant.collections() if name != LEDGER)
        return name


def fault_of(error: grpc.aio.AioRpcError) -> Fault:
    """
    Return how a call failed.
    """
    status = rpc_status.from_call(error)  # type: ignore[arg-type]
    if status is None:  # the caller's own deadline, on a machine with too much to do
        return Fault(error.code(), "", has_retry_hint=False)
    info, hint = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    assert status.details[0].Unpack(info)
    has_hint = any(detail.Unpack(hint) for detail in status.details)
    has_hint = has_hint and hint.retry_delay.ToMilliseconds() > 0
    reason = str(info.reason).removeprefix("ERROR_REASON_")
    return Fault(error.code(), reason, has_hint)


async def recovered(cabled: Cabled) -> None:
    """
    Ask until the service answers again; it is the same process.
    """
    async with asyncio.timeout(30):
        while True:
            try:
                assert "Fines are never paid back." in await cabled.ask()
            except grpc.aio.AioRpcError:
                await asyncio.sleep(0.05)
            else:
                break
    assert await cabled.is_ready()


async def until_open(cabled: Cabled, seconds: float) -> None:
    """
    Let calls fail until the service gives up its server.
    """
    async with asyncio.timeout(60):
        while not cabled.is_given_up:
            await asyncio.gather(*(cabled.fail(seconds) for _ in range(4)))


async def refusal_of(call: object) -> Fault:
    """
    Return how a call fails.
    """
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call  # type: ignore[misc]
    return fault_of(caught.value)
