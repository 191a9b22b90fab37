"""
The table from errors to statuses.
"""

from __future__ import annotations

from contextassembler.v1.error_reason_pb2 import ErrorReason
from google.rpc import code_pb2, error_details_pb2

from assembler import errors
from server.status import BUG, INTERNAL_MESSAGE, TABLE, status_of

BETWEEN = {errors.ContextAssemblerError, errors.NotFound, errors.Unavailable}


def tree(base: type[errors.ContextAssemblerError]) -> set[type[errors.ContextAssemblerError]]:
    return {base}.union(*(tree(one) for one in base.__subclasses__()))


def test_every_error_has_a_row_and_every_reason_an_error() -> None:
    assert tree(errors.ContextAssemblerError) - BETWEEN == set(TABLE)

    used = {row.reason for row in TABLE.values()} | {BUG.reason}
    assert used == set(ErrorReason.values()) - {ErrorReason.ERROR_REASON_UNSPECIFIED}


def test_the_printed_tree_names_every_error() -> None:
    printed = {line.strip(" *x+-·") for line in (errors.__doc__ or "").splitlines()}

    assert {one.__name__ for one in tree(errors.ContextAssemblerError)} <= printed


def test_a_bug_says_nothing_of_itself() -> None:
    status = status_of(KeyError("secret"))

    assert (status.code, status.message) == (code_pb2.INTERNAL, INTERNAL_MESSAGE)
    assert "secret" not in str(status)


def test_an_error_carries_its_numbers() -> None:
    error = errors.WindowLeavesNothing("budget", window=10, reserved=8, frame=5)
    info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    status = status_of(error)

    assert "leaves -3" in status.message
    assert status.details[0].Unpack(info)
    assert info.metadata["frame_tokens"] == "5"
    assert status.details[1].Unpack(bad)
    assert bad.field_violations[0].field == "budget"


def test_what_may_help_later_says_when() -> None:
    retry = error_details_pb2.RetryInfo()
    status = status_of(errors.Overloaded("full", retry_seconds=1.5))

    assert status.details[1].Unpack(retry)
    assert retry.retry_delay.ToMilliseconds() == 1500
    assert errors.IndexUnknown("a", ("b",)).facts == {"index": "a"}
    assert errors.IndexUnusable("a", "damaged").facts == {"index": "a"}
    assert errors.TenantDenied("no").facts == {}
    assert errors.InvalidRequest("a.b", "is wrong").facts == {"field": "a.b"}
    assert errors.SourceUnknown("s").facts == {"source": "s"}
