"""
A small typed client: a deadline on every call, retries where they are safe, readable errors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb
from contextassembler.v1.context_assembler_service_pb2_grpc import ContextAssemblerServiceStub

Request = TypeVar("Request")
Reply = TypeVar("Reply")
DEFAULT_TIMEOUT_SECONDS = 10.0
MOST_MESSAGE_BYTES = 16 * 1024 * 1024
SERVICE = "contextassembler.v1.ContextAssemblerService"
_RETRIES = json.dumps(
    {
        "methodConfig": [
            {
                "name": [{"service": SERVICE}],
                "retryPolicy": {
                    "maxAttempts": 3,
                    "initialBackoff": "0.1s",
                    "maxBackoff": "1s",
                    "backoffMultiplier": 2,
                    "retryableStatusCodes": ["UNAVAILABLE"],
                },
            }
        ]
    }
)


@dataclass(eq=False)
class ContextAssemblerCallError(Exception):
    """
    A call that was answered with an error.

    Attributes:
        code: The gRPC status code.
        message: What went wrong and what to do, for developers.
        reason: The name of the `ErrorReason`; "" where the service did not answer.
        facts: The error's numbers and names.
        retry_seconds: When to try again; None where that does not help.
        request_id: What the service logged the call under.
    """

    code: grpc.StatusCode
    message: str
    reason: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    retry_seconds: float | None = None
    request_id: str = ""

    def __str__(self) -> str:
        return f"{self.code.name}: {self.message}"


class ContextAssemblerClient:
    """
    Calls `ContextAssemblerService`; every call is free of side effects, so retries are safe.
    """

    def __init__(
        self,
        target: str,
        *,
        api_key: str | None = None,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        credentials: grpc.ChannelCredentials | None = None,
    ) -> None:
        """
        Open a channel; it connects when it is first used.

        Args:
            target: Such as ``localhost:50051`` or ``dns:///context-assembler-headless:50051``.
            api_key: Sent as ``authorization: Bearer <key>``.
            timeout_seconds: Deadline of each call.
            credentials: For TLS; None speaks plaintext.
        """
        options = [
            ("grpc.service_config", _RETRIES),
            ("grpc.enable_retries", 1),
            ("grpc.max_receive_message_length", MOST_MESSAGE_BYTES),
            ("grpc.max_send_message_length", MOST_MESSAGE_BYTES),
        ]
        self._channel = (
            grpc.insecure_channel(target, options)
            if credentials is None
            else grpc.secure_channel(target, credentials, options)
        )
        self._stub = ContextAssemblerServiceStub(self._channel)
        self._timeout_seconds = timeout_seconds
        self._metadata: tuple[tuple[str, str | bytes], ...] = (
            (("authorization", f"Bearer {api_key}"),) if api_key else ()
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """
        Close the channel.
        """
        self._channel.close()

    def assemble_context(
        self, request: service_pb.AssembleContextRequest, *, timeout_seconds: float | None = None
    ) -> pb.AssembledContext:
        """
        Return the best context for the request.

        Raises:
            ContextAssemblerCallError: The service refused or could not answer.
        """
        return self._ask(self._stub.AssembleContext, request, timeout_seconds).context

    def pack_passages(
        self, request: service_pb.PackPassagesRequest, *, timeout_seconds: float | None = None
    ) -> pb.AssembledContext:
        """
        Return the given passages packed.

        Raises:
            ContextAssemblerCallError: The service refused or could not answer.
        """
        return self._ask(self._stub.PackPassages, request, timeout_seconds).context

    def count_tokens(
        self, request: service_pb.CountTokensRequest
    ) -> service_pb.CountTokensResponse:
        """
        Return exact counts.

        Raises:
            ContextAssemblerCallError: The service refused or could not answer.
        """
        return self._ask(self._stub.CountTokens, request, None)

    def tokenizers(self) -> list[service_pb.Tokenizer]:
        """
        Return the tokenizers that budgets can name.

        Raises:
            ContextAssemblerCallError: The service refused or could not answer.
        """
        request = service_pb.ListTokenizersRequest()
        return list(self._ask(self._stub.ListTokenizers, request).tokenizers)

    def indexes(self, tenant: str = "") -> list[service_pb.Index]:
        """
        Return the indexes that hold something for a tenant.

        Raises:
            ContextAssemblerCallError: The service refused or could not answer.
        """
        request = service_pb.ListIndexesRequest(tenant=tenant)
        return list(self._ask(self._stub.ListIndexes, request).indexes)

    def source_pages(
        self, request: service_pb.GetSourceTextRequest
    ) -> Iterator[service_pb.GetSourceTextResponse]:
        """
        Return the pages of a source text, or of the range that is asked for.

        Raises:
            ContextAssemblerCallError: The service refused or could not answer.
        """
        asked = service_pb.GetSourceTextRequest()
        asked.CopyFrom(request)
        while True:
            page = self._ask(self._stub.GetSourceText, asked)
            yield page
            if not page.next_page_token:
                return
            asked.page_token = page.next_page_token

    def source_text(self, request: service_pb.GetSourceTextRequest) -> str:
        """
        Return a whole source text, or the range that is asked for.

        Raises:
            ContextAssemblerCallError: The service refused or could not answer.
        """
        return "".join(page.text for page in self.source_pages(request))

    def _ask(
        self,
        method: grpc.UnaryUnaryMultiCallable[Request, Reply],
        request: Request,
        timeout_seconds: float | None = None,
    ) -> Reply:
        timeout = self._timeout_seconds if timeout_seconds is None else timeout_seconds
        try:
            return method(request, timeout=timeout, metadata=self._metadata)
        except grpc.RpcError as error:
            raise readable(error) from error


def readable(error: grpc.RpcError) -> ContextAssemblerCallError:
    """
    Return what a failed call says, with its details unpacked.
    """
    call = cast("grpc.Call", error)  # every error of a call is the call itself
    status = rpc_status.from_call(call)
    trailers: Any = call.trailing_metadata() or ()
    request_id = next((str(value) for key, value in trailers if key == "x-request-id"), "")
    if status is None:
        return ContextAssemblerCallError(call.code(), call.details() or "", request_id=request_id)
    reason, retry = "", None
    facts: dict[str, str] = {}
    for detail in status.details:
        info, again = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
        if detail.Unpack(info):
            reason, facts = info.reason, dict(info.metadata)
        elif detail.Unpack(again):
            retry = again.retry_delay.ToNanoseconds() / 1e9
    return ContextAssemblerCallError(error.code(), status.message, reason, facts, retry, request_id)
