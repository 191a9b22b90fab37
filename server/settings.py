"""
Start-up configuration, read once from the environment (prefix `CONTEXT_ASSEMBLER_`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from adapters.head import LONGEST_REQUEST_SECONDS
from server.cpus import usable_cpus
from server.qdrant_settings import MOST_SECONDS, QdrantSettings
from server.setting_rules import PREFIX, own_port, require_url, wrong

INFLIGHT_PER_CPU = 2
MOST_THREADS = 4
GENEROUS_MESSAGE_BYTES = 16 * 1024 * 1024


class Settings(QdrantSettings):
    """
    Everything that can be configured; a wrong value fails the start with every problem named.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore")

    host: str = "0.0.0.0"  # noqa: S104 - a container listens on all its addresses
    """Address that all three ports are bound to."""

    port: int = Field(default=50051, ge=0, le=65535)
    """gRPC port; 0 takes a free one."""

    health_port: int = Field(default=50052, ge=0, le=65535)
    """Plaintext health port for probes, which cannot speak TLS; 0 takes a free one."""

    metrics_port: int = Field(default=9464, ge=0, le=65535)
    """Prometheus port; 0 takes a free one."""

    data_dir: Path = Path("var/data")
    """Folder of the embedded engine: one folder per index."""

    retained_revisions: int = Field(default=10, ge=1)
    """Revisions that `indexes gc` keeps of each tenant, the one that is served included."""

    retired_seconds: float = Field(default=3600.0, ge=0, le=MOST_SECONDS, allow_inf_nan=False)
    """How long `indexes gc` keeps a revision after another took its place; longer than any
    request."""

    model_dir: Path = Path("var/models/all-minilm-l6-v2")
    """Folder of the exported embedding model."""

    embedder_url: str | None = None
    """Base URL of an OpenAI-compatible embeddings endpoint, used in place of `model_dir`."""

    embedder_model: str = ""
    """Model name at that endpoint."""

    embedder_dimension: int = Field(default=384, ge=1)
    """Dimension of its vectors."""

    embedder_api_key: SecretStr | None = None
    """API key of that endpoint."""

    embedder_sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    """Hash of the weights behind that endpoint, as manifests of indexes have it: your word that it
    is the same model. Absent: a hash of the model's name."""

    embedder_query_prefix: str = ""
    """Text before every query sent there, where the model asks for one."""

    more_model_dirs: Annotated[tuple[Path, ...], NoDecode] = ()
    """JSON list of folders of further exported models, for indexes and generations that were made
    with them: while an index moves to another model, both are served. See docs/models.md."""

    kept_record_bytes: int = Field(default=64 * 1024 * 1024, ge=0)
    """Memory for records of embedded indexes that were read and decoded; 0 keeps none. About 75 MB
    hold an index of 30,000 chunks."""

    cpu_request: int | None = Field(default=None, ge=1)
    """CPUs that the pod requests; Kubernetes can fill it in by a resourceFieldRef. Absent: the
    control group's quota, else the CPUs that the process is bound to."""

    embed_threads: int | None = Field(default=None, ge=1)
    """Threads of a forward pass that runs alone; those beside others take one. Absent: one beside
    the embedded engine, which searches meanwhile; else as many as there are CPUs, at most 4."""

    reranker: Literal["none", "cross_encoder", "tei", "cohere"] = "none"
    """What `retrieval.rerank` asks: nothing, a sentence-transformers CrossEncoder in this process
    (needs the optional dependencies `models`), or an endpoint that speaks as
    text-embeddings-inference or Cohere do."""

    reranker_model: str = ""
    """The CrossEncoder's name or folder, or the model's name at a Cohere endpoint."""

    reranker_url: str | None = None
    """Base URL of the endpoint; `/rerank` is appended, for Cohere `/v2/rerank`."""

    reranker_api_key: SecretStr | None = None
    """API key of that endpoint."""

    reranker_timeout_seconds: float = Field(default=5.0, gt=0, le=MOST_SECONDS, allow_inf_nan=False)
    """Longest time of one call to that endpoint."""

    chat_url: str | None = None
    """Base URL of an OpenAI-compatible endpoint; `/v1/chat/completions` is appended. Indexing asks
    it where a strategy's setting names a model; serving never does. See docs/chunking.md."""

    chat_api_key: SecretStr | None = None
    """API key of that endpoint."""

    chat_timeout_seconds: float = Field(default=60.0, gt=0, le=MOST_SECONDS, allow_inf_nan=False)
    """Longest time of one call to that endpoint."""

    chat_at_once: int = Field(default=4, ge=1)
    """Calls to that endpoint on their way at the same time."""

    chat_failures: Literal["stop", "leave_out"] = "stop"
    """What a question without an answer does: end the run, or be left out and counted."""

    chat_answers_file: Path = Path("var/chat-answers.sqlite")
    """Where the answers of that endpoint are kept, so that nothing is asked twice."""

    tokenizer_dir: Path = Path("var/tokenizers")
    """Folder of the tokenizer files."""

    profiles_file: Path | None = None
    """TOML file of profiles, one table by name whose keys are the fields that differ; they are
    added to the built-in ones or take their place. See docs/tuning.md."""

    api_keys_file: Path | None = None
    """JSON file of the callers, by hashes of keys or by client certificates, with the tenants that
    each may read; when given, no call is answered without one. `keys new` adds to it, and changes
    are seen within seconds. See docs/security.md."""

    tls_certificate_file: Path | None = None
    """PEM file of the gRPC port's certificate and the chain below its root; absent: plaintext."""

    tls_key_file: Path | None = None
    """PEM file of its private key, without a password."""

    tls_client_ca_file: Path | None = None
    """PEM file of the authorities that sign clients' certificates; when given, no client connects
    without one, and `api_keys_file` says what each may read."""

    require_tenant: bool = False
    """Refuse requests whose scope names no tenant."""

    require_principals: bool = False
    """Refuse requests whose scope names no principals."""

    metrics_tenant: str = ""
    """Tenant whose heads `context_assembler_index_*` show, as this pod reads them."""

    max_inflight: int | None = Field(default=None, ge=1)
    """Requests in work at once; more wait. Absent: 2 for each CPU."""

    max_waiting: int = Field(default=64, ge=0)
    """Requests that wait, in one line per tenant; more are refused with RESOURCE_EXHAUSTED."""

    max_wait_seconds: float = Field(default=0.5, gt=0, le=MOST_SECONDS, allow_inf_nan=False)
    """How long a request waits before it is refused with RESOURCE_EXHAUSTED; a tenth of it once
    no place has been free for longer than that."""

    max_message_bytes: int = Field(default=GENEROUS_MESSAGE_BYTES, ge=4096, le=2**31 - 1)
    """Largest message accepted or sent."""

    max_queries: int = Field(default=16, ge=1)
    """Most queries of a request."""

    max_targets: int = Field(default=8, ge=1)
    """Most targets of a request."""

    max_query_chars: int = Field(default=8192, ge=1)
    """Longest query text, in code points."""

    max_context_tokens: int = Field(default=1_000_000, ge=1)
    """Largest budget or window."""

    max_count_chars: int = Field(default=4_000_000, ge=1)
    """Most code points that one CountTokens call may count."""

    max_passages: int = Field(default=1000, ge=1)
    """Most passages of one PackPassages call."""

    default_deadline_seconds: float = Field(
        default=LONGEST_REQUEST_SECONDS, gt=0, le=LONGEST_REQUEST_SECONDS, allow_inf_nan=False
    )
    """Deadline of calls that bring none. No call goes on for longer than 30 seconds, whatever its
    deadline: what it reads may be deleted then."""

    max_connection_age_seconds: float = Field(
        default=300.0, gt=0, le=MOST_SECONDS, allow_inf_nan=False
    )
    """How long a connection lives before its client is told to connect again, so that new pods
    get their share; calls in flight go on."""

    drain_delay_seconds: float = Field(default=1.0, ge=0, le=MOST_SECONDS, allow_inf_nan=False)
    """How long the service goes on as before after it has told health checks that it ends, so that
    what balances by them sends nothing more: longer than their interval. Calls that have just
    arrived as it ends would be cancelled: a burst takes part of a second to be taken in."""

    drain_seconds: float = Field(default=10.0, ge=0, le=MOST_SECONDS, allow_inf_nan=False)
    """How long calls in flight may go on after a stop signal."""

    traces: Literal["none", "otlp"] = "none"
    """Send an OpenTelemetry span per call and stage; needs the extra `traces`. Where to, and how
    many, say the library's own variables, such as OTEL_EXPORTER_OTLP_ENDPOINT and
    OTEL_TRACES_SAMPLER."""

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """Least level that is logged."""

    log_texts: bool = False
    """Log query texts too; off, no text of a request or document is ever logged."""

    @property
    def cpus(self) -> int:
        """
        Return the CPUs that the process may count on.
        """
        return usable_cpus(self.cpu_request)

    @property
    def threads(self) -> int:
        """
        Return the threads of a forward pass that runs alone.
        """
        shares_cpus = self.qdrant_url is None
        return self.embed_threads or (1 if shares_cpus else min(self.cpus, MOST_THREADS))

    @property
    def inflight_limit(self) -> int:
        """
        Return the most requests in work at once.
        """
        return self.max_inflight or INFLIGHT_PER_CPU * self.cpus

    @field_validator("more_model_dirs", mode="before")
    @classmethod
    def _folders_are_a_list(cls, given: Any) -> Any:
        if not isinstance(given, str):
            return given
        msg = f'must be a JSON list of folders, such as ["models/a"], got {given!r}'
        try:
            found = json.loads(given)
        except (ValueError, RecursionError):
            raise ValueError(msg) from None
        if not isinstance(found, list) or "" in found:
            raise ValueError(msg)
        return found

    _port_is_own = field_validator("port", "health_port", "metrics_port", mode="before")(own_port)

    @field_validator("host")
    @classmethod
    def _host_is_not_empty(cls, host: str) -> str:
        if not host.strip():
            msg = "is empty; leave it out, or name an address, such as 127.0.0.1 or ::1"
            raise ValueError(msg)
        return host

    @field_validator("embedder_url", "reranker_url", "chat_url")
    @classmethod
    def _url_has_a_host(cls, url: str | None) -> str | None:
        return require_url(url, "http(s)://host[:port]")

    @model_validator(mode="after")
    def _embedder_is_complete(self) -> Settings:
        if self.embedder_url is not None and not self.embedder_model:
            problem = "embedder_url needs embedder_model, the model's name at that endpoint"
            raise wrong("embedder_model", problem)
        return self

    @model_validator(mode="after")
    def _tls_is_complete(self) -> Settings:
        if (self.tls_certificate_file is None) != (self.tls_key_file is None):
            missing = "tls_key_file" if self.tls_key_file is None else "tls_certificate_file"
            raise wrong(missing, "tls_certificate_file and tls_key_file need each other")
        if self.tls_client_ca_file is not None and self.tls_certificate_file is None:
            problem = "tls_client_ca_file needs tls_certificate_file and tls_key_file"
            raise wrong("tls_certificate_file", problem)
        if self.tls_client_ca_file is not None and self.api_keys_file is None:
            problem = "tls_client_ca_file needs api_keys_file, which says what each client may read"
            raise wrong("api_keys_file", problem)
        return self

    @model_validator(mode="after")
    def _reranker_is_complete(self) -> Settings:
        if self.reranker in ("cross_encoder", "cohere") and not self.reranker_model:
            problem = f"reranker {self.reranker} needs reranker_model, the model's name"
            raise wrong("reranker_model", problem)
        if self.reranker in ("tei", "cohere") and self.reranker_url is None:
            problem = f"reranker {self.reranker} needs reranker_url, the endpoint's address"
            raise wrong("reranker_url", problem)
        return self
