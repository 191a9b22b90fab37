"""
How the collections of an index are spread over a Qdrant server or cluster; free of its client.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


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
