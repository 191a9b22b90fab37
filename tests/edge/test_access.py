"""
Who may call, and for which tenants and principals, on a running service.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
import pytest_asyncio
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from grpc_health.v1 import health_pb2, health_pb2_grpc

from indexer.request import Summary
from server.bootstrap import DESCRIPTOR, READINESS
from server.callers import key_sha256
from server.settings import Settings
from tests.edge.callers import BUDGET, ENTRIES, asking, bearer, entry, refusal, scope_of, write
from tests.edge.in_process import Running, channel_to, reason_of, running_service

pytestmark = pytest.mark.asyncio(loop_scope="module")


def every_request(tenant: str) -> dict[str, Any]:
    """
    Return a good request of every call, for a tenant where the call has one.
    """
    return {
        "AssembleContext": asking(scope_of(tenant)),
        "PackPassages": service_pb.PackPassagesRequest(
            passages=[service_pb.GivenPassage(text="One.", source_id="a")], budget=BUDGET
        ),
        "CountTokens": service_pb.CountTokensRequest(tokenizer="o200k_base", texts=["One."]),
        "ListTokenizers": service_pb.ListTokenizersRequest(),
        "ListIndexes": service_pb.ListIndexesRequest(tenant=tenant),
        "GetSourceText": service_pb.GetSourceTextRequest(
            index="handbook", scope=scope_of(tenant), source_id="travel.md"
        ),
    }


WITH_TENANT = ("AssembleContext", "ListIndexes", "GetSourceText")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def running(
    settings: Settings, handbook: Summary, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Running]:
    """
    Serve once for all tests that change nothing.
    """
    path = tmp_path_factory.mktemp("callers") / "callers.json"
    write(path, *ENTRIES, entry("acme only", "acme"))
    async with running_service(settings, api_keys_file=path) as one:
        yield one


def sent(error: grpc.aio.AioRpcError) -> tuple[Any, ...]:
    """
    Return all that a refusal carries but the request id.
    """
    trailers = [one for one in error.trailing_metadata() if one[0] != "x-request-id"]
    return error.code(), error.details(), tuple(trailers), tuple(error.initial_metadata())


async def test_every_call_of_the_contract_is_tested_here() -> None:
    assert set(every_request("")) == {method.name for method in DESCRIPTOR.methods}


@pytest.mark.parametrize("rpc", list(every_request("")))
async def test_every_call_needs_a_known_key(running: Running, rpc: str) -> None:
    call, request = getattr(running.stub, rpc), every_request("")[rpc]

    for metadata in (
        (),
        bearer("bad"),
        bearer(""),
        (("authorization", "plain"),),
        (("authorization", "Basic plain"),),
        (*bearer("plain"), *bearer("everything")),
        bearer(key_sha256("plain")),
    ):
        error = await refusal(call(request, metadata=metadata))
        assert error.code() is grpc.StatusCode.UNAUTHENTICATED, metadata
        assert reason_of(error) == "CREDENTIALS_INVALID"


async def test_the_scheme_is_read_without_regard_to_case(running: Running) -> None:
    request = service_pb.ListTokenizersRequest()

    reply = await running.stub.ListTokenizers(
        request, metadata=(("authorization", "bearer plain"),)
    )

    assert reply.tokenizers


async def test_bytes_of_a_stranger_are_not_even_decoded(running: Running) -> None:
    error = await refusal(running.channel.unary_unary(f"/{READINESS}/AssembleContext")(b"\xff"))

    assert error.code() is grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.parametrize("rpc", WITH_TENANT)
async def test_a_tenant_not_named_is_denied_with_the_same_bytes_existing_or_not(
    running: Running, rpc: str
) -> None:
    answers = []
    for tenant in ("", "made-up"):  # the empty tenant owns the handbook
        call = getattr(running.stub, rpc)(every_request(tenant)[rpc], metadata=bearer("acme only"))
        answers.append(await refusal(call))

    assert answers[0].code() is grpc.StatusCode.PERMISSION_DENIED
    assert reason_of(answers[0]) == "TENANT_DENIED"
    assert sent(answers[0]) == sent(answers[1])


async def test_a_denied_tenant_is_denied_before_anything_else_is_looked_at(
    running: Running,
) -> None:
    request = asking(scope_of(""), scope_of("made-up"))
    request.targets[1].index = "Malformed Name"
    request.budget.tokenizer = "unknown"

    error = await refusal(running.stub.AssembleContext(request, metadata=bearer("plain")))

    assert reason_of(error) == "TENANT_DENIED"


async def test_a_key_reads_the_tenants_that_it_names(running: Running) -> None:
    stub = running.stub

    mine = await stub.AssembleContext(asking(scope_of("")), metadata=bearer("plain"))
    other = await stub.AssembleContext(asking(scope_of("acme")), metadata=bearer("plain"))
    any_one = await stub.AssembleContext(asking(scope_of("made-up")), metadata=bearer("everything"))
    nothing = await refusal(stub.AssembleContext(asking(scope_of("")), metadata=bearer("nothing")))

    # the handbook's sources have readers, and this key speaks for nobody
    assert mine.context.dispositions.candidates == 0
    assert other.context.context == any_one.context.context == ""
    assert reason_of(nothing) == "TENANT_DENIED"


async def test_only_a_key_that_may_speaks_for_principals(running: Running) -> None:
    request = asking(scope_of("", ["staff"]))
    source = service_pb.GetSourceTextRequest(
        index="handbook", scope=scope_of("", []), source_id="travel.md"
    )

    allowed = await running.stub.AssembleContext(request, metadata=bearer("asks for others"))
    denied = await refusal(running.stub.AssembleContext(request, metadata=bearer("plain")))
    denied_source = await refusal(running.stub.GetSourceText(source, metadata=bearer("plain")))

    assert "Fines are never paid" in allowed.context.context
    assert denied.code() is grpc.StatusCode.PERMISSION_DENIED
    assert reason_of(denied) == reason_of(denied_source) == "PRINCIPALS_DENIED"


async def test_indexes_are_listed_for_a_tenant_of_the_key(running: Running) -> None:
    def asked(tenant: str) -> service_pb.ListIndexesRequest:
        return service_pb.ListIndexesRequest(tenant=tenant)

    own = await running.stub.ListIndexes(asked(""), metadata=bearer("plain"))
    empty = await running.stub.ListIndexes(asked("acme"), metadata=bearer("plain"))

    assert [one.name for one in own.indexes] == ["handbook"]
    assert not empty.indexes


async def test_health_needs_no_key(running: Running) -> None:
    async with channel_to(running.service.health_port) as plain:
        for channel in (running.channel, plain):
            probe = health_pb2_grpc.HealthStub(channel)  # type: ignore[no-untyped-call]
            reply = await probe.Check(health_pb2.HealthCheckRequest(service=READINESS))
            assert reply.status == health_pb2.HealthCheckResponse.SERVING


async def test_what_the_deployment_demands_is_not_filled_in(
    settings: Settings, handbook: Summary
) -> None:
    async def field_of(call: Any) -> str:
        error = await refusal(call)
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert reason_of(error) == "FIELD_INVALID"
        return str(error.details()).partition(":")[0]

    demands = {"require_tenant": True, "require_principals": True}
    async with running_service(settings, **demands) as running:
        stub = running.stub
        good = scope_of("acme", ["staff"])
        one = await stub.AssembleContext(asking(good))
        for at, scopes in enumerate(([scope_of("", ["staff"])], [good, scope_of("", ["staff"])])):
            field = await field_of(stub.AssembleContext(asking(*scopes)))
            assert field == f"targets[{at}].scope.tenant"
        for names in (None, []):
            field = await field_of(stub.AssembleContext(asking(good, scope_of("acme", names))))
            assert field == "targets[1].scope.principals"
            request = service_pb.GetSourceTextRequest(
                index="handbook", scope=scope_of("acme", names), source_id="travel.md"
            )
            assert await field_of(stub.GetSourceText(request)) == "scope.principals"
        request.scope.CopyFrom(scope_of("", ["staff"]))
        assert await field_of(stub.GetSourceText(request)) == "scope.tenant"
        assert await field_of(stub.ListIndexes(service_pb.ListIndexesRequest())) == "tenant"
        assert (
            await field_of(stub.ListIndexes(service_pb.ListIndexesRequest(tenant=""))) == "tenant"
        )
        listed = await stub.ListIndexes(service_pb.ListIndexesRequest(tenant="acme"))

    assert one.context.context == ""
    assert not listed.indexes
