"""
The addresses that the service listens on, and why one cannot be had.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable

from server.setting_rules import SettingUnusable

_FREE = "another port, or 0 for a free one"


def address_of(host: str, port: int) -> str:
    """
    Return `host:port`, with the brackets that an IPv6 address needs.
    """
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def bound(add_port: Callable[[str], int], host: str, port: int, setting: str) -> int:
    """
    Bind a gRPC server to a port and return its number.

    Args:
        add_port: The server's method that binds an address.
        host: A name or address of this machine.
        port: 0 takes a free one.
        setting: Which setting the port is from.

    Raises:
        SettingUnusable: It cannot be bound; names the setting and what to do.
    """
    require_free(host, port, setting)
    try:
        return add_port(address_of(host, port))
    except RuntimeError as error:
        problem = f"{address_of(host, port)} cannot be bound: {error}; name {_FREE}"
        raise SettingUnusable(setting, problem) from error


def require_free(host: str, port: int, setting: str) -> None:
    """
    Check that a port can be listened on: gRPC says neither why it cannot, nor where.

    Raises:
        SettingUnusable: It cannot; names the setting and what to do.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        problem = f"{host!r} is no name or address that this machine knows ({error})"
        raise SettingUnusable("host", problem) from error
    faults = [fault for one in found if (fault := _fault(one[0], one[4])) is not None]
    taken = [fault for fault in faults if fault.errno == errno.EADDRINUSE]
    if taken or len(faults) == len(found):
        fault = (taken or faults)[0]
        raise unusable(fault, host, port, setting) from fault


def _fault(family: int, address: object) -> OSError | None:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)  # type: ignore[arg-type] # as getaddrinfo gives it
    except OSError as error:
        return error
    return None


def unusable(error: OSError, host: str, port: int, setting: str) -> SettingUnusable:
    """
    Return what the failure to bind an address means, and for which setting.
    """
    if error.errno == errno.EADDRINUSE:
        problem = f"{address_of(host, port)} is in use; stop what listens there, or name {_FREE}"
        return SettingUnusable(setting, problem)
    if error.errno in (errno.EACCES, errno.EPERM):
        problem = f"{address_of(host, port)} is for privileged processes; name {_FREE}"
        return SettingUnusable(setting, problem)
    problem = f"{host} is no address of this machine ({error.strerror}); 0.0.0.0 stands for all"
    return SettingUnusable("host", problem)
