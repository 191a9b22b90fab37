"""
Around the calls: undecodable bytes, deadlines, health, reflection, metrics, request ids, drain.
"""

from __future__ import annotations

import asyncio
import io
import json
import urllib.request
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb
from contextassembler.v1.context_assembler_service_pb2_grpc import ContextAssemblerServiceStub
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status

from indexer.request import Summary
from server.bootstrap import LIVENESS, READINESS, Service
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


@pytest.fixture
async def running(settings: Settings, handbook: Summary, tmp_path: Path) -> AsyncIterator[Running]:
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"good": ["", "acme"]}), encoding="utf-8")
    mine = settings.model_copy(
        update={
            "host": "127.0.0.1",
            "port": 0,
            "health_port": 0,
            "metrics_port": 0,
            "api_keys_file": keys,
            "max_inflight": 2,
            "max_waiting": 2,
            "log_level": "ERROR",
        }
    )
    ready: asyncio.Future[tuple[Service, int]] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    task = asyncio.create_task(
        serve(mine, ready=lambda service, port: ready.set_result((service, port)), stop=stop)
    )
    service, metrics_port = await ready
    async with grpc.aio.insecure_channel(f"127.0.0.1:{service.port}") as channel:
        yield Running(service, channel, metrics_port, stop, task)
    stop.set()
    await task


KEY = (("authorization", "Bearer good"),)


def asking(tenant: str = "") -> service_pb.AssembleContextRequest:
    scope = pb.Scope(tenant=tenant, principals=pb.Principals(values=["staff"]))
    return service_pb.AssembleContextRequest(
        queries=[service_pb.Query(text="Are fines paid back?")],
        targets=[service_pb.Target(index="handbook", scope=scope)],
        budget=pb.Budget(tokenizer="o200k_base", context_tokens=200),
    )


def reason_of(error: grpc.aio.AioRpcError) -> str:
    status = rpc_status.from_call(error)  # type: ignore[arg-type]
    info = error_details_pb2.ErrorInfo()
    assert status is not None
    assert status.details[0].Unpack(info)
    return str(info.reason).removeprefix("ERROR_REASON_")


async def test_bytes_that_are_no_message_are_an_invalid_argument(running: Running) -> None:
    call = running.channel.unary_unary(f"/{READINESS}/AssembleContext")

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(b"\xff\xff\xff", metadata=KEY)

    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert reason_of(caught.value) == "REQUEST_UNDECODABLE"


async def test_keys_and_tenants_are_checked_before_anything_is_looked_up(running: Running) -> None:
    for metadata in ((), (("authorization", "Bearer bad"),)):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await running.stub.AssembleContext(asking(), metadata=metadata)
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
    texts = set()
    for tenant in ("real-one", "made-up"):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await running.stub.AssembleContext(asking(tenant), metadata=KEY)
        assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED
        texts.add(caught.value.details())
    assert len(texts) == 1
    assert (await running.stub.AssembleContext(asking("acme"), metadata=KEY)).context.context == ""


async def test_a_request_id_is_kept_or_made(running: Running) -> None:
    call = running.stub.AssembleContext(asking(), metadata=(*KEY, ("x-request-id", "abc-1")))
    await call
    trailers = dict(await call.trailing_metadata())  # type: ignore[arg-type]
    other = running.stub.ListTokenizers(service_pb.ListTokenizersRequest(), metadata=KEY)
    await other

    assert trailers["x-request-id"] == "abc-1"
    assert len(dict(await other.trailing_metadata())["x-request-id"]) == 32  # type: ignore[arg-type]


async def test_a_deadline_that_passes_is_said_so(running: Running) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await running.stub.AssembleContext(asking(), metadata=KEY, timeout=0.001)

    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED


async def test_too_many_at_once_are_refused_with_a_hint(running: Running) -> None:
    calls = [running.stub.AssembleContext(asking(), metadata=KEY) for _ in range(12)]
    results = await asyncio.gather(*calls, return_exceptions=True)

    refused = [one for one in results if isinstance(one, grpc.aio.AioRpcError)]
    assert refused
    assert {one.code() for one in refused} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
    assert reason_of(refused[0]) == "OVERLOADED"
    assert len(results) - len(refused) >= 2


async def test_health_is_told_on_both_ports_until_the_service_drains(running: Running) -> None:
    health_port = running.service.health_port
    async with grpc.aio.insecure_channel(f"127.0.0.1:{health_port}") as channel:
        probe = health_pb2_grpc.HealthStub(channel)  # type: ignore[no-untyped-call]
        for name in ("", READINESS, LIVENESS):
            asked = health_pb2.HealthCheckRequest(service=name)
            assert (await probe.Check(asked)).status == health_pb2.HealthCheckResponse.SERVING
    main = health_pb2_grpc.HealthStub(running.channel)  # type: ignore[no-untyped-call]
    asked = health_pb2.HealthCheckRequest(service=READINESS)
    assert (await main.Check(asked)).status == health_pb2.HealthCheckResponse.SERVING


async def test_reflection_lists_the_service(running: Running) -> None:
    stub = reflection_pb2_grpc.ServerReflectionStub(running.channel)  # type: ignore[no-untyped-call]
    asked = reflection_pb2.ServerReflectionRequest(list_services="")

    replies = [one async for one in stub.ServerReflectionInfo(iter([asked]))]

    names = {one.name for one in replies[0].list_services_response.service}
    assert READINESS in names


async def test_metrics_account_for_every_candidate(running: Running) -> None:
    reply = await running.stub.AssembleContext(asking(), metadata=KEY)
    url = f"http://127.0.0.1:{running.metrics_port}/metrics"
    page = await asyncio.to_thread(lambda: urllib.request.urlopen(url).read().decode())
    values = {
        line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
        for line in io.StringIO(page).read().splitlines()
        if not line.startswith("#")
    }

    candidates = values["context_assembler_candidates_total"]
    by_fate = sum(
        value
        for name, value in values.items()
        if name.startswith("context_assembler_dispositions_total")
    )
    assert candidates == by_fate == reply.context.dispositions.candidates
    assert values["context_assembler_budget_exceeded_total"] == 0
    handled = f'grpc_server_handled_total{{grpc_code="OK",grpc_method="AssembleContext",grpc_service="{READINESS}",grpc_type="unary"}}'
    assert values[handled] == 1


async def test_calls_in_flight_are_answered_while_the_service_drains(running: Running) -> None:
    await running.channel.channel_ready()
    call = asyncio.ensure_future(running.stub.AssembleContext(asking(), metadata=KEY))
    await asyncio.sleep(0.005)
    running.stop.set()

    reply = await call

    assert "Fines are never paid" in reply.context.context
    await running.task
