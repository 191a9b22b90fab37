"""
Keys, certificates and the requests of their callers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import grpc
import pytest
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb

from server.callers import key_sha256

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


async def refusal(call: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value
