"""
How the collections of an index are made on a Qdrant server.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from qdrant_client import QdrantClient
from qdrant_client import grpc as wire

from adapters.payload_keys import IndexKind, indexed_paths
from adapters.points import dense_names
from adapters.qdrant_ledger import INDEXED, WRITER_UNTIL, ledger_collection
from adapters.qdrant_points import collection_of
from adapters.searches import SPARSE
from adapters.store import Manifest

_LINKS = 16
_INDEX_TYPES = {
    IndexKind.TENANT: wire.FieldTypeKeyword,
    IndexKind.KEYWORD: wire.FieldTypeKeyword,
    IndexKind.INTEGER: wire.FieldTypeInteger,
    IndexKind.BOOL: wire.FieldTypeBool,
}


@dataclass(frozen=True, slots=True)
class CollectionSettings:
    """
    How collections are spread over a cluster.

    Attributes:
        replicas: Copies of every shard; a write waits for all of them.
        is_many_tenants: Whether vectors are linked inside each tenant only: for many small tenants.
    """

    shards: int = 1
    replicas: int = 1
    is_many_tenants: bool = False


class QdrantCollections:
    """
    Makes collections; what is there already, or half made, is left and completed.
    """

    def __init__(
        self, client: QdrantClient, settings: CollectionSettings, timeout_seconds: float
    ) -> None:
        self._client = client
        self._settings = settings
        self._timeout = timeout_seconds

    def create_ledger(self, index: str) -> None:
        """
        Make the ledger collection of an index.
        """
        name = ledger_collection(index)
        self._create(name, {}, {}, None)
        kinds = dict.fromkeys(INDEXED, IndexKind.KEYWORD) | {WRITER_UNTIL: IndexKind.INTEGER}
        self._create_indexes(name, kinds)

    def create_generation(self, index: str, manifest: Manifest) -> None:
        """
        Make the collection of a generation, with every payload index.
        """
        name = collection_of(index, manifest.generation)
        size = manifest.embedding.model.dimension
        params = wire.VectorParams(size=size, distance=wire.Cosine)
        dense = dict.fromkeys(dense_names(manifest), params)
        sparse = {key: wire.SparseVectorParams(modifier=wire.Idf) for key in SPARSE.values()}
        links = wire.HnswConfigDiff(m=0, payload_m=_LINKS)
        self._create(name, dense, sparse, links if self._settings.is_many_tenants else None)
        self._create_indexes(name, indexed_paths(manifest.fields))

    def remove_generation(self, index: str, generation: str) -> None:
        """
        Remove the collection of a generation, where it is there.
        """
        request = wire.DeleteCollection(collection_name=collection_of(index, generation))
        self._client.grpc_collections.Delete(request, timeout=self._timeout)

    def names(self) -> list[str]:
        """
        Return the names of all collections.
        """
        request = wire.ListCollectionsRequest()
        answer = self._client.grpc_collections.List(request, timeout=self._timeout)
        return sorted(entry.name for entry in answer.collections)

    def _create(
        self,
        name: str,
        dense: Mapping[str, wire.VectorParams],
        sparse: Mapping[str, wire.SparseVectorParams],
        links: wire.HnswConfigDiff | None,
    ) -> None:
        asked = wire.CollectionExistsRequest(collection_name=name)
        collections = self._client.grpc_collections
        if collections.CollectionExists(asked, timeout=self._timeout).result.exists:
            return
        settings = self._settings
        request = wire.CreateCollection(
            collection_name=name,
            shard_number=settings.shards,
            replication_factor=settings.replicas,
            # A head moves only when every replica has what it points to.
            write_consistency_factor=settings.replicas,
            hnsw_config=links,
        )
        if dense:
            request.vectors_config.CopyFrom(
                wire.VectorsConfig(params_map=wire.VectorParamsMap(map=dense))
            )
        if sparse:
            request.sparse_vectors_config.CopyFrom(wire.SparseVectorConfig(map=sparse))
        collections.Create(request, timeout=self._timeout)

    def _create_indexes(self, name: str, kinds: Mapping[str, IndexKind]) -> None:
        for path, kind in kinds.items():
            params = None
            if kind is IndexKind.TENANT:
                params = wire.PayloadIndexParams(
                    keyword_index_params=wire.KeywordIndexParams(is_tenant=True)
                )
            request = wire.CreateFieldIndexCollection(
                collection_name=name,
                wait=True,
                field_name=path,
                field_type=_INDEX_TYPES[kind],
                field_index_params=params,
            )
            self._client.grpc_points.CreateFieldIndex(request, timeout=self._timeout)
