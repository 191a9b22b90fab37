"""
Scopes and filters: proto to domain.
"""

from __future__ import annotations

from typing import Literal

from contextassembler.v1 import context_pb2 as pb
from google.protobuf.timestamp_pb2 import Timestamp

from assembler.errors import InvalidRequest
from assembler.filters import AnyInt, AnyString, Condition, Filter, IntRange, IsBool, Test
from assembler.model import FIELDS_PREFIX
from assembler.scope import IndexVersion, Pin, Scope, VersionPolicy
from server import checks
from server.settings import Settings

MOST_NAMES = 1000
MOST_CONDITIONS = 100
_SECONDS = range(-62_135_596_800, 253_402_300_800)
"""From the year 1 to the end of 9999."""

_NANOS = range(1_000_000_000)


def to_scope(scope: pb.Scope, field: str, settings: Settings) -> Scope:
    """
    Return the scope of a target.

    Raises:
        InvalidRequest: A field is malformed, or lacks what this deployment demands.
    """
    if settings.require_tenant and not scope.tenant:
        raise InvalidRequest(f"{field}.tenant", "is required by this deployment")
    if settings.require_principals and not scope.principals.values:
        raise InvalidRequest(f"{field}.principals", "are required by this deployment")
    checks.at_most(scope.principals.values, f"{field}.principals.values", MOST_NAMES)
    checks.at_most(scope.source_ids, f"{field}.source_ids", MOST_NAMES)
    if len(scope.tenant) > checks.MOST_STRING_CHARS:
        checks.name(scope.tenant, f"{field}.tenant")
    policy = checks.choice(
        scope.version_policy,
        pb.VersionPolicy.DESCRIPTOR,
        VersionPolicy,
        f"{field}.version_policy",
        VersionPolicy.ACTIVE,
    )
    return Scope(
        tenant=scope.tenant,
        principals=tuple(scope.principals.values) if scope.HasField("principals") else None,
        filter=_filter(scope.filter, f"{field}.filter"),
        source_ids=tuple(scope.source_ids),
        versions=policy,
        pins=_pins(scope, policy, field),
        at_least=_version(scope, "at_least", field),
        exactly=_version(scope, "exactly", field),
    )


def _pins(scope: pb.Scope, policy: VersionPolicy, field: str) -> tuple[Pin, ...]:
    pinned = f"{field}.pinned_versions"
    checks.at_most(scope.pinned_versions, pinned, MOST_NAMES)
    if policy is VersionPolicy.PINNED and not scope.pinned_versions:
        raise InvalidRequest(pinned, "are required with VERSION_POLICY_PINNED")
    if policy is not VersionPolicy.PINNED and scope.pinned_versions:
        raise InvalidRequest(pinned, "need version_policy VERSION_POLICY_PINNED")
    return tuple(
        Pin(
            checks.name(pin.source_id, f"{pinned}[{number}].source_id"),
            checks.name(pin.version, f"{pinned}[{number}].version"),
        )
        for number, pin in enumerate(scope.pinned_versions)
    )


def _version(scope: pb.Scope, name: str, field: str) -> IndexVersion | None:
    if scope.WhichOneof("index_version") != name:
        return None
    text: str = getattr(scope, name)
    try:
        return IndexVersion.parse(text)
    except ValueError as error:
        raise InvalidRequest(f"{field}.{name}", str(error)) from error


def _filter(message: pb.Filter, field: str) -> Filter:
    total = len(message.all_of) + len(message.any_of) + len(message.none_of)
    if total > MOST_CONDITIONS:
        raise InvalidRequest(field, f"has {total} conditions; at most {MOST_CONDITIONS}")
    parts = {
        group: tuple(
            _condition(one, f"{field}.{group}[{number}]")
            for number, one in enumerate(getattr(message, group))
        )
        for group in ("all_of", "any_of", "none_of")
    }
    return Filter(**parts)


def _condition(message: pb.Condition, field: str) -> Condition:
    checks.name(message.field, f"{field}.field")
    return Condition(FIELDS_PREFIX + message.field, _test(message, field))


def _test(message: pb.Condition, field: str) -> Test:
    kind = message.WhichOneof("test")
    if kind == "any_of_strings":
        values = tuple(message.any_of_strings.values)
        _some(values, f"{field}.any_of_strings.values")
        return AnyString(values)
    if kind == "any_of_ints":
        ints = tuple(message.any_of_ints.values)
        _some(ints, f"{field}.any_of_ints.values")
        return AnyInt(ints)
    if kind == "bool_value":
        return IsBool(message.bool_value)
    if kind == "int_range":
        given = message.int_range
        return _range(
            given.at_least if given.HasField("at_least") else None,
            given.below if given.HasField("below") else None,
            f"{field}.int_range",
            is_time=False,
        )
    if kind == "timestamp_range":
        times = message.timestamp_range
        return _range(
            _microseconds(times, "at_least", field),
            _microseconds(times, "below", field),
            f"{field}.timestamp_range",
            is_time=True,
        )
    raise InvalidRequest(
        field,
        "has no test; give one of any_of_strings, any_of_ints, bool_value, "
        "int_range, timestamp_range",
    )


def _some(values: tuple[object, ...], field: str) -> None:
    if not values:
        raise InvalidRequest(field, "is empty; give at least one value")
    checks.at_most(values, field, MOST_NAMES)


def _range(at_least: int | None, below: int | None, field: str, *, is_time: bool) -> IntRange:
    if at_least is None and below is None:
        raise InvalidRequest(field, "has no bound; give at_least, below or both")
    if at_least is not None and below is not None and at_least >= below:
        unit = ", in microseconds" if is_time else ""
        raise InvalidRequest(field, f"is empty; at_least must be less than below{unit}")
    return IntRange(at_least, below, is_time)


def _microseconds(
    times: pb.TimestampRange, bound: Literal["at_least", "below"], field: str
) -> int | None:
    """
    Return a bound as it is compared: finer digits are cut off, as they are of what is stored.
    """
    if not times.HasField(bound):
        return None
    time: Timestamp = getattr(times, bound)
    if time.seconds not in _SECONDS or time.nanos not in _NANOS:
        raise InvalidRequest(
            f"{field}.timestamp_range.{bound}",
            "is not a time of the years 1 to 9999 with nanos from 0 to 999,999,999",
        )
    return time.seconds * 1_000_000 + time.nanos // 1000
