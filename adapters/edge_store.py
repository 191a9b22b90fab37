"""
Where embedded indexes are written: a folder each, one publication at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from adapters.builds import no_build, require_whole
from adapters.edge_files import IndexFolder, index_names
from adapters.edge_paths import StateFolder
from adapters.edge_place import EdgePlace
from adapters.edge_state import read_build, read_heads, read_ledger, read_manifests
from adapters.head import Build
from adapters.index_names import require_index_name
from adapters.part_reader import PartReader, PointPartReader
from adapters.point_upkeep import PointUpkeep
from adapters.publication import PointPublication
from adapters.store import IndexListing, Publication
from adapters.upkeep import Upkeep
from assembler.errors import IndexUnknown
from assembler.scope import IndexVersion


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
            place = EdgePlace(index, tenant, folder, folder.begin())
            try:
                head, ledger = place.known()
                yield PointPublication(index, place, tenant, head, ledger)
            finally:
                place.leave()

    @contextmanager
    def upkeep(self, index: str, tenant: str) -> Iterator[Upkeep]:
        """
        Lock the index and open the tenant's part for upkeep.

        Raises:
            IndexUnknown: Nothing was ever published under this name.
            IndexUnavailable: Another process is writing, or the folder cannot be written.
            IndexUnusable: The files are damaged.
        """
        require_index_name(index)
        folder = IndexFolder(self._root, index)
        folder.current()
        with folder.writing():
            place = EdgePlace(index, tenant, folder, folder.begin())
            try:
                yield PointUpkeep(place, tenant, *place.known())
            finally:
                place.leave()

    @contextmanager
    def reading(self, index: str, tenant: str, *, of_build: bool = False) -> Iterator[PartReader]:
        """
        Open the tenant's part of an index, or its build that waits, without changing or locking
        anything; an index that is not there is empty.

        Raises:
            InvalidRequest: No build waits.
        """
        require_index_name(index)
        folder = IndexFolder(self._root, index)
        if of_build and self.waiting_build(index, tenant) is None:
            raise no_build(index)

        def opened(state: StateFolder) -> EdgePlace:
            return EdgePlace(index, tenant, folder, state, is_kept=True)

        try:
            waiting = folder.waiting() if of_build else None
            place = opened(waiting) if waiting else folder.read(opened)
        except IndexUnknown:
            place = opened(folder.empty())
        try:
            _, ledger = place.known()
            yield PointPartReader(index, place, tenant, ledger, place.journal)
        finally:
            place.close()

    def waiting_build(self, index: str, tenant: str) -> Build | None:
        """
        Return the build of the tenant's part that waits to be published, or None.
        """
        state = IndexFolder(self._root, index).waiting()
        if state is None:
            return None
        owner, build = read_build(index, state)
        return build if owner == tenant else None

    def publish_build(self, index: str, tenant: str) -> IndexVersion:
        """
        Publish the tenant's build that waits, in one step.

        Raises:
            InvalidRequest: No build waits.
            IndexUnusable: What waits is not what was built.
        """
        folder = IndexFolder(self._root, index)
        build = self.waiting_build(index, tenant)
        if build is None:
            raise no_build(index)
        with folder.writing():
            state, build = folder.waiting(), self.waiting_build(index, tenant)
            if state is None or build is None:
                raise no_build(index)
            place = EdgePlace(index, tenant, folder, state)
            try:
                version = require_whole(index, place, tenant, build)
                place.publish()
            finally:
                place.close()
            return version

    def listings(self, tenant: str | None = None) -> Sequence[IndexListing]:
        """
        Return every index with its tenants' parts, or with the one tenant's part.
        """
        found: list[IndexListing] = []
        for index in index_names(self._root):
            folder = IndexFolder(self._root, index)
            found += folder.read(partial(_listings_of, index, tenant))
        return found


def _listings_of(index: str, tenant: str | None, state: StateFolder) -> list[IndexListing]:
    manifests = read_manifests(index, state)
    heads, _ = read_heads(index, state)
    return [
        IndexListing(index, manifest, read_ledger(index, state, name, head), name)
        for name, head in sorted(heads.items())
        if (manifest := manifests.get(head.generation or "")) and tenant in (None, name)
    ]
