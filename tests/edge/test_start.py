"""
The start of a service: what it listens on, and what keeps it from starting.
"""

from __future__ import annotations

import socket

import grpc
import pytest
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1.context_assembler_service_pb2_grpc import ContextAssemblerServiceStub

from server.setting_rules import SettingUnusable
from server.settings import Settings
from tests.edge.in_process import running_service


@pytest.mark.parametrize("setting", ["port", "health_port", "metrics_port"])
async def test_a_port_in_use_is_told_by_its_setting(settings: Settings, setting: str) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        busy = listening.getsockname()[1]

        with pytest.raises(SettingUnusable) as caught:
            async with running_service(settings, **{setting: busy}):
                pass

    said = f"CONTEXT_ASSEMBLER_{setting.upper()}: 127.0.0.1:{busy} is in use"
    assert str(caught.value).startswith(said)


async def test_two_services_do_not_share_a_health_port(settings: Settings) -> None:
    async with running_service(settings) as first:
        with pytest.raises(SettingUnusable, match=r"_HEALTH_PORT: .* is in use"):
            async with running_service(settings, health_port=first.service.health_port):
                pass


@pytest.mark.parametrize("host", ["::1", "::"])
async def test_a_service_listens_on_ipv6(settings: Settings, host: str) -> None:
    if not _has_ipv6():
        pytest.skip("this machine has no IPv6")
    async with (
        running_service(settings, host=host) as running,
        grpc.aio.insecure_channel(f"[::1]:{running.service.port}") as channel,
    ):
        stub = ContextAssemblerServiceStub(channel)
        reply = await stub.ListTokenizers(service_pb.ListTokenizersRequest())

    assert "o200k_base" in {one.name for one in reply.tokenizers}


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True
