"""
Where indexes are read from, and written to, by the settings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from adapters.calls import CallObserver
from adapters.edge_index import EdgeIndex
from adapters.edge_store import EdgeStore
from adapters.qdrant_collections import CollectionSettings
from adapters.qdrant_connection import QdrantServer, Tls
from adapters.qdrant_index import QdrantIndex
from adapters.qdrant_search import SearchSettings
from adapters.qdrant_store import QdrantStore
from adapters.store import IndexListing, IndexStore
from server.qdrant_settings import QdrantSettings
from server.settings import Settings

QDRANT_GRPC_PORT = 6334

Listings = Callable[[str], Awaitable[Sequence[IndexListing]]]


@dataclass(frozen=True, slots=True)
class Backend:
    """
    The index side: one object behind both read ports, how to list, and how to end.

    Attributes:
        heads: Lists without what ledgers say of sources, where that would be read for it.
    """

    index: EdgeIndex | QdrantIndex
    listings: Listings
    heads: Listings
    close: Callable[[], Awaitable[None]]


def make_backend(settings: Settings, observer: CallObserver | None = None) -> Backend:
    """
    Return the embedded engine, or the Qdrant server where one is named.

    Args:
        settings: The configuration.
        observer: Told of every call to the server.

    Raises:
        OSError: A file of the server's TLS cannot be read.
    """
    if settings.qdrant_url is None:
        edge, store = EdgeIndex(settings.data_dir), EdgeStore(settings.data_dir)

        async def listings(tenant: str) -> Sequence[IndexListing]:
            return await asyncio.to_thread(store.listings, tenant)

        return Backend(edge, listings, listings, edge.close)
    search = SearchSettings(
        ef=settings.qdrant_hnsw_ef,
        oversampling=settings.qdrant_oversampling,
        consistency=settings.qdrant_read_consistency,
    )
    index = QdrantIndex(qdrant_server(settings), settings=search, observer=observer)

    async def heads(tenant: str) -> Sequence[IndexListing]:
        return await index.listings(tenant, has_rows=False)

    return Backend(index, index.listings, heads, index.close)


def make_store(settings: Settings) -> IndexStore:
    """
    Return where indexes are written: the same place that they are served from.

    Raises:
        OSError: A file of the server's TLS cannot be read.
    """
    if settings.qdrant_url is None:
        return EdgeStore(settings.data_dir)
    return QdrantStore(qdrant_server(settings), settings=collection_settings(settings))


def qdrant_server(settings: QdrantSettings) -> QdrantServer:
    """
    Return the address that `qdrant_url` names, and how it is spoken to.
    """
    url, key = urlsplit(settings.qdrant_url or ""), settings.qdrant_api_key
    tls = Tls(
        ca=_bytes(settings.qdrant_ca_file),
        certificate=_bytes(settings.qdrant_client_cert_file),
        key=_bytes(settings.qdrant_client_key_file),
    )
    return QdrantServer(
        host=url.hostname or "",
        grpc_port=url.port or QDRANT_GRPC_PORT,
        api_key=key.get_secret_value() if key else None,
        tls=tls if url.scheme == "https" else None,
        timeout_seconds=settings.qdrant_timeout_seconds,
        write_timeout_seconds=settings.qdrant_write_timeout_seconds,
        retries=settings.qdrant_retries,
    )


def collection_settings(settings: QdrantSettings) -> CollectionSettings:
    """
    Return how collections are made.
    """
    return CollectionSettings(
        shards=settings.qdrant_shards,
        replicas=settings.qdrant_replicas,
        write_consistency=settings.qdrant_write_consistency,
        hnsw_m=settings.qdrant_hnsw_m,
        hnsw_payload_m=settings.qdrant_hnsw_payload_m,
        hnsw_ef_construct=settings.qdrant_hnsw_ef_construct,
        quantization=settings.qdrant_quantization,
        vectors_on_disk=settings.qdrant_vectors_on_disk,
        payload_on_disk=settings.qdrant_payload_on_disk,
    )


def _bytes(path: Path | None) -> bytes | None:
    return None if path is None else path.read_bytes()
