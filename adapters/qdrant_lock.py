"""
The writer lock of a tenant's part of an index on a Qdrant server.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Callable
from typing import TypeAlias

import grpc
from qdrant_client import grpc as wire
from qdrant_client.common.client_exceptions import QdrantException

from adapters.head import Head
from adapters.ledger import HEAD, plain
from adapters.payload_values import Payload
from adapters.qdrant_ledger import WRITER, WRITER_UNTIL, head_payload, keyword
from adapters.qdrant_ledger_writer import QdrantLedgerWriter
from assembler.errors import IndexUnavailable

WallClock: TypeAlias = Callable[[], float]
"""Returns seconds since the Unix epoch: the leases of several machines' writers are compared."""


_BROKEN = (grpc.RpcError, QdrantException)
_LEAVING_TRIES = 2


class WriterLock:
    """
    A tenant's writer lock: a name and an end on the head itself, so that only the one who holds it
    can move the head, in the same step in which it is checked.
    """

    def __init__(
        self,
        ledger: QdrantLedgerWriter,
        index: str,
        tenant: str,
        wall_clock: WallClock,
        lease_seconds: float,
    ) -> None:
        self._ledger = ledger
        self._index = index
        self._tenant = tenant
        self._wall_clock = wall_clock
        self._lease_seconds = lease_seconds
        self._name = f"{socket.gethostname()} process {os.getpid()} ({uuid.uuid4().hex[:8]})"
        self._until = 0.0

    def take(self) -> None:
        """
        Take the lock where it is free, or where who holds it has died.

        Raises:
            IndexUnavailable: Another writer holds it.
        """
        self._ledger.add_head(self._tenant)
        now = int(self._wall_clock())
        expired = wire.Condition(
            field=wire.FieldCondition(key=WRITER_UNTIL, range=wire.Range(lt=float(now)))
        )
        free = wire.Condition(filter=wire.Filter(should=[keyword(WRITER, ""), expired]))
        try:
            self._change(free, {})
        except _BROKEN:
            self.leave()  # it may have been taken: others would wait for its end
            raise

    def renew(self) -> None:
        """
        Prolong the lease when half of it is gone.
        """
        if self._until - self._wall_clock() < self._lease_seconds / 2:
            self._change(keyword(WRITER, self._name), {})

    def move_head(self, head: Head) -> None:
        """
        Move the head, in the step in which the lock is checked.

        Where the answer is lost, the lock is given back, so that nothing that is still on its way
        can move the head, and the head is read: it has moved, or it has not.

        Raises:
            IndexUnavailable: The lock was lost, or nobody answers any more.
        """
        try:
            found = self._change(keyword(WRITER, self._name), head_payload(head))
        except _BROKEN as error:
            if self._has_moved(head, error):
                return
            raise
        if found.get("body") != plain(HEAD, head):
            raise self._lost(str(found.get(WRITER)))

    def leave(self) -> None:
        """
        Give the lock back; where nobody answers, it ends by itself.
        """
        for _ in range(_LEAVING_TRIES):
            try:
                self._give_back()
            except _BROKEN:
                continue
            return

    def _give_back(self) -> Payload:
        free = {WRITER: "", WRITER_UNTIL: 0}
        return self._ledger.change_head(self._tenant, keyword(WRITER, self._name), free)

    def _has_moved(self, head: Head, error: Exception) -> bool:
        try:
            found = self._give_back()
        except _BROKEN:
            where = f"{head.generation}.{head.revision}"
            raise IndexUnavailable(
                f"Qdrant stopped answering while the head of index {self._index!r} was moved to "
                f"{where}: it may have moved; look with `indexes list`, then run the command again"
            ) from error
        return found.get("body") == plain(HEAD, head)

    def _change(self, condition: wire.Condition, payload: Payload) -> Payload:
        until = int(self._wall_clock() + self._lease_seconds)
        claimed = {**payload, WRITER: self._name, WRITER_UNTIL: until}
        found = self._ledger.change_head(self._tenant, condition, claimed)
        if found.get(WRITER) != self._name:
            raise self._lost(str(found.get(WRITER)))
        self._until = float(until)
        return found

    def _lost(self, holder: str) -> IndexUnavailable:
        return IndexUnavailable(
            f"index {self._index!r} is being written by {holder}; try again when it has ended, or "
            f"{self._lease_seconds:.0f} s after it died"
        )
