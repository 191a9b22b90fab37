"""
A private copy of an embedded index's state, until it becomes the current one.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping

from adapters.edge_files import IndexFolder, opening
from adapters.edge_paths import StateFolder
from adapters.edge_shard import EdgeShard, close_all
from adapters.edge_state import (
    read_heads,
    read_ledger,
    read_manifests,
    write_build,
    write_heads,
    write_ledger,
    write_manifest,
)
from adapters.head import Build, Head
from adapters.place import write_readers
from adapters.points import PointWriter
from adapters.records import TenantLedger
from adapters.store import Manifest
from adapters.vector_journal import VectorJournal


class EdgePlace:
    """
    The `UpkeepPlace` of one tenant's part. Readers see nothing of it before its state is current.
    """

    def __init__(
        self,
        index: str,
        tenant: str,
        folder: IndexFolder,
        state: StateFolder,
        *,
        is_kept: bool = False,
    ) -> None:
        self._index = index
        self._tenant = tenant
        self._folder = folder
        self._state = state
        self._shards: dict[str, EdgeShard] = {}
        self._is_kept = is_kept
        self._is_scrubbed = False
        self._newest: str | None = None
        self._ledger: TenantLedger | None = None
        self._manifests: dict[str, Manifest] = {}
        self._heads: dict[str, Head] = {}
        try:
            self._manifests = read_manifests(index, state)
            self._heads, self._newest = read_heads(index, state)
        except BaseException:
            self.leave()
            raise

    def known(self) -> tuple[Head, TenantLedger]:
        """
        Return the tenant's head and ledger.
        """
        head = self._heads.get(self._tenant, Head())
        return head, read_ledger(self._index, self._state, self._tenant, head)

    def manifests(self) -> Mapping[str, Manifest]:
        """
        Return the manifests of all generations that are there.
        """
        return self._manifests

    def writer(self, generation: str) -> PointWriter:
        """
        Return the points of a generation that is there.
        """
        if generation not in self._shards:
            path = self._state.shard(generation)
            with opening(self._state):
                self._shards[generation] = EdgeShard.load(self._index, path)
        return self._shards[generation]

    def create(self, manifest: Manifest) -> None:
        """
        Make a generation.
        """
        generation = manifest.generation
        if generation not in self._manifests:
            path = self._state.shard(generation)
            self._shards[generation] = EdgeShard.create(self._index, path, manifest)
            self._manifests[generation] = manifest

    def journal(self, manifest: Manifest) -> VectorJournal:
        """
        Return where vectors are kept until they are published.
        """
        return VectorJournal(self._folder.journal, manifest.embedding)

    def forget_beyond(self) -> None:
        """
        Do nothing: the ledger is written as a whole, and a build that waited is gone already.
        """

    def stage(self, build: Build, ledger: TenantLedger) -> None:
        """
        Leave the state beside the current one, durable and whole.
        """
        write_readers(self, self._tenant, build.readers)
        self._write(build.head, ledger, build.manifest)
        write_build(self._state, self._tenant, build)
        self._folder.keep(self._state)
        self._is_kept = True

    def commit(self, head: Head, ledger: TenantLedger, manifest: Manifest | None) -> None:
        """
        Write the ledger and the head, and make the state the current one.
        """
        self._write(head, ledger, manifest)
        self.publish()

    def publish(self) -> None:
        """
        Make the state the current one.
        """
        self.close()
        if self._is_scrubbed:
            self._folder.commit(self._state, kept_states=0)
        else:
            self._folder.commit(self._state)
        self._is_kept = True

    def move_head(self, head: Head) -> None:
        """
        Write the head, and make the state the current one.
        """
        self._write(head, None, None)
        self.publish()

    def hide(self, head: Head, ledger: TenantLedger) -> None:
        """
        Only remember: no reader sees this copy.
        """
        self._heads[self._tenant] = head
        self._ledger = ledger

    def settle(self) -> None:
        """
        Do nothing: no reader sees this copy.
        """

    def scrub(self) -> None:
        """
        Write every shard anew from what is left of it, and keep no earlier state.
        """
        for generation, manifest in self._manifests.items():
            path = self._state.shard(generation)
            draft = path.with_name("draft")
            old, new = self._opened(generation), EdgeShard.create(self._index, draft, manifest)
            old.copy_to(new)
            old.close()
            new.close(is_written=True)
            del self._shards[generation]
            shutil.rmtree(path)
            draft.rename(path)
        self._state.scrubbed.write_text(self._state.name)
        self._is_scrubbed = True

    def remove_unused(self) -> tuple[str, ...]:
        """
        Remove the generations that no kept revision of any tenant is in, and return them.
        """
        used: set[str | None] = set()
        for tenant, head in self._heads.items():
            if tenant == self._tenant and self._ledger is not None:
                ledger = self._ledger
            elif head.is_rolled_back:
                return ()
            else:
                ledger = read_ledger(self._index, self._state, tenant, head)
            used |= {head.generation, *(one.generation for one in ledger.revisions)}
        unused = tuple(one for one in self._manifests if one not in used)
        for generation in unused:
            shard = self._shards.pop(generation, None)
            if shard is not None:
                shard.close()
            del self._manifests[generation]
            shutil.rmtree(self._state.generation(generation))
        return unused

    def leave(self) -> None:
        """
        Close the files, and remove a copy that was not made current.
        """
        self.close()
        if not self._is_kept:
            self._folder.discard(self._state)

    def _opened(self, generation: str) -> EdgeShard:
        self.writer(generation)
        return self._shards[generation]

    def _write(self, head: Head, ledger: TenantLedger | None, manifest: Manifest | None) -> None:
        self.close(is_written=True)
        if manifest is not None:
            write_manifest(self._state, manifest)
            self._newest = manifest.generation
        if ledger is not None:
            write_ledger(self._state, self._tenant, ledger)
        self._heads[self._tenant] = head
        if self._newest not in self._manifests:
            self._newest = head.generation
        write_heads(self._state, self._heads, self._newest or "")

    def close(self, *, is_written: bool = False) -> None:
        """
        Close the files; after writing, tidy and flush them first.
        """
        shards, self._shards = self._shards, {}
        close_all(shards, is_written=is_written)
