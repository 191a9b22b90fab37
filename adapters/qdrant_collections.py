"""
How the collections of an index are made on a Qdrant server.
"""

from __future__ import annotations

from collections.abc import Mapping

from qdrant_client import QdrantClient
from qdrant_client import grpc as wire

from adapters.collection_settings import CollectionSettings, Quantization
from adapters.payload_keys import IndexKind, indexed_paths
from adapters.points import dense_names
from adapters.qdrant_ledger import INDEXED, WRITER_UNTIL, ledger_collection
from adapters.qdrant_points import collection_of
from adapters.searches import SPARSE
from adapters.store import Manifest

_INDEX_TYPES = {
    IndexKind.TENANT: wire.FieldTypeKeyword,
    IndexKind.KEYWORD: wire.FieldTypeKeyword,
    IndexKind.INTEGER: wire.FieldTypeInteger,
    IndexKind.BOOL: wire.FieldTypeBool,
}


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
        self._create(self._request(name))
        kinds = dict.fromkeys(INDEXED, IndexKind.KEYWORD) | {WRITER_UNTIL: IndexKind.INTEGER}
        self._create_indexes(name, kinds)

    def create_generation(self, index: str, manifest: Manifest) -> None:
        """
        Make the collection of a generation, with every payload index.
        """
        name = collection_of(index, manifest.generation)
        size = manifest.embedding.model.dimension
        params = wire.VectorParams(
            size=size, distance=wire.Cosine, on_disk=self._settings.vectors_on_disk
        )
        dense = dict.fromkeys(dense_names(manifest), params)
        sparse = {key: wire.SparseVectorParams(modifier=wire.Idf) for key in SPARSE.values()}
        request = self._request(name)
        request.vectors_config.params_map.CopyFrom(wire.VectorParamsMap(map=dense))
        request.sparse_vectors_config.CopyFrom(wire.SparseVectorConfig(map=sparse))
        _set_search(request, self._settings)
        self._create(request)
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

    def _request(self, name: str) -> wire.CreateCollection:
        settings = self._settings
        return wire.CreateCollection(
            collection_name=name,
            shard_number=settings.shards,
            replication_factor=settings.replicas,
            # A head moves only when every replica that is waited for has what it points to.
            write_consistency_factor=settings.write_consistency or settings.replicas,
            on_disk_payload=settings.payload_on_disk,
        )

    def _create(self, request: wire.CreateCollection) -> None:
        asked = wire.CollectionExistsRequest(collection_name=request.collection_name)
        collections = self._client.grpc_collections
        if not collections.CollectionExists(asked, timeout=self._timeout).result.exists:
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


def _set_search(request: wire.CreateCollection, settings: CollectionSettings) -> None:
    links = wire.HnswConfigDiff(
        m=settings.hnsw_m,
        payload_m=settings.hnsw_payload_m,
        ef_construct=settings.hnsw_ef_construct,
    )
    if links.ListFields():
        request.hnsw_config.CopyFrom(links)
    quantized = request.quantization_config
    if settings.quantization is Quantization.SCALAR:
        quantized.scalar.CopyFrom(wire.ScalarQuantization(type=wire.Int8, always_ram=True))
    elif settings.quantization is Quantization.BINARY:
        quantized.binary.CopyFrom(wire.BinaryQuantization(always_ram=True))
