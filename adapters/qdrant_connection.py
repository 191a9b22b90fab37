"""
How a Qdrant server is reached, and what its errors mean here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import grpc
from qdrant_client import AsyncQdrantClient, QdrantClient
from qdrant_client.common.client_exceptions import QdrantException

from assembler.errors import (
    ContextAssemblerError,
    DeadlineExceeded,
    IndexUnavailable,
    IndexUnusable,
)

TimeLeft: TypeAlias = Callable[[], float | None]
"""Returns the seconds until the caller's deadline, or None where there is none."""

_MESSAGE_BYTES = 64 * 1024 * 1024
# Copied for each client, which writes into what it is given.
_OPTIONS = {
    "grpc.max_receive_message_length": _MESSAGE_BYTES,
    "grpc.max_send_message_length": _MESSAGE_BYTES,
    "grpc.keepalive_time_ms": 30_000,
    "grpc.keepalive_timeout_ms": 10_000,
    "grpc.max_reconnect_backoff_ms": 2_000,
}
_REFUSED = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)
_WRONG = (
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.UNIMPLEMENTED,
)


def no_deadline() -> None:
    """
    Return that there is no deadline.
    """
    return


@dataclass(frozen=True, slots=True)
class QdrantServer:
    """
    The address of a Qdrant server or cluster, and how it is spoken to.

    Attributes:
        timeout_seconds: How long one read may take; a request's deadline can make it shorter.
        write_timeout_seconds: How long one write may take, on all replicas.
    """

    host: str
    grpc_port: int = 6334
    http_port: int = 6333
    api_key: str | None = field(default=None, repr=False)
    is_tls: bool = False
    timeout_seconds: float = 5.0
    write_timeout_seconds: float = 60.0

    def reader(self) -> AsyncQdrantClient:
        """
        Return a client for serving. It connects when it is first used.
        """
        return AsyncQdrantClient(
            host=self.host,
            port=self.http_port,
            grpc_port=self.grpc_port,
            prefer_grpc=True,
            https=self.is_tls,
            api_key=self.api_key,
            grpc_options=dict(_OPTIONS),
            check_compatibility=False,
        )

    def writer(self) -> QdrantClient:
        """
        Return a client for publishing. It connects when it is first used.
        """
        return QdrantClient(
            host=self.host,
            port=self.http_port,
            grpc_port=self.grpc_port,
            prefer_grpc=True,
            https=self.is_tls,
            api_key=self.api_key,
            grpc_options=dict(_OPTIONS),
            check_compatibility=False,
        )


@contextmanager
def translated(
    index: str, *, missing: ContextAssemblerError, time_left: TimeLeft = no_deadline
) -> Iterator[None]:
    """
    Raise the errors of the client library as ours.

    Args:
        index: The index that is asked for.
        missing: What a missing collection means.
        time_left: Until the caller's deadline.
    """
    try:
        yield
    except grpc.RpcError as error:
        raise _meaning(index, error, missing, time_left) from error
    except QdrantException as error:
        problem = f"Qdrant has too much to do: {error}"
        raise IndexUnavailable(problem, retry_seconds=2.0) from error


def _meaning(
    index: str, error: grpc.RpcError, missing: ContextAssemblerError, time_left: TimeLeft
) -> ContextAssemblerError:
    code, details = error.code(), error.details()
    if code is grpc.StatusCode.NOT_FOUND:
        return missing
    if code in _REFUSED:
        return IndexUnavailable("Qdrant refuses the API key; check the service's settings")
    if code in _WRONG:
        return IndexUnusable(index, f"Qdrant refuses the call: {details}")
    left = time_left()
    if code is grpc.StatusCode.DEADLINE_EXCEEDED and left is not None and left <= 0:
        return DeadlineExceeded("the deadline passed while Qdrant was asked")
    return IndexUnavailable(f"Qdrant cannot be asked ({code.name}): {details}")
