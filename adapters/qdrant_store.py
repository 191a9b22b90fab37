"""
Where indexes on a Qdrant server are written.
"""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeAlias

from qdrant_client import QdrantClient
from qdrant_client import grpc as wire

from adapters.index_names import require_index_name
from adapters.ledger import HEAD, Head, plain
from adapters.payload_values import Payload
from adapters.points import PointWriter
from adapters.publication import PointPublication
from adapters.qdrant_collections import CollectionSettings, QdrantCollections
from adapters.qdrant_connection import QdrantServer, translated
from adapters.qdrant_ledger import (
    WRITER,
    WRITER_UNTIL,
    LedgerView,
    head_payload,
    index_of_ledger,
    keyword,
)
from adapters.qdrant_ledger_writer import QdrantLedgerWriter
from adapters.qdrant_points import QdrantPoints, collection_of
from adapters.store import IndexListing, LedgerRow, Manifest, Publication, RevisionSummary
from assembler.errors import IndexUnavailable, IndexUnusable

WallClock: TypeAlias = Callable[[], float]
"""Returns seconds since the Unix epoch: the leases of several machines' writers are compared."""

LEASE_SECONDS = 300.0
"""How long a writer that died keeps others out. A living one renews its lease as it writes."""

DEFAULT_SETTINGS = CollectionSettings()


class QdrantStore:
    """
    The `IndexStore` of a Qdrant server or cluster.

    Nothing of a publication is visible before its commit, but readers (the access lists), which
    change at once and in all revisions.
    """

    def __init__(
        self,
        server: QdrantServer,
        *,
        settings: CollectionSettings = DEFAULT_SETTINGS,
        wall_clock: WallClock = time.time,
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        self._client = server.writer()
        self._timeout = server.write_timeout_seconds
        self._collections = QdrantCollections(self._client, settings, self._timeout)
        self._wall_clock = wall_clock
        self._lease_seconds = lease_seconds

    def close(self) -> None:
        """
        Close the connection.
        """
        self._client.close()

    @contextmanager
    def publication(self, index: str, tenant: str) -> Iterator[Publication]:
        """
        Lock the tenant's part of an index (creating the index where needed) and open a change.

        Raises:
            IndexUnavailable: Another process is writing, or the server cannot be asked.
            IndexUnusable: The ledger is damaged or the name is malformed.
        """
        require_index_name(index)
        broken = IndexUnusable(index, "a collection is missing; publish into a new index")
        with translated(index, missing=broken):
            self._collections.create_ledger(index)
            ledger = QdrantLedgerWriter(self._client, index, self._timeout)
            lock = _Lock(ledger, index, tenant, self._wall_clock, self._lease_seconds)
            lock.take()
            try:
                view = ledger.view(tenant) or LedgerView(Head(), {}, "")
                points = _PointsOf(self._client, index, self._timeout, lock)
                place = _QdrantPlace(index, tenant, ledger, lock, points, self._collections, view)
                known = ledger.ledger(tenant, view.head)
                yield PointPublication(index, place, tenant, view.head, known)
            finally:
                lock.leave()

    def listings(self, tenant: str | None = None) -> Sequence[IndexListing]:
        """
        Return every index with its tenants' parts, or with the one tenant's part.
        """
        found: list[IndexListing] = []
        with translated("", missing=IndexUnavailable("an index was removed meanwhile")):
            for name in self._collections.names():
                index = index_of_ledger(name)
                if index is not None:
                    found.extend(self._listings_of(index, tenant))
        return found

    def _listings_of(self, index: str, tenant: str | None) -> Iterator[IndexListing]:
        writer = QdrantLedgerWriter(self._client, index, self._timeout)
        view = writer.view("")
        if view is None:
            return
        for name, head in sorted(writer.heads().items()):
            manifest = view.manifests.get(head.generation or "")
            if tenant in (None, name) and manifest is not None:
                yield IndexListing(index, manifest, writer.ledger(name, head), name)


class _Lock:
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
        self._ledger.add_head(self._tenant)
        now = int(self._wall_clock())
        expired = wire.Condition(
            field=wire.FieldCondition(key=WRITER_UNTIL, range=wire.Range(lt=float(now)))
        )
        free = wire.Condition(filter=wire.Filter(should=[keyword(WRITER, ""), expired]))
        self._change(free, {})

    def renew(self) -> None:
        """
        Prolong the lease when half of it is gone.
        """
        if self._until - self._wall_clock() < self._lease_seconds / 2:
            self._change(keyword(WRITER, self._name), {})

    def move_head(self, head: Head) -> None:
        found = self._change(keyword(WRITER, self._name), head_payload(head))
        if found.get("body") != plain(HEAD, head):
            raise self._lost(str(found.get(WRITER)))

    def leave(self) -> None:
        free = {WRITER: "", WRITER_UNTIL: 0}
        self._ledger.change_head(self._tenant, keyword(WRITER, self._name), free)

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


class _PointsOf:
    """
    The points of an index's generations, for a writer that renews its lock as it writes.
    """

    def __init__(
        self, client: QdrantClient, index: str, timeout_seconds: float, lock: _Lock
    ) -> None:
        self._client = client
        self._index = index
        self._timeout = timeout_seconds
        self._lock = lock

    def of(self, generation: str) -> PointWriter:
        self._lock.renew()
        name = collection_of(self._index, generation)
        return QdrantPoints(lambda: self._client.grpc_points, name, self._timeout)


class _QdrantPlace:
    """
    The `PublicationPlace` of one tenant's part.
    """

    def __init__(
        self,
        index: str,
        tenant: str,
        ledger: QdrantLedgerWriter,
        lock: _Lock,
        points: _PointsOf,
        collections: QdrantCollections,
        view: LedgerView,
    ) -> None:
        self._index = index
        self._tenant = tenant
        self._ledger = ledger
        self._lock = lock
        self._points = points
        self._collections = collections
        self._manifests = dict(view.manifests)

    def manifests(self) -> Mapping[str, Manifest]:
        return self._manifests

    def writer(self, generation: str) -> PointWriter:
        return self._points.of(generation)

    def create(self, manifest: Manifest) -> None:
        if manifest.generation not in self._manifests:
            self._collections.create_generation(self._index, manifest)
            self._manifests[manifest.generation] = manifest

    def commit(
        self,
        head: Head,
        manifest: Manifest,
        rows: Sequence[LedgerRow],
        revisions: Sequence[RevisionSummary],
    ) -> None:
        self._lock.renew()
        self._ledger.record(self._tenant, manifest, rows, revisions)
        self._lock.move_head(replace(head))
        self._ledger.forget_rows(self._tenant, rows)
