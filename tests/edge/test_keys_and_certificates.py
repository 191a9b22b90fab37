"""
Files of keys and certificates that change while a service runs, and callers named by certificates.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import grpc
import pytest
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from grpc_health.v1 import health_pb2, health_pb2_grpc

from cli.options import client_of
from indexer.request import Summary
from server.bootstrap import READINESS
from server.settings import Settings
from tests.edge.callers import ENTRIES, TLS, bearer, client_credentials, entry, pem, refusal, write
from tests.edge.in_process import channel_to, running_service


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "callers.json"
    write(path, *ENTRIES)
    return path


async def until(is_true: Any) -> None:
    """
    Wait until something holds that does so within seconds.
    """
    for _ in range(600):
        if await is_true():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it did not come true")


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
            return "context_assembler_callers_stale 1.0" in await running.metrics()

        assert not await known("next")
        write(keys, entry("next", "*"))
        await until(lambda: known("next"))
        assert not await known("plain")
        keys.write_text('{"callers": [{"name": "half writ', encoding="utf-8")
        await until(is_stale)
        assert await known("next")
        page = await running.metrics()

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
