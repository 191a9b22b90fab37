"""
Where indexes on a Qdrant server are written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from adapters.builds import no_build, require_whole
from adapters.collection_settings import CollectionSettings
from adapters.head import SETTLE_SECONDS, Build, Head
from adapters.index_names import is_index_name, require_index_name
from adapters.part_reader import Looked, PartReader, PointPartReader
from adapters.point_upkeep import PointUpkeep
from adapters.publication import PointPublication
from adapters.qdrant_collections import QdrantCollections
from adapters.qdrant_connection import QdrantServer, translated
from adapters.qdrant_ledger import LedgerView, index_of_ledger, ledger_collection
from adapters.qdrant_ledger_writer import QdrantLedgerWriter
from adapters.qdrant_lock import WallClock, WriterLock
from adapters.qdrant_place import PointsOf, QdrantPlace
from adapters.records import TenantLedger
from adapters.store import IndexListing, Publication
from adapters.upkeep import Upkeep
from assembler.errors import IndexUnavailable, IndexUnknown, IndexUnusable
from assembler.scope import IndexVersion

LEASE_SECONDS = 300.0
"""How long a writer that died keeps others out. A living one renews its lease as it writes."""

DEFAULT_SETTINGS = CollectionSettings()
NOTHING = TenantLedger(None, 0, readers_required=False, rows=(), revisions=())


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
        settle_seconds: float = SETTLE_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = server.writer()
        self._timeout = server.write_timeout_seconds
        self._collections = QdrantCollections(self._client, settings, self._timeout)
        self._wall_clock = wall_clock
        self._lease_seconds = lease_seconds
        self._settle_seconds = settle_seconds
        self._sleep = sleep

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
        with self._translated(index):
            self._collections.create_ledger(index)
        with self._locked(index, tenant) as (place, head, known):
            if head.is_rolled_back:
                # Clocks of several machines differ: never wait longer than the whole time.
                since = max(self._wall_clock() - head.moved_back_at, 0.0)
                self._wait(self._settle_seconds - since)
            yield PointPublication(index, place, tenant, head, known)

    @contextmanager
    def upkeep(self, index: str, tenant: str) -> Iterator[Upkeep]:
        """
        Lock the tenant's part of an index that is there.

        Raises:
            IndexUnknown: Nothing was ever published under this name.
            IndexUnavailable: Another process is writing, or the server cannot be asked.
            IndexUnusable: The ledger is damaged.
        """
        self._require_there(index)
        with self._locked(index, tenant) as (place, head, known):
            yield PointUpkeep(place, tenant, head, known)

    @contextmanager
    def reading(self, index: str, tenant: str, *, of_build: bool = False) -> Iterator[PartReader]:
        """
        Open the tenant's part of an index, or its build that waits, without changing or locking
        anything; an index that is not there is empty.

        Raises:
            InvalidRequest: No build waits.
        """
        require_index_name(index)
        build = self.waiting_build(index, tenant) if of_build else None
        if of_build and build is None:
            raise no_build(index)
        with self._translated(index):
            view, known = LedgerView(Head(), {}, ""), NOTHING
            if ledger_collection(index) in self._names():
                ledger = QdrantLedgerWriter(self._client, index, self._timeout)
                view = ledger.view(tenant) or view
                known = ledger.ledger(tenant, build.head if build else view.head)
            manifests = dict(view.manifests)
            if build is not None:
                manifests[build.manifest.generation] = build.manifest
            points = PointsOf(self._client, index, self._timeout)
            yield PointPartReader(index, Looked(manifests, points.of), tenant, known)

    def waiting_build(self, index: str, tenant: str) -> Build | None:
        """
        Return the build of the tenant's part that waits to be published, or None.
        """
        if ledger_collection(index) not in self._names():
            return None
        with self._translated(index):
            return QdrantLedgerWriter(self._client, index, self._timeout).build(tenant)

    def publish_build(self, index: str, tenant: str) -> IndexVersion:
        """
        Publish the tenant's build that waits, in one write of the head.

        Raises:
            InvalidRequest: No build waits.
            IndexUnusable: What waits is not what was built.
        """
        if self.waiting_build(index, tenant) is None:
            raise no_build(index)
        with self._locked(index, tenant) as (place, head, _):
            build = self.waiting_build(index, tenant)
            base = (head.generation, head.revision)
            if build is None or (build.base_generation, build.base_revision) != base:
                raise no_build(index)
            version = require_whole(index, place, tenant, build)
            place.publish(build)
            return version

    @contextmanager
    def _locked(self, index: str, tenant: str) -> Iterator[tuple[QdrantPlace, Head, TenantLedger]]:
        with self._translated(index):
            ledger = QdrantLedgerWriter(self._client, index, self._timeout)
            lock = WriterLock(ledger, index, tenant, self._wall_clock, self._lease_seconds)
            lock.take()
            try:
                view = ledger.view(tenant) or LedgerView(Head(), {}, "")
                known = ledger.ledger(tenant, view.head)
                place = QdrantPlace(
                    index=index,
                    tenant=tenant,
                    ledger=ledger,
                    lock=lock,
                    points=PointsOf(self._client, index, self._timeout, lock),
                    collections=self._collections,
                    view=view,
                    settle=lambda: self._wait(self._settle_seconds),
                    now=self._wall_clock,
                )
                yield place, view.head, known
            finally:
                lock.leave()

    def _wait(self, seconds: float) -> None:
        if seconds > 0:
            self._sleep(seconds)

    def _require_there(self, index: str) -> None:
        if not is_index_name(index) or ledger_collection(index) not in self._names():
            raise IndexUnknown(index)

    def _names(self) -> list[str]:
        with self._translated(""):
            return self._collections.names()

    def _translated(self, index: str) -> AbstractContextManager[None]:
        broken = IndexUnusable(index, "a collection is missing; publish into a new index")
        return translated(index, missing=broken)

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
