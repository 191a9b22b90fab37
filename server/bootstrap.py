"""
The composition root: settings to adapters to core to a running server.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import grpc
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1.context_assembler_service_pb2_grpc import (
    add_ContextAssemblerServiceServicer_to_server,
)
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from prometheus_client import CollectorRegistry, disable_created_metrics

from adapters.attachment import AttachedInvalid
from adapters.cross_encoder import CrossEncoderReranker
from adapters.embedder import OnnxEmbedder
from adapters.head import SETTLE_SECONDS
from adapters.records import Retention
from adapters.remembered_counts import RememberedTokenizers
from adapters.remembered_queries import RememberedQueries, requests_of
from adapters.remote_embedder import RemoteEmbedder
from adapters.remote_reranker import Dialect, RemoteReranker
from adapters.token_counters import TokenizerFolder
from assembler.assemble import ContextAssembler
from assembler.errors import EmbedderUnavailable
from assembler.ports import Embedder, Reranker
from server.access import Access
from server.admission import Admission
from server.attached_watch import AttachedWatch
from server.backend import Backend, make_backend, records_of
from server.binding import bound
from server.callers import CallersInvalid
from server.data_folder import make_data_folder
from server.denials import Denials
from server.dependency_metrics import DependencyMetrics
from server.index_metrics import IndexMetrics
from server.index_watch import IndexWatch
from server.interceptors import CallInterceptor
from server.metrics import Metrics
from server.profiles import ProfilesInvalid, read_profiles
from server.readiness import Readiness
from server.service import ContextAssemblerService, Parts
from server.setting_rules import SettingUnusable, naming
from server.settings import Settings
from server.tls import TlsFiles, server_credentials
from server.traces import Traces, make_traces

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

DESCRIPTOR = service_pb.DESCRIPTOR.services_by_name["ContextAssemblerService"]
READINESS = DESCRIPTOR.full_name
LIVENESS = "liveness"


@dataclass(frozen=True, slots=True)
class Service:
    """
    A server that is built and bound but not started.

    Attributes:
        server: Our service, health and reflection.
        health_server: Health alone, in plaintext, for probes.
        health: The state that both show.
        readiness: What of that state says whether the service serves.
    """

    server: grpc.aio.Server
    health_server: grpc.aio.Server
    health: health.aio.HealthServicer
    readiness: Readiness
    port: int
    health_port: int
    metrics: Metrics
    access: Access
    admission: Admission
    denials: Denials
    index_watch: IndexWatch
    attached_watch: AttachedWatch
    backend: Backend
    traces: Traces


def build(settings: Settings, logger: FilteringBoundLogger) -> Service:
    """
    Return everything wired, with models and tokenizers loaded.

    Raises:
        TlsInvalid: A TLS file cannot be used.
        TracesUnavailable: Traces are switched on, and their library is not installed.
        SettingUnusable: A model, a tokenizer or a file cannot be loaded, a port cannot be bound, or
            the folder of the embedded engine not made.
        ContextAssemblerError: A remote model or a reranker cannot be used.
    """
    traces = make_traces(settings)
    disable_created_metrics()  # type: ignore[no-untyped-call] # the library leaves it untyped
    counters = RememberedTokenizers(TokenizerFolder(settings.tokenizer_dir))
    if not counters.names():
        raise SettingUnusable(
            "tokenizer_dir",
            f"{settings.tokenizer_dir} is missing or holds no tokenizer; "
            "`context-assembler tokenizers` fills it",
        )
    first = make_embedder(settings)
    embedders = (first, *more_embedders(settings, first))
    embedder, *more = map(RememberedQueries, embedders)
    metrics = Metrics(
        CollectorRegistry(),
        version=version("context-assembler"),
        caches={
            "query_embedding": lambda: requests_of((embedder, *more)),
            "token_count": counters.requests,
            "index_record": lambda: records_of(backend),
        },
        methods=[(READINESS, method.name) for method in DESCRIPTOR.methods],
        tokenizers=counters.names(),
        inflight_limit=settings.inflight_limit,
    )
    state = health.aio.HealthServicer()
    readiness = Readiness(state, ("", READINESS))
    calls = None
    if settings.qdrant_url is not None:
        calls = DependencyMetrics(metrics.registry, readiness.turned)
    make_data_folder(settings)
    with naming("attached_file", AttachedInvalid):
        backend = make_backend(settings, calls)
    with naming("profiles_file", ProfilesInvalid):
        profiles = read_profiles(settings.profiles_file)
    with naming("api_keys_file", CallersInvalid):
        access = Access(settings.api_keys_file, metrics, logger)
    parts = Parts(
        assembler=ContextAssembler(
            catalog=backend.index,
            index=backend.index,
            embedder=embedder,
            counters=counters,
            profiles=profiles,
            clock=time.perf_counter,
            reranker=make_reranker(settings),
            more_embedders=more,
            observe=traces.stage,
        ),
        catalog=backend.index,
        index=backend.index,
        counters=counters,
        listings=backend.listings,
        record=metrics.record,
        settings=settings,
    )
    admission = Admission(
        running=settings.inflight_limit,
        waiting=settings.max_waiting,
        patience_seconds=settings.max_wait_seconds,
    )
    interceptor = CallInterceptor(
        settings=settings,
        access=access,
        admission=admission,
        metrics=metrics,
        traces=traces,
        logger=logger,
    )
    server = grpc.aio.server(interceptors=[interceptor], options=_options(settings))
    health_server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    add_ContextAssemblerServiceServicer_to_server(ContextAssemblerService(parts), server)
    for one in (server, health_server):
        health_pb2_grpc.add_HealthServicer_to_server(state, one)
    index_metrics = IndexMetrics(metrics.registry)
    names = (READINESS, health.SERVICE_NAME, reflection.SERVICE_NAME)
    reflection.enable_server_reflection(names, server)
    return Service(
        server=server,
        health_server=health_server,
        health=state,
        readiness=readiness,
        port=_bound(server, settings, logger),
        health_port=bound(
            health_server.add_insecure_port, settings.host, settings.health_port, "health_port"
        ),
        metrics=metrics,
        access=access,
        admission=admission,
        denials=Denials(backend.index.denied_in, metrics, logger),
        index_watch=IndexWatch(
            backend.heads,
            settings.metrics_tenant,
            Retention(settings.retained_revisions, settings.retired_seconds),
            index_metrics,
            logger,
        ),
        attached_watch=AttachedWatch(backend.attached, embedders, index_metrics, logger),
        backend=backend,
        traces=traces,
    )


def _bound(server: grpc.aio.Server, settings: Settings, logger: FilteringBoundLogger) -> int:
    """
    Return the port that the server is bound to, with TLS where its files are named.
    """
    certificate, key = settings.tls_certificate_file, settings.tls_key_file
    if certificate is None or key is None:
        if settings.api_keys_file is not None:
            logger.warning("keys arrive in plaintext unless something before this port has TLS")
        return bound(server.add_insecure_port, settings.host, settings.port, "port")
    files = TlsFiles(certificate, key, settings.tls_client_ca_file)
    credentials = server_credentials(files, logger)
    add_port = partial(server.add_secure_port, server_credentials=credentials)
    return bound(add_port, settings.host, settings.port, "port")


def make_embedder(settings: Settings) -> Embedder:
    """
    Return the exported model, or the remote one where one is named.
    """
    if settings.embedder_url is None:
        with naming("model_dir", EmbedderUnavailable):
            return OnnxEmbedder(settings.model_dir, threads=settings.threads)
    key = settings.embedder_api_key
    return RemoteEmbedder(
        settings.embedder_url,
        model=settings.embedder_model,
        dimension=settings.embedder_dimension,
        api_key=key.get_secret_value() if key else None,
        query_prefix=settings.embedder_query_prefix,
        sha256=settings.embedder_sha256,
    )


def more_embedders(settings: Settings, first: Embedder) -> tuple[Embedder, ...]:
    """
    Return the further models, each another one.

    Raises:
        EmbedderUnavailable: A folder cannot be loaded, or holds a model that is there already.
    """
    places = {first.identity.sha256: "the first model"}
    found: list[Embedder] = []
    for folder in settings.more_model_dirs:
        with naming("more_model_dirs", EmbedderUnavailable):
            embedder = OnnxEmbedder(folder, threads=settings.threads)
        sha256 = embedder.identity.sha256
        if sha256 in places:
            raise SettingUnusable(
                "more_model_dirs",
                f"{folder} holds the same model as {places[sha256]}; leave one out",
            )
        places[sha256] = str(folder)
        found.append(embedder)
    return tuple(found)


def make_reranker(settings: Settings) -> Reranker | None:
    """
    Return what scores candidates again, loaded; None, the default, where nothing is configured.
    """
    if settings.reranker == "none":
        return None
    if settings.reranker == "cross_encoder":
        return CrossEncoderReranker(settings.reranker_model, threads=settings.threads)
    key = settings.reranker_api_key
    return RemoteReranker(
        settings.reranker_url or "",
        dialect=Dialect(settings.reranker),
        model=settings.reranker_model,
        api_key=key.get_secret_value() if key else None,
        timeout_seconds=settings.reranker_timeout_seconds,
    )


def _options(settings: Settings) -> list[tuple[str, Any]]:
    return [
        ("grpc.max_receive_message_length", settings.max_message_bytes),
        ("grpc.max_send_message_length", settings.max_message_bytes),
        ("grpc.so_reuseport", 0),
        ("grpc.max_connection_age_ms", round(1000 * settings.max_connection_age_seconds)),
        ("grpc.max_connection_age_grace_ms", round(1000 * SETTLE_SECONDS)),
    ]
