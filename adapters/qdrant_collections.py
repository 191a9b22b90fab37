"""
How the collections of an index are made on a Qdrant server.
"""

from __future__ import annotations

import enum
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

_INDEX_TYPES = {
    IndexKind.TENANT: wire.FieldTypeKeyword,
    IndexKind.KEYWORD: wire.FieldTypeKeyword,
    IndexKind.INTEGER: wire.FieldTypeInteger,
    IndexKind.BOOL: wire.FieldTypeBool,
}


class Quantization(enum.Enum):
    """
    What vectors are searched by; the best candidates are compared again by the stored vectors.
    """

    NONE = "none"
    SCALAR = "scalar"
    BINARY = "binary"


@dataclass(frozen=True, slots=True)
class CollectionSettings:
    """
    How collections are spread over a cluster and kept there. They hold for collections made from
    then on; None leaves a choice to the server.

    Attributes:
        replicas: Copies of every shard.
        write_consistency: How many of them a write waits for; None waits for all.
        hnsw_m: Links of each vector; 0 links vectors inside each tenant only.
        hnsw_payload_m: Links of each vector inside its tenant.
        hnsw_ef_construct: How many candidates are followed to find links.
        quantization: Quantised vectors stay in memory.
        vectors_on_disk: Whether stored vectors are read from disk.
        payload_on_disk: Whether payloads are read from disk.
    """

    shards: int = 1
    replicas: int = 1
    write_consistency: int | None = None
    hnsw_m: int | None = None
    hnsw_payload_m: int | None = None
    hnsw_ef_construct: int | None = None
    quantization: Quantization = Quantization.NONE
    vectors_on_disk: bool | None = None
    payload_on_disk: bool | None = None

    def __post_init__(self) -> None:
        if not 1 <= (self.write_consistency or self.replicas) <= self.replicas:
            msg = f"a write cannot wait for {self.write_consistency} of {self.replicas} replicas"
            raise ValueError(msg)
        if self.hnsw_m == 0 and not self.hnsw_payload_m:
            msg = "hnsw_m 0 needs hnsw_payload_m above 0, else no vector has any link"
            raise ValueError(msg)


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
