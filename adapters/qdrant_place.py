"""
One tenant's part of an index on a Qdrant server, as it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

import grpc
from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import QdrantException

from adapters.head import Build, Head
from adapters.place import write_readers
from adapters.points import PointWriter
from adapters.qdrant_collections import QdrantCollections
from adapters.qdrant_ledger import LedgerView
from adapters.qdrant_ledger_writer import QdrantLedgerWriter
from adapters.qdrant_lock import WallClock, WriterLock
from adapters.qdrant_points import QdrantPoints, collection_of
from adapters.records import TenantLedger
from adapters.store import Manifest
from assembler.errors import IndexUnavailable


class PointsOf:
    """
    The points of an index's generations, for a writer that renews its lock as it writes.
    """

    def __init__(
        self,
        client: QdrantClient,
        index: str,
        timeout_seconds: float,
        lock: WriterLock | None = None,
    ) -> None:
        self._client = client
        self._index = index
        self._timeout = timeout_seconds
        self._lock = lock

    def of(self, generation: str) -> PointWriter:
        """
        Return the points of a generation.
        """
        if self._lock is not None:
            self._lock.renew()
        name = collection_of(self._index, generation)
        return QdrantPoints(lambda: self._client.grpc_points, name, self._timeout)


class QdrantPlace:
    """
    The `UpkeepPlace` of one tenant's part; it holds the lock.
    """

    def __init__(
        self,
        *,
        index: str,
        tenant: str,
        ledger: QdrantLedgerWriter,
        lock: WriterLock,
        points: PointsOf,
        collections: QdrantCollections,
        view: LedgerView,
        settle: Callable[[], None],
        now: WallClock,
    ) -> None:
        self._index = index
        self._tenant = tenant
        self._ledger = ledger
        self._lock = lock
        self._points = points
        self._collections = collections
        self._revision = view.head.revision
        self._retiring = view.retiring
        self._settle = settle
        self._now = now
        self._manifests = dict(view.manifests)

    def manifests(self) -> Mapping[str, Manifest]:
        """
        Return the manifests of all generations that are there.
        """
        return self._manifests

    def writer(self, generation: str) -> PointWriter:
        """
        Return the points of a generation that is there.
        """
        return self._points.of(generation)

    def create(self, manifest: Manifest) -> None:
        """
        Make a generation, or the rest of one whose making was broken off.

        Raises:
            IndexUnavailable: It is being removed.
        """
        generation = manifest.generation
        if generation in self._retiring:
            raise IndexUnavailable(
                f"generation {generation} of index {self._index!r} is being removed; try again, "
                "and if this stays, run gc once more"
            )
        if generation not in self._manifests:
            self._collections.create_generation(self._index, manifest)
            self._manifests[generation] = manifest

    def journal(self, manifest: Manifest) -> None:
        """
        Return None: what is written stays, and its vectors are found again.
        """

    def forget_beyond(self) -> None:
        """
        Forget the ledger's rows and revisions beyond the head, and a build that waits.
        """
        self._ledger.forget_beyond(self._tenant, self._revision)

    def publish(self, build: Build) -> None:
        """
        Move the head to a build, in one step, after all that readers will need with it.
        """
        manifest = build.manifest
        self._manifests[manifest.generation] = manifest
        write_readers(self, self._tenant, build.readers)
        self._lock.renew()
        self._ledger.write_manifest(manifest, build.published_at)
        self._lock.move_head(build.head)
        # It is published, whatever becomes of its record; the next writer removes that too.
        with suppress(grpc.RpcError, QdrantException):
            self._ledger.forget_build(self._tenant)

    def stage(self, build: Build, ledger: TenantLedger) -> None:
        """
        Write all but the head, and that the build waits.
        """
        self._lock.renew()
        self._ledger.record(self._tenant, ledger, None)
        self._ledger.write_build(self._tenant, build)

    def commit(self, head: Head, ledger: TenantLedger, manifest: Manifest | None) -> None:
        """
        Write the ledger, and move the head in one step, last.
        """
        self._lock.renew()
        self._ledger.record(self._tenant, ledger, manifest)
        self._lock.move_head(head)
        self._ledger.forget(self._tenant, ledger)

    def move_head(self, head: Head) -> None:
        """
        Move the head in one step, and nothing else.
        """
        self._lock.move_head(head)

    def hide(self, head: Head, ledger: TenantLedger) -> None:
        """
        Let readers know what there will be, before anything is deleted.
        """
        self.commit(head, ledger, None)

    def settle(self) -> None:
        """
        Wait until no request is under way that began before the last change.
        """
        self._settle()

    def scrub(self) -> None:
        """
        Do nothing: the server's files are the server's.
        """

    def remove_unused(self) -> tuple[str, ...]:
        """
        Remove the generations that no kept revision of any tenant is in, and return them.

        They are marked first. A writer that comes later sees the mark and is refused; one that came
        before holds its lock, and as long as anyone does, nothing is removed.
        """
        candidates = set(self._manifests) - self._ledger.used_generations()
        for generation in sorted(candidates):
            self._ledger.mark_retiring(generation, is_retiring=True)
        removed: list[str] = []
        if candidates and not self._ledger.has_writers(besides=self._tenant, now=self._now()):
            used = self._ledger.used_generations()
            removed = sorted(candidates - used)
        for generation in sorted(candidates.difference(removed)):
            self._ledger.mark_retiring(generation, is_retiring=False)
        for generation in removed:
            self._collections.remove_generation(self._index, generation)
            self._ledger.forget_manifest(generation)
            del self._manifests[generation]
        return tuple(removed)
