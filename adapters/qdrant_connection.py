"""
How a Qdrant server is reached, and what its errors mean here.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from qdrant_client import AsyncQdrantClient, QdrantClient
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse

from adapters.deadline import TimeLeft
from assembler.errors import (
    ContextAssemblerError,
    DeadlineExceeded,
    IndexUnavailable,
    IndexUnusable,
)

_BUSY_SECONDS = 2.0
_MESSAGE_BYTES = 64 * 1024 * 1024
_OPTIONS = {
    "grpc.max_receive_message_length": _MESSAGE_BYTES,
    "grpc.max_send_message_length": _MESSAGE_BYTES,
    "grpc.keepalive_time_ms": 10_000,
    "grpc.keepalive_timeout_ms": 5_000,
    # How long one attempt to connect may take, and how long the next one is put off.
    "grpc.min_reconnect_backoff_ms": 2_000,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 2_000,
    # A client that is made anew has to get a connection of its own, not the old one's.
    "grpc.use_local_subchannel_pool": 1,
}
_REFUSED = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)
_WRONG = (
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.UNIMPLEMENTED,
)

TELLING_SECONDS = 0.05
"""What is kept of a deadline, at most, so that the caller is told before it has passed."""


@dataclass(frozen=True, slots=True)
class Tls:
    """
    How a TLS connection is proved, each in PEM.

    Attributes:
        ca: The authorities that are trusted; None trusts those of the gRPC library.
        certificate: The client's own certificate chain, where the server asks for one.
        key: The private key that belongs to it.
    """

    ca: bytes | None = None
    certificate: bytes | None = None
    key: bytes | None = field(default=None, repr=False)


class TlsFiles:
    """
    The files of a `Tls`, read again for every new connection: certificates are renewed while a
    service runs.
    """

    def __init__(self, ca: Path | None, certificate: Path | None, key: Path | None) -> None:
        """
        Read the files.

        Raises:
            OSError: One cannot be read.
        """
        self._paths = (ca, certificate, key)
        self._last = self._read()

    def contents(self) -> Tls:
        """
        Return what the files hold, or, where one cannot be read now, what they held.
        """
        with suppress(OSError):
            self._last = self._read()
        return self._last

    def _read(self) -> Tls:
        return Tls(*(None if path is None else path.read_bytes() for path in self._paths))


@dataclass(frozen=True, slots=True)
class QdrantServer:
    """
    The address of a Qdrant server or cluster, and how it is spoken to.

    Attributes:
        tls: None speaks in plaintext.
        timeout_seconds: How long one read may take; a request's deadline can make it shorter.
        write_timeout_seconds: How long one write may take, on all replicas.
        retries: How often a read that found nobody is sent again.
    """

    host: str
    grpc_port: int = 6334
    http_port: int = 6333
    api_key: str | None = field(default=None, repr=False)
    tls: Tls | TlsFiles | None = None
    timeout_seconds: float = 5.0
    write_timeout_seconds: float = 60.0
    retries: int = 2

    def reader(self) -> AsyncQdrantClient:
        """
        Return a client for serving. It connects when it is first used.
        """
        with _own_warning():
            return AsyncQdrantClient(**self._arguments())

    def writer(self) -> QdrantClient:
        """
        Return a client for publishing. It connects when it is first used.
        """
        with _own_warning():
            return QdrantClient(**self._arguments())

    def _arguments(self) -> dict[str, Any]:
        # Made for each client, which writes into the options.
        options: dict[str, object] = dict(_OPTIONS)
        tls = self.tls.contents() if isinstance(self.tls, TlsFiles) else self.tls
        if tls is not None:
            options |= {
                "root_certificates": tls.ca,
                "private_key": tls.key,
                "certificate_chain": tls.certificate,
            }
        return {
            "host": self.host,
            "port": self.http_port,
            "grpc_port": self.grpc_port,
            "prefer_grpc": True,
            "https": tls is not None,
            "api_key": self.api_key,
            "grpc_options": options,
            "check_compatibility": False,
        }


@contextmanager
def _own_warning() -> Iterator[None]:
    """
    Leave out the library's warning of a key without TLS: the service says so itself, once.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Api key is used with an insecure connection")
        yield


@contextmanager
def translated(index: str, *, missing: ContextAssemblerError) -> Iterator[None]:
    """
    Raise the errors of the client library as ours.

    Args:
        index: The index that is asked for.
        missing: What a missing collection means.
    """
    try:
        yield
    except grpc.RpcError as error:
        raise _meaning(index, error, missing) from error
    except ResourceExhaustedResponse as error:
        problem = f"Qdrant has too much to do: {error.message}"
        raise IndexUnavailable(problem, retry_seconds=float(error.retry_after_s)) from error
    except QdrantException as error:
        problem = f"Qdrant cannot be asked: {error}"
        raise IndexUnavailable(problem, retry_seconds=_BUSY_SECONDS) from error


def time_for(time_left: TimeLeft, most: float) -> float:
    """
    Return how long a call may take so that time is left to tell the caller how it ended.

    Raises:
        DeadlineExceeded: No time is left.
    """
    left = time_left()
    if left is None:
        return most
    if left <= 0:
        raise DeadlineExceeded("the deadline passed before Qdrant was asked")
    return min(left - min(TELLING_SECONDS, left / 10), most)


def _meaning(
    index: str, error: grpc.RpcError, missing: ContextAssemblerError
) -> ContextAssemblerError:
    code, details = error.code(), error.details()
    if code is grpc.StatusCode.NOT_FOUND:
        return missing
    if code in _REFUSED:
        return IndexUnavailable("Qdrant refuses the API key; check the service's settings")
    if code in _WRONG:
        return IndexUnusable(index, f"Qdrant refuses the call: {details}")
    busy = code is grpc.StatusCode.RESOURCE_EXHAUSTED
    problem = f"Qdrant cannot be asked ({code.name}): {details}"
    return IndexUnavailable(problem, retry_seconds=_BUSY_SECONDS if busy else 1.0)
