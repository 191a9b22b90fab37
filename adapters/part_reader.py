"""
One tenant's part of an index, to be looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from adapters.place import StoredPoints
from adapters.points import PointReader, PointWriter
from adapters.records import TenantLedger
from adapters.reuse import StoredVectors
from adapters.store import Manifest
from adapters.vector_journal import VectorJournal
from assembler.errors import IndexUnknown


class PartReader(Protocol):
    """
    One tenant's part of an index, or a build of it, to be looked at.
    """

    @property
    def ledger(self) -> TenantLedger:
        """
        Return what is known of it.
        """
        ...

    @property
    def manifest(self) -> Manifest | None:
        """
        Return the manifest of its generation.
        """
        ...

    def manifest_of(self, generation: str) -> Manifest | None:
        """
        Return the manifest of a generation of the index, whichever tenant made it.
        """
        ...

    def reusable_inputs(
        self, source_id: str, content_sha256: str, inputs: Collection[str], target: Manifest
    ) -> Collection[str]:
        """
        Return which embedding inputs of a source need not be embedded again, by `input_sha256`.
        """
        ...

    def points(self) -> PointReader:
        """
        Return the points of its generation.
        """
        ...


@dataclass(frozen=True, slots=True)
class Looked:
    """
    The `StoredPoints` of manifests and a way to open a generation.
    """

    known: Mapping[str, Manifest]
    opened: Callable[[str], PointWriter]

    def manifests(self) -> Mapping[str, Manifest]:
        """
        Return the manifests of all generations that are there.
        """
        return self.known

    def writer(self, generation: str) -> PointWriter:
        """
        Return the points of a generation that is there.
        """
        return self.opened(generation)


def no_journal(manifest: Manifest) -> None:
    """
    Return None: there is no journal.
    """


class PointPartReader:
    """
    The `PartReader` of stored points.

    Args:
        index: Its index.
        stored: The points.
        tenant: Whose.
        ledger: What is known of them.
        journal: Opens the journal of a configuration.
    """

    def __init__(
        self,
        index: str,
        stored: StoredPoints,
        tenant: str,
        ledger: TenantLedger,
        journal: Callable[[Manifest], VectorJournal | None] = no_journal,
    ) -> None:
        self._index = index
        self._stored = stored
        self._ledger = ledger
        self._journal = journal
        self._vectors = StoredVectors(stored, tenant, ledger)

    @property
    def ledger(self) -> TenantLedger:
        """
        Return what is known of it.
        """
        return self._ledger

    @property
    def manifest(self) -> Manifest | None:
        """
        Return the manifest of its generation.
        """
        return self.manifest_of(self._ledger.generation or "")

    def manifest_of(self, generation: str) -> Manifest | None:
        """
        Return the manifest of a generation of the index, whichever tenant made it.
        """
        return self._stored.manifests().get(generation)

    def reusable_inputs(
        self, source_id: str, content_sha256: str, inputs: Collection[str], target: Manifest
    ) -> Collection[str]:
        """
        Return which embedding inputs of a source need not be embedded again, by `input_sha256`.
        """
        present = self._ledger.generation or target.generation
        generations = tuple(dict.fromkeys((present, target.generation)))
        found: Mapping[str, object] = self._vectors.reusable(
            source_id, content_sha256, target, generations
        )
        journal = self._journal(target)
        saved = journal.read(inputs) if journal is not None else {}
        return {one for one in inputs if one in found or one in saved}

    def points(self) -> PointReader:
        """
        Return the points of its generation.

        Raises:
            IndexUnknown: Nothing was ever published.
        """
        if self._ledger.generation is None:
            raise IndexUnknown(self._index)
        return self._stored.writer(self._ledger.generation)
