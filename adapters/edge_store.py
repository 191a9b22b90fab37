"""
Where embedded indexes are written: a folder each, one publication at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from adapters.edge_files import IndexFolder, StateFolder, index_names
from adapters.edge_shard import EdgeShard, close_all
from adapters.edge_state import (
    read_heads,
    read_ledger,
    read_manifests,
    write_manifest,
    write_tenant,
)
from adapters.index_names import require_index_name
from adapters.ledger import Head
from adapters.points import PointWriter
from adapters.publication import PointPublication
from adapters.store import IndexListing, LedgerRow, Manifest, Publication, RevisionSummary


class EdgeStore:
    """
    The `IndexStore` of a folder of embedded indexes.

    Readers see nothing of a publication, readers (the access lists) included, before its commit.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    @contextmanager
    def publication(self, index: str, tenant: str) -> Iterator[Publication]:
        """
        Lock the index and open a change of the tenant's part.

        Raises:
            IndexUnavailable: Another process is writing, or the folder cannot be written.
            IndexUnusable: The files are damaged or the name is malformed.
        """
        require_index_name(index)
        folder = IndexFolder(self._root, index)
        with folder.writing():
            state = folder.begin()
            place = _EdgePlace(index, tenant, folder, state)
            try:
                head = place.heads.get(tenant, Head())
                ledger = read_ledger(index, state, tenant, head)
                yield PointPublication(index, place, tenant, head, ledger)
            finally:
                place.leave()

    def listings(self, tenant: str | None = None) -> Sequence[IndexListing]:
        """
        Return every index with its tenants' parts, or with the one tenant's part.
        """
        found: list[IndexListing] = []
        for index in index_names(self._root):
            state = IndexFolder(self._root, index).current()
            manifests = read_manifests(index, state)
            heads, _ = read_heads(index, state)
            for name, head in sorted(heads.items()):
                manifest = manifests.get(head.generation or "")
                if tenant in (None, name) and manifest is not None:
                    ledger = read_ledger(index, state, name, head)
                    found.append(IndexListing(index, manifest, ledger, name))
        return found


class _EdgePlace:
    """
    A private copy of a state, until it becomes the current one.
    """

    def __init__(self, index: str, tenant: str, folder: IndexFolder, state: StateFolder) -> None:
        self._index = index
        self._tenant = tenant
        self._folder = folder
        self._state = state
        self._shards: dict[str, EdgeShard] = {}
        self._is_current = False
        self._manifests: dict[str, Manifest] = {}
        self.heads: dict[str, Head] = {}
        try:
            self._manifests = read_manifests(index, state)
            self.heads, _ = read_heads(index, state)
        except BaseException:
            self.leave()
            raise

    def manifests(self) -> Mapping[str, Manifest]:
        return self._manifests

    def writer(self, generation: str) -> PointWriter:
        if generation not in self._shards:
            path = self._state.shard(generation)
            self._shards[generation] = EdgeShard.load(self._index, path)
        return self._shards[generation]

    def create(self, manifest: Manifest) -> None:
        generation = manifest.generation
        if generation not in self._manifests:
            path = self._state.shard(generation)
            self._shards[generation] = EdgeShard.create(self._index, path, manifest)
            self._manifests[generation] = manifest

    def commit(
        self,
        head: Head,
        manifest: Manifest,
        rows: Sequence[LedgerRow],
        revisions: Sequence[RevisionSummary],
    ) -> None:
        self._close(is_written=True)
        self.heads[self._tenant] = head
        write_manifest(self._state, manifest)
        write_tenant(self._state, self.heads, self._tenant, rows, revisions)
        self._folder.commit(self._state)
        self._is_current = True

    def leave(self) -> None:
        self._close(is_written=False)
        if not self._is_current:
            self._folder.discard(self._state)

    def _close(self, *, is_written: bool) -> None:
        shards, self._shards = self._shards, {}
        close_all(shards, is_written=is_written)
