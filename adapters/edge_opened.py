"""
One opened state of an embedded index.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from adapters.edge_files import opening
from adapters.edge_paths import StateFolder
from adapters.edge_records import EdgeRecords
from adapters.edge_shard import EdgeShard, close_all
from adapters.edge_state import read_heads, read_ledger, read_manifests, read_scrubbed
from adapters.head import Head, covers, sees
from adapters.kept_records import KeptRecords
from adapters.ledger import state_of
from adapters.records import TenantLedger
from assembler.errors import IndexUnknown, VersionGone
from assembler.ports import IndexState
from assembler.scope import IndexVersion

_KEPT_LEDGERS = 64


class OpenedState:
    """
    One state, its shards opened when first read and closed when retired and no longer read.
    """

    def __init__(self, index: str, folder: StateFolder, kept: KeptRecords) -> None:
        self._index = index
        self._folder = folder
        self._kept = kept
        self._records: dict[IndexVersion, EdgeRecords] = {}
        self._lock = threading.Lock()
        self._shards: dict[str, EdgeShard] = {}
        self._ledgers: dict[str, TenantLedger] = {}
        self._reading = 0
        self._is_retired = False
        self.manifests = read_manifests(index, folder)
        self.heads, newest = read_heads(index, folder)
        if newest is None:
            raise IndexUnknown(index)
        self._newest = newest
        self.scrubbed = read_scrubbed(index, folder)

    @property
    def name(self) -> str:
        """
        Return what CURRENT calls it.
        """
        return self._folder.name

    def head(self, tenant: str) -> Head:
        """
        Return a tenant's head; the empty one where it has never published.
        """
        return self.heads.get(tenant, Head())

    def resolved(self, tenant: str) -> IndexState:
        """
        Return the tenant's part as readers know it.
        """
        return state_of(self._index, self.head(tenant), self.manifests, self._newest)

    def ledger(self, tenant: str) -> TenantLedger:
        """
        Return everything known of a tenant's part.
        """
        ledger = self._ledgers.get(tenant)
        if ledger is None:
            ledger = read_ledger(self._index, self._folder, tenant, self.head(tenant))
            if len(self._ledgers) >= _KEPT_LEDGERS:
                self._ledgers = {}
            self._ledgers[tenant] = ledger
        return ledger

    def shard(self, version: IndexVersion) -> EdgeShard:
        """
        Return the points of a version's generation.

        Raises:
            VersionGone: The generation is not there, or no longer.
        """
        generation = version.generation
        if generation not in self.manifests:
            raise VersionGone(str(version))
        with self._lock:
            if generation not in self._shards:
                with opening(self._folder):
                    path = self._folder.shard(generation)
                    self._shards[generation] = EdgeShard.load(self._index, path)
            return self._shards[generation]

    def records(self, version: IndexVersion) -> EdgeRecords:
        """
        Return the reads of a version.

        Raises:
            VersionGone: Its generation is not there, or no longer.
        """
        known = self._records.get(version)
        if known is None:
            made = EdgeRecords(self.shard(version), version.revision, self._kept)
            known = self._records.setdefault(version, made)
        return known

    def sees(self, tenant: str, version: IndexVersion) -> bool:
        """
        Return whether a version of the tenant's part is read here as it was published.
        """
        return version.revision == 0 or sees(self.head(tenant), version)

    def left_behind_by(self, later: OpenedState) -> set[str]:
        """
        Return the generations of which a later state no longer sees every version seen here.
        """
        return {
            head.generation
            for tenant, head in self.heads.items()
            if head.generation is not None and not covers(later.head(tenant), head)
        }

    def open_as(self, other: OpenedState) -> None:
        """
        Open what another state has open, as far as it is here too.
        """
        self.open(other.opened & self.manifests.keys())

    def open(self, generations: Iterable[str]) -> None:
        """
        Open the points of generations.
        """
        for generation in generations:
            self.shard(IndexVersion(generation, 0))

    @property
    def opened(self) -> set[str]:
        """
        Return the generations whose points are open.
        """
        with self._lock:
            return set(self._shards)

    def enter(self) -> bool:
        """
        Count a reader in; False where the state is closed already.
        """
        with self._lock:
            if self._is_retired and self._reading == 0:
                return False
            self._reading += 1
            return True

    def leave(self) -> None:
        """
        Count a reader out; the last one of a retired state closes it.
        """
        with self._lock:
            self._reading -= 1
            self._close_if_done()

    def retire(self) -> None:
        """
        Let no new readers in, and close when the present ones have left.
        """
        with self._lock:
            self._is_retired = True
            self._close_if_done()

    def _close_if_done(self) -> None:
        if self._is_retired and self._reading == 0:
            shards, self._shards = self._shards, {}
            self._kept.clear(shelf for one in self._records.values() for shelf in one.shelves)
            close_all(shards)
