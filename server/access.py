"""
Who a call comes from, by its key or its client certificate, from a file that is read again when it
changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from assembler.errors import CredentialsInvalid
from server.callers import (
    ANYONE,
    CERTIFICATE_NAMES,
    Caller,
    CallersInvalid,
    key_sha256,
    parse_callers,
)
from server.metrics import Metrics

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

CallMetadata: TypeAlias = "Iterable[tuple[str, str | bytes]] | None"
PeerFacts: TypeAlias = "Mapping[str, Sequence[bytes]]"
"""What the transport knows of the peer: a `grpc.aio.ServicerContext.auth_context()`."""

CALLER: ContextVar[Caller] = ContextVar("CALLER")
"""Whom the call being answered comes from; unset outside calls, so that reading it fails there."""

LOOK_SECONDS = 1.0
SCHEME = "bearer"
_FACTS = {name: f"peer_{name}" for name in CERTIFICATE_NAMES} | {"subject": "x509_subject"}
_REMEDY = "send a valid key as authorization: Bearer <key>"


class Access:
    """
    Tells whom a call comes from; without a file, from `ANYONE`.
    """

    def __init__(self, path: Path | None, metrics: Metrics, logger: FilteringBoundLogger) -> None:
        """
        Read the file.

        Raises:
            CallersInvalid: It cannot be read, or is not of the form.
        """
        self._path = path
        self._metrics = metrics
        self._logger = logger
        self._problem = ""
        self._served = b"" if path is None else _content(path)
        self._callers = None if path is None else parse_callers(path, self._served)

    def caller_of(self, metadata: CallMetadata, peer: PeerFacts) -> Caller:
        """
        Return whom a call comes from: the owner of its key where it sends one, else of its
        certificate, which the transport has verified.

        Raises:
            CredentialsInvalid: Neither is known.
        """
        if self._callers is None:
            return ANYONE
        given = [value for name, value in metadata or () if name == "authorization"]
        found = None
        if given:
            found = self._callers.by_key.get(key_sha256(_key(given)))
        else:
            named = (
                self._callers.by_certificate.get(f"{kind}:{value.decode('utf-8', 'replace')}")
                for kind, fact in _FACTS.items()
                for value in peer.get(fact, ())
            )
            found = next((caller for caller in named if caller is not None), None)
        if found is None:
            raise CredentialsInvalid(_REMEDY)
        return found

    def refresh(self) -> None:
        """
        Read the file again where it has changed; a broken one is reported, and the old one serves
        on.
        """
        if self._path is None:
            return
        problem = ""
        try:
            content = _content(self._path)
            if content != self._served:
                self._callers = parse_callers(self._path, content)
                self._served = content
                self._metrics.callers_reloads.labels("changed").inc()
                self._logger.info("callers file read again")
        except CallersInvalid as error:
            problem = str(error)
        if problem and problem != self._problem:
            self._metrics.callers_reloads.labels("refused").inc()
            self._logger.error("callers file refused, the earlier one serves on", problem=problem)
        self._problem = problem
        self._metrics.callers_stale.set(bool(problem))

    async def watch(self) -> None:
        """
        Go on looking at the file until cancelled.
        """
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await asyncio.to_thread(self.refresh)


def _key(given: Sequence[str | bytes]) -> str:
    text = given[0] if len(given) == 1 else ""
    scheme, _, key = (text if isinstance(text, str) else "").partition(" ")
    return key.strip() if scheme.lower() == SCHEME else ""


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CallersInvalid(path, f"cannot be read: {error.strerror}") from error
