"""
Where indexes are read from, and written to, where the settings name a Qdrant server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from adapters.attached_index import AttachedIndex
from adapters.attached_looks import AttachedLooks
from adapters.attachment import AttachedInvalid, Attachment, PayloadMapping, read_attached
from adapters.calls import CallObserver
from adapters.collection_settings import CollectionSettings
from adapters.joined_index import JoinedIndex
from adapters.qdrant_connection import QdrantServer, TlsFiles
from adapters.qdrant_index import QdrantIndex
from adapters.qdrant_search import SearchSettings
from adapters.qdrant_store import QdrantStore
from adapters.store import IndexListing
from server.backend import Backend
from server.qdrant_settings import QdrantSettings
from server.settings import Settings

QDRANT_GRPC_PORT = 6334


def make_reads(settings: Settings, observer: CallObserver | None = None) -> Backend:
    """
    Return the server's own indexes, and the attached collections beside them.

    Args:
        settings: The configuration.
        observer: Told of every call to the server.

    Raises:
        OSError: A file of the server's TLS cannot be read.
        AttachedInvalid: The file of attached collections is not what it has to be.
    """
    search = SearchSettings(
        ef=settings.qdrant_hnsw_ef,
        oversampling=settings.qdrant_oversampling,
        consistency=settings.qdrant_read_consistency,
    )
    own = QdrantIndex(qdrant_server(settings), settings=search, observer=observer)

    async def heads(tenant: str) -> Sequence[IndexListing]:
        return await own.listings(tenant, has_rows=False)

    attached = attached_of(settings)
    if not attached:
        return Backend(own, own.listings, heads, own.close)
    looks = AttachedLooks(attached, own.link)
    index = JoinedIndex(own, AttachedIndex(attached, own.link, looks, search), attached)
    return Backend(index, index.listings, heads, own.close, looks)


def make_writes(settings: QdrantSettings) -> QdrantStore:
    """
    Return where indexes are written.

    Raises:
        OSError: A file of the server's TLS cannot be read.
    """
    return QdrantStore(qdrant_server(settings), settings=collection_settings(settings))


def attached_of(settings: Settings) -> Mapping[str, Attachment]:
    """
    Return the attached collections by the name of their index.

    Raises:
        AttachedInvalid: The file is wrong, or a collection lacks what this deployment demands.
    """
    attached = read_attached(settings.attached_file)
    for name, one in attached.items():
        check_scope(settings, settings.attached_file or Path(), name, one.mapping)
    return attached


def check_scope(settings: Settings, path: Path, name: str, mapping: PayloadMapping) -> None:
    """
    Check that the scopes that this deployment demands can be kept in an attached collection.

    Raises:
        AttachedInvalid: They cannot.
    """
    if settings.require_tenant and mapping.tenant is None:
        problem = "require_tenant is on, and the mapping has no tenant: map the field that has it"
        raise AttachedInvalid(path, name, problem)
    if settings.require_principals:
        problem = "require_principals is on, and attached collections know no readers; index them"
        raise AttachedInvalid(path, name, problem)


def qdrant_server(settings: QdrantSettings) -> QdrantServer:
    """
    Return the address that `qdrant_url` names, and how it is spoken to.
    """
    url, key = urlsplit(settings.qdrant_url or ""), settings.qdrant_api_key
    tls = TlsFiles(
        settings.qdrant_ca_file,
        settings.qdrant_client_cert_file,
        settings.qdrant_client_key_file,
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
