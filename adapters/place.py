"""
What a publication and the upkeep need of a backend.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from adapters.head import Build, Head
from adapters.payload_keys import READERS, SOURCE_ID, TENANT
from adapters.payload_values import Payload
from adapters.points import PointWriter
from adapters.records import TenantLedger
from adapters.store import Manifest
from adapters.vector_journal import VectorJournal
from assembler.filters import AnyString, Condition, Filter


class StoredPoints(Protocol):
    """
    The points of one tenant's part of an index.
    """

    def manifests(self) -> Mapping[str, Manifest]:
        """
        Return the manifests of all generations that are there.
        """
        ...

    def writer(self, generation: str) -> PointWriter:
        """
        Return the points of a generation that is there.
        """
        ...


class Place(StoredPoints, Protocol):
    """
    Where one tenant's part of an index is written; it holds the writer lock.
    """

    def create(self, manifest: Manifest) -> None:
        """
        Make a generation, or the rest of one whose making was broken off.
        """
        ...

    def journal(self, manifest: Manifest) -> VectorJournal | None:
        """
        Return where vectors are kept until they are published; None where points are kept anyway.
        """
        ...

    def forget_beyond(self) -> None:
        """
        Forget the ledger's rows and revisions beyond the head, and a build that waits.
        """
        ...

    def stage(self, build: Build, ledger: TenantLedger) -> None:
        """
        Make everything durable and known but the head, so that the build can be published later.
        """
        ...

    def commit(self, head: Head, ledger: TenantLedger, manifest: Manifest | None) -> None:
        """
        Make everything durable and the ledger known, and move the head in one step, last.
        """
        ...


class UpkeepPlace(Place, Protocol):
    """
    Where one tenant's part of an index is kept in order; it holds the writer lock.
    """

    def move_head(self, head: Head) -> None:
        """
        Move the head in one step, and nothing else.
        """
        ...

    def hide(self, head: Head, ledger: TenantLedger) -> None:
        """
        Keep readers from what will be deleted, where they could see the deleting.
        """
        ...

    def settle(self) -> None:
        """
        Wait until no request is under way that began before the last change.
        """
        ...

    def scrub(self) -> None:
        """
        Make what was deleted unreadable in files too, as far as they are ours.
        """
        ...

    def remove_unused(self) -> tuple[str, ...]:
        """
        Remove the generations that no kept revision of any tenant is in, and return them.
        """
        ...


def of_tenant(tenant: str, *conditions: Condition | Filter) -> Filter:
    """
    Return the filter of a tenant's points that meet all conditions.
    """
    return Filter(all_of=(Condition(TENANT, AnyString((tenant,))), *conditions))


def write_readers(place: Place, tenant: str, readers: Mapping[str, tuple[str, ...] | None]) -> None:
    """
    Set the readers of sources on all their points, in all revisions and generations.
    """
    for source_id, names in readers.items():
        payload: Payload = {READERS: None if names is None else list(names)}
        wanted = of_tenant(tenant, Condition(SOURCE_ID, AnyString((source_id,))))
        for generation in place.manifests():
            place.writer(generation).set_payload(wanted, payload)
