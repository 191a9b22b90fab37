"""
Faults between a running service and its Qdrant server: the right status, inside the deadline, and
recovery without a restart.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

import grpc
import pytest
import pytest_asyncio
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb
from contextassembler.v1.context_assembler_service_pb2_grpc import ContextAssemblerServiceStub
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status
from rich.console import Console

from cli.index import index_paths
from indexer.request import IndexRequest
from server.bootstrap import LIVENESS, READINESS, Service
from server.lifecycle import serve
from server.settings import Settings
from tests.qdrant_server.cable import Cable
from tests.qdrant_server.server import TestServer

DOCUMENT = (
    "# Fines\n\nFines are never paid back.\n\n# Trains\n\nTrains are booked in second class.\n"
)
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
LEDGER = "ctx__docs__ledger"
SHORT = 0.5
PREFIX = "context_assembler_dependency_"

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass
class Fault:
    """
    How a call failed, and how long that took.
    """

    code: grpc.StatusCode
    reason: str
    has_retry_hint: bool
    seconds: float


@dataclass
class Running:
    """
    A service, and everything between it and its index.
    """

    service: Service
    stub: ContextAssemblerServiceStub
    health: health_pb2_grpc.HealthStub
    qdrant: TestServer
    cable: Cable
    before: dict[str, float] = field(default_factory=dict)

    async def ask(self, seconds: float = 20.0) -> str:
        """
        Return the context of a question.
        """
        reply = await self.stub.AssembleContext(
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
        began = time.monotonic()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await self.ask(seconds)
        return fault_of(caught.value, time.monotonic() - began)

    async def is_ready(self, name: str = READINESS) -> bool:
        reply = await self.health.Check(health_pb2.HealthCheckRequest(service=name))
        return bool(reply.status == SERVING)

    def counts(self) -> dict[str, float]:
        """
        Return what is measured of calls to the Qdrant server.
        """
        return {
            " ".join([sample.name.removeprefix(PREFIX), *sorted(sample.labels.values())]): value
            for metric in self.service.metrics.registry.collect()
            for sample in metric.samples
            if sample.name.startswith(PREFIX) and "le" not in sample.labels
            for value in (sample.value,)
        }

    def rise(self, name: str) -> float:
        """
        Return by how much a count has risen in this test.
        """
        return self.counts()[name] - self.before[name]

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


def fault_of(error: grpc.aio.AioRpcError, seconds: float) -> Fault:
    status = rpc_status.from_call(error)  # type: ignore[arg-type]
    if status is None:  # the caller's own deadline, on a machine with too much to do
        return Fault(error.code(), "", has_retry_hint=False, seconds=seconds)
    info, hint = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    assert status.details[0].Unpack(info)
    has_hint = any(detail.Unpack(hint) for detail in status.details)
    has_hint = has_hint and hint.retry_delay.ToMilliseconds() > 0
    reason = str(info.reason).removeprefix("ERROR_REASON_")
    return Fault(error.code(), reason, has_hint, seconds)


@pytest.fixture(scope="module")
def stored(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestServer]:
    folder = tmp_path_factory.mktemp("documents")
    (folder / "rules.md").write_text(DOCUMENT, encoding="utf-8")
    with TestServer() as server:
        to = settings.model_copy(update={"qdrant_url": f"http://127.0.0.1:{server.port}"})
        index_paths(IndexRequest(index="docs", paths=(folder,)), to, Console(quiet=True))
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(settings: Settings, stored: TestServer) -> AsyncIterator[Running]:
    """
    Return the one service of all tests: it is never started again.
    """
    with Cable(stored.port) as cable:
        mine = settings.model_copy(
            update={
                "qdrant_url": f"http://127.0.0.1:{cable.port}",
                "qdrant_timeout_seconds": 2.0,
                "host": "127.0.0.1",
                "port": 0,
                "health_port": 0,
                "metrics_port": 0,
                "log_level": "ERROR",
            }
        )
        ready: asyncio.Future[Service] = asyncio.get_running_loop().create_future()
        stop = asyncio.Event()
        task = asyncio.create_task(
            serve(mine, ready=lambda service, _: ready.set_result(service), stop=stop)
        )
        service = await ready
        async with (
            grpc.aio.insecure_channel(f"127.0.0.1:{service.port}") as channel,
            grpc.aio.insecure_channel(f"127.0.0.1:{service.health_port}") as probes,
        ):
            stub, health = ContextAssemblerServiceStub(channel), health_pb2_grpc.HealthStub(probes)
            yield Running(service, stub, health, stored, cable)
        stop.set()
        await task


@pytest_asyncio.fixture(loop_scope="module")
async def running(served: Running) -> AsyncIterator[Running]:
    assert "Fines are never paid back." in await served.ask()
    served.before = served.counts()
    yield served
    qdrant = served.qdrant
    qdrant.delay_seconds, qdrant.refuse, qdrant.is_terse = 0.0, None, False
    qdrant.emptied.clear()
    qdrant.fail.clear()
    served.cable.is_dead = False
    await recovered(served)


async def recovered(running: Running) -> None:
    """
    Ask until the service answers again; it is the same process.
    """
    async with asyncio.timeout(30):
        while True:
            try:
                assert "Fines are never paid back." in await running.ask()
            except grpc.aio.AioRpcError:
                await asyncio.sleep(0.05)
            else:
                break
    assert await running.is_ready()


async def test_slow_is_told_inside_the_callers_deadline(running: Running) -> None:
    running.qdrant.delay_seconds = 60.0

    faults = [await running.fail(SHORT) for _ in range(3)]

    assert {fault.code.name for fault in faults} == {"DEADLINE_EXCEEDED"}
    told = [fault for fault in faults if fault.reason == "DEADLINE_EXCEEDED"]
    assert told
    assert all(fault.seconds < SHORT for fault in told)
    assert running.rise("requests_total DEADLINE_EXCEEDED qdrant query_batch") >= 1
    running.qdrant.delay_seconds = 0.0
    await recovered(running)


async def test_slower_than_the_service_waits_is_unavailable(running: Running) -> None:
    running.qdrant.delay_seconds = 60.0

    fault = await running.fail(20.0)

    assert (fault.code.name, fault.reason) == ("UNAVAILABLE", "INDEX_UNAVAILABLE")
    assert fault.has_retry_hint
    assert running.rise("retries_total qdrant") == 0
    running.qdrant.delay_seconds = 0.0
    await recovered(running)


async def test_slow_for_long_is_refused_at_once_while_it_lasts(running: Running) -> None:
    running.qdrant.delay_seconds = 60.0

    await until_open(running, SHORT)
    fault = await running.fail(60.0)

    assert (fault.code.name, fault.reason) == ("UNAVAILABLE", "INDEX_UNAVAILABLE")
    assert fault.has_retry_hint
    assert running.rise("refused_total qdrant") > 0
    running.qdrant.delay_seconds = 0.0
    await recovered(running)
    assert running.counts()["breaker_state closed qdrant"] == 1


async def test_cut_is_not_noticed(running: Running) -> None:
    running.qdrant.delay_seconds = 0.3
    asked = asyncio.create_task(running.ask())
    await asyncio.sleep(0.15)

    running.cable.cut()
    running.qdrant.delay_seconds = 0.0

    assert "Fines are never paid back." in await asked
    assert running.rise("retries_total qdrant") >= 1
    assert not running.is_given_up


async def test_cut_by_the_server_is_not_noticed(running: Running) -> None:
    running.qdrant.fail["QueryBatch"] = [grpc.StatusCode.UNAVAILABLE]

    assert "Fines are never paid back." in await running.ask()

    assert running.rise("retries_total qdrant") == 1


async def test_half_open_is_given_up_and_left_behind(running: Running) -> None:
    running.cable.is_dead = True

    first = await running.fail(SHORT)
    await until_open(running, SHORT)
    later = await running.fail(60.0)

    assert first.code.name == "DEADLINE_EXCEEDED"
    assert (later.code.name, later.has_retry_hint) == ("UNAVAILABLE", True)
    assert not await running.is_ready()
    assert not await running.is_ready("")
    assert await running.is_ready(LIVENESS)
    # connections that have lost bytes stay dead: only new ones work
    running.cable.is_dead = False
    await recovered(running)
    assert running.rise("requests_total OK probe qdrant") >= 1


async def test_refused_is_unavailable_and_used_again(running: Running) -> None:
    running.cable.unplug()

    first = await running.fail()
    await until_open(running, 20.0)
    later = await running.fail()

    assert (first.code.name, first.has_retry_hint) == ("UNAVAILABLE", True)
    assert (later.code.name, later.has_retry_hint) == ("UNAVAILABLE", True)
    assert not await running.is_ready()
    listed = await refusal_of(running.stub.ListIndexes(service_pb.ListIndexesRequest()))
    assert (listed.code.name, listed.has_retry_hint) == ("UNAVAILABLE", True)
    counted = service_pb.CountTokensRequest(tokenizer="o200k_base", texts=["still here"])
    assert (await running.stub.CountTokens(counted)).text_tokens == [2]
    running.cable.plug()
    await recovered(running)


async def test_a_wrong_key_is_unavailable(running: Running) -> None:
    running.qdrant.refuse = grpc.StatusCode.UNAUTHENTICATED

    fault = await running.fail()

    assert (fault.code.name, fault.reason) == ("UNAVAILABLE", "INDEX_UNAVAILABLE")
    running.qdrant.refuse = None
    await recovered(running)


async def test_a_lost_collection_is_a_failed_precondition(running: Running) -> None:
    show = running.qdrant.hide(running.generation)

    fault = await running.fail()

    assert (fault.code.name, fault.reason) == ("FAILED_PRECONDITION", "INDEX_UNUSABLE")
    show()
    await recovered(running)


async def test_a_lost_ledger_is_an_unknown_index(running: Running) -> None:
    show = running.qdrant.hide(LEDGER)
    await asyncio.sleep(1.1)  # until the head that is known has to be read again

    fault = await running.fail()

    assert (fault.code.name, fault.reason) == ("NOT_FOUND", "INDEX_UNKNOWN")
    show()
    await recovered(running)


async def test_an_answer_without_results_is_unavailable(running: Running) -> None:
    running.qdrant.is_terse = True

    fault = await running.fail()

    assert (fault.code.name, fault.reason) == ("UNAVAILABLE", "INDEX_UNAVAILABLE")
    running.qdrant.is_terse = False
    await recovered(running)


@pytest.mark.parametrize("place", ["points", "ledger"])
async def test_an_empty_collection_is_not_taken_for_nothing_found(
    running: Running, place: str
) -> None:
    running.qdrant.emptied.append(running.generation if place == "points" else LEDGER)
    await asyncio.sleep(1.1)  # until the head that is known has to be read again

    fault = await running.fail()

    assert (fault.code.name, fault.reason) == ("UNAVAILABLE", "INDEX_UNAVAILABLE")
    assert fault.has_retry_hint
    running.qdrant.emptied.clear()
    await recovered(running)


async def test_what_a_filter_leaves_empty_is_no_fault(running: Running) -> None:
    reply = await running.stub.AssembleContext(
        service_pb.AssembleContextRequest(
            queries=[service_pb.Query(text="Are fines paid back?")],
            targets=[service_pb.Target(index="docs", scope=pb.Scope(source_ids=["another.md"]))],
            budget=pb.Budget(tokenizer="o200k_base", context_tokens=100),
        )
    )

    assert reply.context.context == ""
    assert reply.context.dispositions.candidates == 0


async def until_open(running: Running, seconds: float) -> None:
    """
    Let calls fail until the service gives up its server.
    """
    async with asyncio.timeout(60):
        while not running.is_given_up:
            await asyncio.gather(*(running.fail(seconds) for _ in range(4)))


async def refusal_of(call: object) -> Fault:
    """
    Return how a call fails.
    """
    began = time.monotonic()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call  # type: ignore[misc]
    return fault_of(caught.value, time.monotonic() - began)
