"""
Around the calls: undecodable bytes, deadlines, health, reflection, metrics, request ids, drain.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import grpc
import pytest
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from indexer.request import Summary
from server import interceptors
from server.bootstrap import LIVENESS, READINESS
from server.callers import key_sha256
from server.settings import Settings
from tests.edge.in_process import Running, reason_of, running_service


@pytest.fixture
async def running(settings: Settings, handbook: Summary, tmp_path: Path) -> AsyncIterator[Running]:
    keys = tmp_path / "keys.json"
    entry = {"name": "tests", "key_sha256": key_sha256("good"), "tenants": ["", "acme"]}
    content = {"callers": [{**entry, "may_set_principals": True}]}
    keys.write_text(json.dumps(content), encoding="utf-8")
    async with running_service(settings, api_keys_file=keys, max_inflight=2, max_waiting=2) as one:
        yield one


KEY = (("authorization", "Bearer good"),)


def asking(tenant: str = "") -> service_pb.AssembleContextRequest:
    scope = pb.Scope(tenant=tenant, principals=pb.Principals(values=["staff"]))
    return service_pb.AssembleContextRequest(
        queries=[service_pb.Query(text="Are fines paid back?")],
        targets=[service_pb.Target(index="handbook", scope=scope)],
        budget=pb.Budget(tokenizer="o200k_base", context_tokens=200),
    )


async def test_bytes_that_are_no_message_are_an_invalid_argument(running: Running) -> None:
    call = running.channel.unary_unary(f"/{READINESS}/AssembleContext")

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(b"\xff\xff\xff", metadata=KEY)

    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert reason_of(caught.value) == "REQUEST_UNDECODABLE"


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


async def test_a_longer_deadline_than_a_version_lasts_is_cut(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interceptors, "LONGEST_REQUEST_SECONDS", 0.001)

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await running.stub.AssembleContext(asking(), metadata=KEY, timeout=3600)

    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert "not ready within 0.001 seconds" in str(caught.value.details())


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
    page = await running.metrics()
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
    registry = running.service.metrics.registry
    while not (call.done() or registry.get_sample_value("context_assembler_inflight_requests")):
        await asyncio.sleep(0)
    running.stop.set()

    reply = await call

    assert "Fines are never paid" in reply.context.context
    await running.task


async def test_while_health_checks_hear_of_the_end_a_burst_of_calls_is_answered(
    settings: Settings, handbook: Summary
) -> None:
    assert handbook.is_published
    async with running_service(settings, drain_delay_seconds=4.0) as one:
        assert (await one.stub.AssembleContext(asking())).context.context
        one.stop.set()
        health = health_pb2_grpc.HealthStub(one.channel)
        asked = health_pb2.HealthCheckRequest(service=READINESS)
        while (await health.Check(asked)).status == health_pb2.HealthCheckResponse.SERVING:
            await asyncio.sleep(0.01)

        replies = await asyncio.gather(*(one.stub.AssembleContext(asking()) for _ in range(30)))

        assert all(reply.context.context for reply in replies)
        await one.task


@pytest.fixture
def hang_up_is_heard() -> Iterator[None]:
    """
    Let the signal do what it does where nobody has chosen, also where tests run under nohup.
    """
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hang_up_is_heard")
async def test_a_hang_up_drains_as_a_stop_does(settings: Settings, handbook: Summary) -> None:
    assert handbook.is_published
    async with running_service(settings) as one, asyncio.timeout(60):
        assert signal.getsignal(signal.SIGHUP) is not signal.SIG_DFL  # else it would end the tests
        await one.channel.channel_ready()
        call = asyncio.ensure_future(one.stub.AssembleContext(asking()))
        registry = one.service.metrics.registry
        while not (call.done() or registry.get_sample_value("context_assembler_inflight_requests")):
            await asyncio.sleep(0)
        os.kill(os.getpid(), signal.SIGHUP)

        assert "Fines are never paid" in (await call).context.context
        await one.task


async def test_a_hang_up_is_passed_over_where_it_was_before(settings: Settings) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        async with running_service(settings):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
