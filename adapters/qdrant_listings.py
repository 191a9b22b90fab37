"""
What a Qdrant server's ledgers say of all indexes, for one tenant.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from qdrant_client import grpc as wire

from adapters.ledger import REVISION, ROW, TOMBSTONE, tenant_ledger
from adapters.payload_values import Payload
from adapters.qdrant_ledger import (
    index_of_ledger,
    of_part,
    of_record,
    of_view,
    read_bodies,
    read_view,
)
from adapters.store import IndexListing
from assembler.errors import IndexUnknown

ReadLedger: TypeAlias = Callable[[str, wire.Filter], Awaitable[Sequence[Payload]]]
"""Returns the records of an index's ledger that pass."""


async def listings_of(
    tenant: str, collections: Sequence[str], read: ReadLedger, *, has_rows: bool = True
) -> list[IndexListing]:
    """
    Return every index that the tenant has published into, with the tenant's part.

    Args:
        tenant: Whose parts.
        collections: The names of all collections of the server.
        read: Reads a ledger.
        has_rows: Whether ledgers have more than their revisions.
    """
    names = sorted(filter(None, map(index_of_ledger, collections)))
    found = [await _listing(name, tenant, read, has_rows=has_rows) for name in names]
    return [listing for listing in found if listing is not None]


async def _listing(
    index: str, tenant: str, read: ReadLedger, *, has_rows: bool
) -> IndexListing | None:
    try:
        view = read_view(index, await read(index, of_view(tenant)))
    except IndexUnknown:  # nothing was ever published, or the index has just been removed
        return None
    manifest = view.manifests.get(view.head.generation or "")
    if manifest is None:
        return None
    stored = await read(index, of_part(tenant) if has_rows else of_record("revision", tenant))
    ledger = tenant_ledger(
        view.head,
        read_bodies(index, "row", ROW, stored),
        read_bodies(index, "revision", REVISION, stored),
        read_bodies(index, "tombstone", TOMBSTONE, stored),
    )
    return IndexListing(index, manifest, ledger, tenant)
