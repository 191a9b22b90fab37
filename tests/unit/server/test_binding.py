"""
Ports that cannot be had, by the name of their setting and with what to do.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator

import grpc
import pytest

from server.binding import address_of, bound, require_free, unusable
from server.setting_rules import SettingUnusable


@pytest.fixture
def busy() -> Iterator[int]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


def test_an_ipv6_address_stands_in_brackets() -> None:
    assert address_of("127.0.0.1", 1) == "127.0.0.1:1"
    assert address_of("localhost", 1) == "localhost:1"
    assert address_of("::", 1) == "[::]:1"


def test_a_port_in_use_is_told_by_its_setting(busy: int) -> None:
    with pytest.raises(SettingUnusable) as caught:
        require_free("127.0.0.1", busy, "health_port")

    assert str(caught.value) == (
        f"CONTEXT_ASSEMBLER_HEALTH_PORT: 127.0.0.1:{busy} is in use; "
        "stop what listens there, or name another port, or 0 for a free one"
    )


@pytest.mark.parametrize("host", ["no.such.host.invalid", "127.0.0.1:80", "x" * 64])
def test_a_host_that_nobody_knows_is_told(host: str) -> None:
    with pytest.raises(SettingUnusable, match=f"CONTEXT_ASSEMBLER_HOST: '{host}' is no name or"):
        require_free(host, 0, "port")


def test_an_address_of_another_machine_is_told() -> None:
    with pytest.raises(SettingUnusable, match=r"HOST: 203\.0\.113\.7 is no address of this"):
        require_free("203.0.113.7", 0, "port")


def test_a_privileged_port_is_told() -> None:
    fault = unusable(PermissionError(errno.EACCES, "Permission denied"), "::1", 80, "port")

    assert str(fault).startswith("CONTEXT_ASSEMBLER_PORT: [::1]:80 is for privileged processes;")


def test_a_port_that_was_taken_meanwhile_is_told_by_its_setting() -> None:
    def taken(address: str) -> int:
        raise RuntimeError(f"Failed to bind to address {address}")

    with pytest.raises(SettingUnusable, match=r"_PORT: 127\.0\.0\.1:0 cannot be bound: Failed"):
        bound(taken, "127.0.0.1", 0, "port")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0"])  # noqa: S104 - on purpose
async def test_a_free_port_is_bound(host: str) -> None:
    server = grpc.aio.server()

    assert bound(server.add_insecure_port, host, 0, "port") > 0
    await server.stop(None)
