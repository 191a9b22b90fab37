"""
From errors to gRPC statuses: the one table.
"""

from __future__ import annotations

from dataclasses import dataclass

from contextassembler.v1.error_reason_pb2 import ErrorReason
from google.protobuf import any_pb2
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2

from assembler import errors

DOMAIN = "contextassembler"
INTERNAL_MESSAGE = "internal error; report it with the request id in the trailers"


@dataclass(frozen=True, slots=True)
class Row:
    """
    The code and the reason that an error is sent with.
    """

    code: int
    reason: ErrorReason.ValueType


TABLE: dict[type[errors.ContextAssemblerError], Row] = {
    errors.InvalidRequest: Row(code_pb2.INVALID_ARGUMENT, ErrorReason.ERROR_REASON_FIELD_INVALID),
    errors.FieldNotSupported: Row(
        code_pb2.INVALID_ARGUMENT, ErrorReason.ERROR_REASON_FIELD_NOT_SUPPORTED
    ),
    errors.QueryTooLong: Row(code_pb2.INVALID_ARGUMENT, ErrorReason.ERROR_REASON_FIELD_INVALID),
    errors.FilterFieldUnknown: Row(
        code_pb2.INVALID_ARGUMENT, ErrorReason.ERROR_REASON_FILTER_FIELD_UNKNOWN
    ),
    errors.WindowLeavesNothing: Row(
        code_pb2.INVALID_ARGUMENT, ErrorReason.ERROR_REASON_WINDOW_LEAVES_NOTHING
    ),
    errors.MustIncludeTooLarge: Row(
        code_pb2.INVALID_ARGUMENT, ErrorReason.ERROR_REASON_MUST_INCLUDE_TOO_LARGE
    ),
    errors.RequestUndecodable: Row(
        code_pb2.INVALID_ARGUMENT, ErrorReason.ERROR_REASON_REQUEST_UNDECODABLE
    ),
    errors.IndexUnknown: Row(code_pb2.NOT_FOUND, ErrorReason.ERROR_REASON_INDEX_UNKNOWN),
    errors.TokenizerUnknown: Row(code_pb2.NOT_FOUND, ErrorReason.ERROR_REASON_TOKENIZER_UNKNOWN),
    errors.ProfileUnknown: Row(code_pb2.NOT_FOUND, ErrorReason.ERROR_REASON_PROFILE_UNKNOWN),
    errors.SourceUnknown: Row(code_pb2.NOT_FOUND, ErrorReason.ERROR_REASON_SOURCE_UNKNOWN),
    errors.VersionUnknown: Row(code_pb2.NOT_FOUND, ErrorReason.ERROR_REASON_VERSION_UNKNOWN),
    errors.VersionGone: Row(code_pb2.NOT_FOUND, ErrorReason.ERROR_REASON_VERSION_GONE),
    errors.IndexUnusable: Row(
        code_pb2.FAILED_PRECONDITION, ErrorReason.ERROR_REASON_INDEX_UNUSABLE
    ),
    errors.CredentialsInvalid: Row(
        code_pb2.UNAUTHENTICATED, ErrorReason.ERROR_REASON_CREDENTIALS_INVALID
    ),
    errors.TenantDenied: Row(code_pb2.PERMISSION_DENIED, ErrorReason.ERROR_REASON_TENANT_DENIED),
    errors.PrincipalsDenied: Row(
        code_pb2.PERMISSION_DENIED, ErrorReason.ERROR_REASON_PRINCIPALS_DENIED
    ),
    errors.IndexUnavailable: Row(code_pb2.UNAVAILABLE, ErrorReason.ERROR_REASON_INDEX_UNAVAILABLE),
    errors.EmbedderUnavailable: Row(
        code_pb2.UNAVAILABLE, ErrorReason.ERROR_REASON_EMBEDDER_UNAVAILABLE
    ),
    errors.RerankerUnavailable: Row(
        code_pb2.UNAVAILABLE, ErrorReason.ERROR_REASON_RERANKER_UNAVAILABLE
    ),
    errors.IndexBehind: Row(code_pb2.UNAVAILABLE, ErrorReason.ERROR_REASON_INDEX_BEHIND),
    errors.Overloaded: Row(code_pb2.RESOURCE_EXHAUSTED, ErrorReason.ERROR_REASON_OVERLOADED),
    errors.DeadlineExceeded: Row(
        code_pb2.DEADLINE_EXCEEDED, ErrorReason.ERROR_REASON_DEADLINE_EXCEEDED
    ),
}
"""Every error that can be raised; the classes between them are never raised themselves."""

BUG = Row(code_pb2.INTERNAL, ErrorReason.ERROR_REASON_INTERNAL)


def status_of(error: BaseException) -> status_pb2.Status:
    """
    Return the status of an error; one that is not in the tree is a bug and says nothing of itself.
    """
    row = TABLE.get(type(error)) if isinstance(error, errors.ContextAssemblerError) else None
    if row is None or not isinstance(error, errors.ContextAssemblerError):
        return _status(BUG, INTERNAL_MESSAGE, [_info(BUG, {})])
    details: list[Message] = [_info(row, error.facts)]
    if isinstance(error, errors.InvalidRequest):
        violation = error_details_pb2.BadRequest.FieldViolation(
            field=error.field, description=error.problem, reason=ErrorReason.Name(row.reason)
        )
        details.append(error_details_pb2.BadRequest(field_violations=[violation]))
    if isinstance(error, errors.Unavailable | errors.Overloaded):
        delay = Duration()
        delay.FromMilliseconds(int(error.retry_seconds * 1000))
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    return _status(row, str(error), details)


def _info(row: Row, facts: dict[str, str]) -> error_details_pb2.ErrorInfo:
    return error_details_pb2.ErrorInfo(
        reason=ErrorReason.Name(row.reason), domain=DOMAIN, metadata=facts
    )


def _status(row: Row, message: str, details: list[Message]) -> status_pb2.Status:
    packed = []
    for detail in details:
        wrapped = any_pb2.Any()
        wrapped.Pack(detail)
        packed.append(wrapped)
    return status_pb2.Status(code=row.code, message=message, details=packed)
