"""
The part of the configuration that is about a Qdrant server; docs/qdrant.md explains the choices.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, PositiveInt, SecretStr, field_validator, model_validator

from adapters.collection_settings import Quantization
from server.setting_rules import CheckedSettings, require_address, wrong

MOST_SECONDS = 1_000_000.0
"""About twelve days: longer than any wait, and short enough for every library's milliseconds."""


class QdrantSettings(CheckedSettings):
    """
    How a Qdrant server or cluster is reached, read and written.
    """

    qdrant_url: str | None = None
    """`http(s)://host:6334` of a Qdrant server or cluster; absent: the embedded engine."""

    qdrant_api_key: SecretStr | None = None
    """API key of the Qdrant server."""

    qdrant_ca_file: Path | None = None
    """PEM file of the authorities that may have signed the server's certificate; absent: those that
    the gRPC library brings."""

    qdrant_client_cert_file: Path | None = None
    """PEM file of this service's own certificate, where the server asks for one."""

    qdrant_client_key_file: Path | None = None
    """PEM file of the key of that certificate."""

    qdrant_timeout_seconds: float = Field(default=5.0, gt=0, le=MOST_SECONDS, allow_inf_nan=False)
    """Longest time of one read from the Qdrant server; a request's deadline makes it shorter."""

    qdrant_write_timeout_seconds: float = Field(
        default=60.0, gt=0, le=MOST_SECONDS, allow_inf_nan=False
    )
    """Longest time of one write, on all replicas that it waits for."""

    qdrant_retries: int = Field(default=2, ge=0, le=5)
    """How often a read that found nobody is sent again."""

    qdrant_read_consistency: PositiveInt | Literal["majority", "quorum", "all"] | None = None
    """How many replicas have to agree on what is read: a number, or a word of Qdrant's; absent: any
    one is asked. Heads are always read by majority."""

    qdrant_shards: int = Field(default=1, ge=1)
    """Shards of collections made from now on."""

    qdrant_replicas: int = Field(default=1, ge=1)
    """Copies of every shard of collections made from now on."""

    qdrant_write_consistency: int | None = Field(default=None, ge=1)
    """How many replicas a write waits for; absent: all of them."""

    qdrant_hnsw_m: int | None = Field(default=None, ge=0, le=512)
    """Links of each vector; 0, with `qdrant_hnsw_payload_m`, links vectors inside each tenant only:
    for many small tenants."""

    qdrant_hnsw_payload_m: int | None = Field(default=None, ge=0, le=512)
    """Links of each vector inside its tenant."""

    qdrant_hnsw_ef_construct: int | None = Field(default=None, ge=4)
    """How many candidates are followed to find a vector's links."""

    qdrant_hnsw_ef: int = Field(default=512, ge=1)
    """How many candidates an approximate search follows."""

    qdrant_quantization: Quantization = Quantization.NONE
    """What vectors are searched by: as they are (`none`), as 8-bit integers (`scalar`), or as
    single bits (`binary`), each compared again by the stored vectors."""

    qdrant_oversampling: float | None = Field(default=None, ge=1, le=1000, allow_inf_nan=False)
    """How many times more candidates are compared again where vectors are quantised."""

    qdrant_vectors_on_disk: bool | None = None
    """Whether stored vectors are read from disk; absent: as the server is set up."""

    qdrant_payload_on_disk: bool | None = None
    """Whether payloads are read from disk; absent: as the server is set up."""

    attached_file: Path | None = None
    """TOML file of collections of other makers that are read as indexes, by the name of the index;
    `attach` writes it. See docs/attach.md."""

    @model_validator(mode="after")
    def _attached_collections_are_on_a_server(self) -> QdrantSettings:
        if self.attached_file is not None and self.qdrant_url is None:
            problem = "attached_file needs qdrant_url, the server that has the collections"
            raise wrong("attached_file", problem)
        return self

    @field_validator("qdrant_url")
    @classmethod
    def _qdrant_url_has_a_host(cls, url: str | None) -> str | None:
        return require_address(url, "http(s)://host[:port], with the gRPC port")

    @model_validator(mode="after")
    def _qdrant_tls_is_complete(self) -> QdrantSettings:
        names = ("qdrant_ca_file", "qdrant_client_cert_file", "qdrant_client_key_file")
        files = {name: path for name in names if (path := getattr(self, name)) is not None}
        if files and urlsplit(self.qdrant_url or "").scheme != "https":
            problem = "qdrant_ca_file and the client's files need a qdrant_url of https"
            raise wrong(next(iter(files)), problem)
        if (self.qdrant_client_cert_file is None) != (self.qdrant_client_key_file is None):
            missing = next(name for name in names[1:] if name not in files)
            problem = "qdrant_client_cert_file and qdrant_client_key_file are given together"
            raise wrong(missing, problem)
        for name, path in files.items():
            if not path.is_file():
                raise wrong(name, f"{path} is no file; name a PEM file")
        return self

    @model_validator(mode="after")
    def _reads_see_what_was_published(self) -> QdrantSettings:
        replicas = self.qdrant_replicas
        writes = self.qdrant_write_consistency or replicas
        if writes > replicas:
            problem = f"qdrant_write_consistency is {writes}, there are {replicas} qdrant_replicas"
            raise wrong("qdrant_write_consistency", problem)
        if writes < replicas and (
            writes <= replicas // 2 or self.qdrant_read_consistency != "majority"
        ):
            problem = (
                "qdrant_write_consistency below qdrant_replicas has to be more than half of them, "
                "with qdrant_read_consistency majority: other reads could miss what was published"
            )
            raise wrong("qdrant_write_consistency", problem)
        return self

    @model_validator(mode="after")
    def _vectors_have_links(self) -> QdrantSettings:
        if self.qdrant_hnsw_m == 0 and not self.qdrant_hnsw_payload_m:
            needs = "qdrant_hnsw_m 0 needs qdrant_hnsw_payload_m above 0, else no vector has a link"
            raise wrong("qdrant_hnsw_payload_m", needs)
        if self.qdrant_oversampling and self.qdrant_quantization is Quantization.NONE:
            problem = "qdrant_oversampling has no use without qdrant_quantization"
            raise wrong("qdrant_oversampling", problem)
        return self
