"""
Who may call, and for which tenants: keys and client certificates on a running service.
"""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import pytest_asyncio
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb
from grpc_health.v1 import health_pb2, health_pb2_grpc

from cli.options import client_of
from indexer.request import Summary
from server.bootstrap import DESCRIPTOR, READINESS
from server.callers import key_sha256
from server.settings import Settings
from tests.edge.in_process import Running, channel_to, reason_of, running_service

pytestmark = pytest.mark.asyncio(loop_scope="module")
TLS = Path(__file__).parents[1] / "tls"
BUDGET = pb.Budget(tokenizer="o200k_base", context_tokens=200)


def pem(name: str) -> bytes:
    return (TLS / name).read_bytes()


def client_credentials(name: str | None) -> grpc.ChannelCredentials:
    if name is None:
        return grpc.ssl_channel_credentials(pem("ca.pem"))
    return grpc.ssl_channel_credentials(pem("ca.pem"), pem(f"{name}.key"), pem(f"{name}.pem"))


def scope_of(tenant: str, principals: list[str] | None = None) -> pb.Scope:
    who = None if principals is None else pb.Principals(values=principals)
    return pb.Scope(tenant=tenant, principals=who)


def asking(*scopes: pb.Scope) -> service_pb.AssembleContextRequest:
    return service_pb.AssembleContextRequest(
        queries=[service_pb.Query(text="Are fines paid back?")],
        targets=[service_pb.Target(index="handbook", scope=scope) for scope in scopes],
        budget=BUDGET,
    )


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


def entry(key: str, *tenants: str, **more: Any) -> dict[str, Any]:
    return {"name": f"of {key}", "key_sha256": key_sha256(key), "tenants": list(tenants), **more}


def bearer(key: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {key}"),)


def write(path: Path, *entries: dict[str, Any]) -> None:
    path.write_text(json.dumps({"callers": entries}), encoding="utf-8")


ENTRIES = (
    entry("plain", "", "acme"),
    entry("asks for others", "", may_set_principals=True),
    entry("everything", "*"),
    entry("nothing"),
)


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "callers.json"
    write(path, *ENTRIES)
    return path


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


async def refusal(call: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value


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


async def until(is_true: Any) -> None:
    """
    Wait until something holds that does so within seconds.
    """
    for _ in range(600):
        if await is_true():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it did not come true")


async def page_of(running: Running) -> str:
    url = f"http://127.0.0.1:{running.metrics_port}/metrics"
    return await asyncio.to_thread(lambda: urllib.request.urlopen(url).read().decode())


async def test_a_changed_file_is_taken_over_while_serving_and_a_broken_one_is_not(
    settings: Settings, handbook: Summary, keys: Path
) -> None:
    async with running_service(settings, api_keys_file=keys) as running:

        async def known(key: str) -> bool:
            call = running.stub.ListTokenizers(
                service_pb.ListTokenizersRequest(), metadata=bearer(key)
            )
            return await call.code() is grpc.StatusCode.OK

        async def is_stale() -> bool:
            return "context_assembler_callers_stale 1.0" in await page_of(running)

        assert not await known("next")
        write(keys, entry("next", "*"))
        await until(lambda: known("next"))
        assert not await known("plain")
        keys.write_text('{"callers": [{"name": "half writ', encoding="utf-8")
        await until(is_stale)
        assert await known("next")
        page = await page_of(running)

    assert 'context_assembler_callers_reloads_total{outcome="changed"} 1.0' in page
    assert 'context_assembler_callers_reloads_total{outcome="refused"} 1.0' in page


async def test_a_client_certificate_names_its_caller(
    settings: Settings, handbook: Summary, keys: Path
) -> None:
    known = {"name": "chat", "certificate": "dns:chat.test", "tenants": [""]}
    write(keys, known, entry("a key", "acme"))
    files = {
        "api_keys_file": keys,
        "tls_certificate_file": TLS / "server.pem",
        "tls_key_file": TLS / "server.key",
        "tls_client_ca_file": TLS / "ca.pem",
    }
    async with running_service(settings, client_credentials("chat"), **files) as running:
        stub = running.stub
        reply = await stub.ListIndexes(service_pb.ListIndexesRequest())
        denied = await refusal(stub.ListIndexes(service_pb.ListIndexesRequest(tenant="acme")))
        # a key that is sent decides alone, whatever the certificate may
        by_key = await stub.ListIndexes(
            service_pb.ListIndexesRequest(tenant="acme"), metadata=bearer("a key")
        )
        bad_key = await refusal(
            stub.ListIndexes(service_pb.ListIndexesRequest(), metadata=bearer("bad"))
        )
        async with channel_to(running.service.port, client_credentials("nobody")) as channel:
            unknown = await refusal(
                channel.unary_unary(f"/{READINESS}/ListTokenizers")(b"", wait_for_ready=True)
            )
        for stranger in ("stranger", None):
            async with channel_to(running.service.port, client_credentials(stranger)) as channel:
                unsigned = await refusal(channel.unary_unary(f"/{READINESS}/ListTokenizers")(b""))
                assert unsigned.code() is grpc.StatusCode.UNAVAILABLE
        files_of_chat = (TLS / "ca.pem", TLS / "chat.pem", TLS / "chat.key")
        with client_of(f"localhost:{running.service.port}", None, *files_of_chat) as client:
            named = await asyncio.to_thread(client.tokenizers)
        async with channel_to(running.service.health_port) as plain:
            probe = health_pb2_grpc.HealthStub(plain)  # type: ignore[no-untyped-call]
            health = await probe.Check(health_pb2.HealthCheckRequest(service=READINESS))

    assert [one.name for one in reply.indexes] == ["handbook"]
    assert denied.code() is grpc.StatusCode.PERMISSION_DENIED
    assert not by_key.indexes
    assert "o200k_base" in {one.name for one in named}
    assert bad_key.code() is unknown.code() is grpc.StatusCode.UNAUTHENTICATED
    assert health.status == health_pb2.HealthCheckResponse.SERVING


async def test_a_renewed_certificate_is_shown_without_a_restart(
    settings: Settings, handbook: Summary, keys: Path, tmp_path: Path
) -> None:
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"

    def install(name: str) -> None:
        certificate.write_bytes(pem(f"{name}.pem"))
        key.write_bytes(pem(f"{name}.key"))

    async def answers(trusted: str) -> bool:
        """
        Ask, trusting exactly one certificate of the server.
        """
        credentials = grpc.ssl_channel_credentials(pem(trusted))
        async with channel_to(running.service.port, credentials) as channel:
            call = channel.unary_unary(f"/{READINESS}/ListTokenizers")
            error = await refusal(call(b""))
            return error.code() is grpc.StatusCode.UNAUTHENTICATED

    install("server")
    files = {"tls_certificate_file": certificate, "tls_key_file": key}
    async with running_service(
        settings, client_credentials(None), api_keys_file=keys, **files
    ) as running:
        assert await answers("server.pem")
        assert not await answers("server-next.pem")
        key.write_bytes(pem("nobody.key"))
        assert await answers("server.pem")
        install("server-next")
        assert await answers("server-next.pem")
        assert not await answers("server.pem")


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
