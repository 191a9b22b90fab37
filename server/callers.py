"""
Who may call: the file of callers, known by the hash of a key or by a client certificate.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from contextassembler.v1 import context_pb2 as pb
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from assembler.errors import PrincipalsDenied, TenantDenied

EVERY_TENANT = "*"
"""In a list of tenants: all of them, those to come included."""

CERTIFICATE_NAMES = ("dns", "uri", "email", "ip", "subject")
"""How an entry names a certificate: by one of its subject alternative names, or by its subject."""

_CERTIFICATE = rf"^({'|'.join(CERTIFICATE_NAMES)}):.+$"
_OLD_FORM = (
    "holds keys in plain text, the form of earlier releases, which is no longer read; give each "
    "key to `context-assembler keys hash --file NEW_FILE` on standard input, or make new ones "
    "with `context-assembler keys new`"
)


@dataclass(frozen=True, slots=True)
class Caller:
    """
    What one caller may ask for.

    Attributes:
        name: For logs; never a metric's label.
        tenants: The tenants that it may read; `EVERY_TENANT` among them means all.
        may_set_principals: Whether it may say on whose behalf it asks.
    """

    name: str
    tenants: frozenset[str]
    may_set_principals: bool

    def check(self, scopes: Iterable[pb.Scope]) -> None:
        """
        Refuse scopes that are not this caller's, whether what they name exists or not.

        Raises:
            TenantDenied: A tenant is not named.
            PrincipalsDenied: Principals are set that this caller may not set.
        """
        for scope in scopes:
            if not (EVERY_TENANT in self.tenants or scope.tenant in self.tenants):
                raise TenantDenied("these credentials do not name this tenant")
            if scope.HasField("principals") and not self.may_set_principals:
                raise PrincipalsDenied("these credentials may not set scope.principals")


ANYONE = Caller("anyone", frozenset({EVERY_TENANT}), may_set_principals=True)
"""Everyone, where no file of callers is given."""


class CallersInvalid(Exception):
    """
    A file of callers is not what it has to be; names file, place and remedy, and never a key.
    """

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")


@dataclass(frozen=True, slots=True)
class Callers:
    """
    The callers of a file, by the hash of their key and by the name of their certificate.
    """

    by_key: Mapping[str, Caller]
    by_certificate: Mapping[str, Caller]


def key_sha256(key: str) -> str:
    """
    Return the hash that stands for a key.
    """
    return hashlib.sha256(key.encode()).hexdigest()


class CallerEntry(BaseModel):
    """
    One entry of the file's list `callers`.
    """

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)

    name: str = Field(min_length=1, max_length=100)
    key_sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    certificate: str | None = Field(default=None, pattern=_CERTIFICATE)
    tenants: list[str]
    may_set_principals: bool = False

    @model_validator(mode="after")
    def _is_known_by_one_thing(self) -> CallerEntry:
        if (self.key_sha256 is None) == (self.certificate is None):
            msg = "needs either key_sha256 or certificate"
            raise ValueError(msg)
        return self

    @property
    def caller(self) -> Caller:
        """
        Return what it allows.
        """
        return Caller(self.name, frozenset(self.tenants), self.may_set_principals)


class CallersFile(BaseModel):
    """
    The whole file.
    """

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)

    callers: list[CallerEntry]


def parse_file(path: Path, content: bytes) -> CallersFile:
    """
    Return the entries that a file's bytes hold.

    Raises:
        CallersInvalid: They are not of the form; nothing of the content is repeated.
    """
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise CallersInvalid(path, "is not JSON") from None
    if not isinstance(found, dict):
        raise CallersInvalid(path, "is not a JSON object; see docs/security.md")
    is_listed = all(isinstance(one, list) for one in found.values())
    if is_listed and found and "callers" not in found:
        raise CallersInvalid(path, _OLD_FORM)
    try:
        return CallersFile.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise CallersInvalid(path, f"{place}: {first['msg']}; see docs/security.md") from None


def parse_callers(path: Path, content: bytes) -> Callers:
    """
    Return the callers that a file's bytes name.

    Raises:
        CallersInvalid: They are not of the form, or two entries have one key or certificate.
    """
    by_key: dict[str, Caller] = {}
    by_certificate: dict[str, Caller] = {}
    for number, entry in enumerate(parse_file(path, content).callers):
        known, mark = by_key, entry.key_sha256
        if mark is None:
            known, mark = by_certificate, entry.certificate or ""
        if mark in known:
            raise CallersInvalid(path, f"callers.{number}: the same is named twice; leave one")
        known[mark] = entry.caller
    return Callers(by_key, by_certificate)
