"""
Where indexes are read from, and written to, by the settings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adapters.attachment import AttachedInvalid, read_attached
from adapters.calls import CallObserver
from adapters.edge_errors import require_there
from adapters.edge_index import EdgeIndex
from adapters.edge_store import EdgeStore
from adapters.store import IndexListing, IndexStore
from server.settings import Settings

if TYPE_CHECKING:
    from adapters.attached_looks import AttachedLooks
    from adapters.joined_index import JoinedIndex
    from adapters.qdrant_index import QdrantIndex

Listings = Callable[[str], Awaitable[Sequence[IndexListing]]]


@dataclass(frozen=True, slots=True)
class Backend:
    """
    The index side: one object behind both read ports, how to list, and how to end.

    Attributes:
        heads: Lists without what ledgers say of sources, where that would be read for it.
        attached: Looks at attached collections, where there are some.
    """

    index: EdgeIndex | QdrantIndex | JoinedIndex
    listings: Listings
    heads: Listings
    close: Callable[[], Awaitable[None]]
    attached: AttachedLooks | None = None


def make_backend(settings: Settings, observer: CallObserver | None = None) -> Backend:
    """
    Return the embedded engine, or the Qdrant server where one is named.

    Args:
        settings: The configuration.
        observer: Told of every call to the server.

    Raises:
        OSError: A file of the server's TLS cannot be read.
        AttachedInvalid: The file of attached collections is not what it has to be.
    """
    if settings.qdrant_url is None:
        edge = EdgeIndex(settings.data_dir, kept_bytes=settings.kept_record_bytes)
        store = EdgeStore(settings.data_dir)

        def look(tenant: str) -> Sequence[IndexListing]:
            require_there(settings.data_dir)
            return store.listings(tenant)

        async def listings(tenant: str) -> Sequence[IndexListing]:
            return await asyncio.to_thread(look, tenant)

        return Backend(edge, listings, listings, edge.close)
    # Its libraries take 30 MB and half a second, which an embedded index has no use for.
    from server.qdrant_backend import make_reads  # noqa: PLC0415 - only where a server is named

    return make_reads(settings, observer)


def records_of(backend: Backend) -> tuple[int, int]:
    """
    Return how many records were known and how many had to be read; a server's are never kept.
    """
    return backend.index.requests() if isinstance(backend.index, EdgeIndex) else (0, 0)


def require_own(settings: Settings, index: str) -> None:
    """
    Check that an index is to be written that no attached collection hides.

    Raises:
        AttachedInvalid: An attached collection has its name.
    """
    if settings.attached_file is not None and index in read_attached(settings.attached_file):
        problem = (
            "is an attached collection, which is never written to, and would hide an index of "
            "this name: choose another name, or take the entry out of the file"
        )
        raise AttachedInvalid(settings.attached_file, index, problem)


def make_store(settings: Settings) -> IndexStore:
    """
    Return where indexes are written: the same place that they are served from.

    Raises:
        OSError: A file of the server's TLS cannot be read.
    """
    if settings.qdrant_url is None:
        return EdgeStore(settings.data_dir)
    from server.qdrant_backend import make_writes  # noqa: PLC0415 - only where a server is named

    return make_writes(settings)
