"""
Every metric, and the one place where a finished context is turned into them.

Label values come from the enums that the protos mirror; every series exists from the start.
"""

from __future__ import annotations

import collections
import platform
from collections.abc import Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from assembler.report import AssembledContext, Degradation, Disposition, Note, Stage
from server.cache_metrics import CacheCollector, CacheRequests

STAGE_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
GAP_SECONDS = (0.001, 0.0025, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.25, 1.0)
CALL_SECONDS = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75),
    *(1.0, 2.5, 5.0, 10.0),
)
TOKENS = (0.0, *(float(2**power) for power in range(7, 18)))
RATIOS = (0.1, 0.25, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99, 1.0)
SMALL_COUNTS = (0.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0)
OTHER = "_OTHER"
OUTCOMES = ("complete", "trimmed", "empty", "degraded")
RELOADS = ("changed", "refused")
DENIALS = ("damaged", "scope", "key")
"""Why a point that a read returned is dropped, as adapters count it."""

REJECTIONS = ("overload", "deadline_too_short", "invalid")
CODES = (
    *("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND"),
    *("ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION"),
    *("ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"),
    "UNAUTHENTICATED",
)
QUEUES = ("admission",)
PREFIX = "context_assembler_"


class Metrics:
    """
    The service's metrics in one registry.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        *,
        version: str,
        methods: Sequence[tuple[str, str]],
        tokenizers: Sequence[str],
        inflight_limit: int,
        caches: Mapping[str, CacheRequests] | None = None,
    ) -> None:
        """
        Create every series.

        Args:
            registry: Where they are registered.
            version: The service's own version.
            methods: Service and method names that calls are labelled by.
            tokenizers: Names that contexts are labelled by.
            inflight_limit: Requests that may be in work at once.
            caches: By the cache's name, what returns its hits and misses so far.
        """
        self.registry = registry
        self._tokenizers = frozenset(tokenizers)
        rpc = ("grpc_type", "grpc_service", "grpc_method")
        self.started = Counter(
            "grpc_server_started_total", "Calls started.", rpc, registry=registry
        )
        self.handled = Counter(
            "grpc_server_handled_total",
            "Calls ended, by status code.",
            (*rpc, "grpc_code"),
            registry=registry,
        )
        self.handling = Histogram(
            "grpc_server_handling_seconds",
            "Time from a call's start to its end.",
            rpc,
            buckets=CALL_SECONDS,
            registry=registry,
        )
        self.stage = Histogram(
            f"{PREFIX}stage_duration_seconds",
            "Time of each stage of a request.",
            ("stage",),
            buckets=STAGE_SECONDS,
            registry=registry,
        )
        self.inflight = Gauge(f"{PREFIX}inflight_requests", "Requests in work.", registry=registry)
        self.inflight_limit = Gauge(
            f"{PREFIX}inflight_requests_limit",
            "Requests that may be in work at once.",
            registry=registry,
        )
        self.queue_length = Gauge(
            f"{PREFIX}queue_length", "Requests that wait.", ("queue",), registry=registry
        )
        self.queue_wait = Histogram(
            f"{PREFIX}queue_wait_seconds",
            "Time that requests waited before they were worked on.",
            ("queue",),
            buckets=STAGE_SECONDS,
            registry=registry,
        )
        self.loop_gaps = Histogram(
            f"{PREFIX}event_loop_gap_seconds",
            "How late the event loop came to a beat that is due every 10 ms.",
            buckets=GAP_SECONDS,
            registry=registry,
        )
        registry.register(CacheCollector(caches or {}))
        self.rejected = Counter(
            f"{PREFIX}requests_rejected_total",
            "Requests refused before any work.",
            ("reason",),
            registry=registry,
        )
        self.budget = Histogram(
            f"{PREFIX}request_budget_tokens",
            "Limit of each request's context.",
            buckets=TOKENS,
            registry=registry,
        )
        self.context = Histogram(
            f"{PREFIX}context_tokens",
            "Full count of each context.",
            ("tokenizer",),
            buckets=TOKENS,
            registry=registry,
        )
        self.overhead = Histogram(
            f"{PREFIX}context_overhead_tokens",
            "Headings, markers and separators of each context.",
            buckets=(0.0, *(float(2**power) for power in range(3, 11))),
            registry=registry,
        )
        self.utilization = Histogram(
            f"{PREFIX}budget_utilization_ratio",
            "Context tokens over the limit.",
            buckets=RATIOS,
            registry=registry,
        )
        self.correction = Histogram(
            f"{PREFIX}recount_correction_tokens",
            "Differences between running estimates and full counts.",
            buckets=(0.0, *(float(2**power) for power in range(7))),
            registry=registry,
        )
        self.exceeded = Counter(
            f"{PREFIX}budget_exceeded_total",
            "Contexts over their limit; stays 0.",
            registry=registry,
        )
        self.responses = Counter(
            f"{PREFIX}responses_total", "Contexts sent.", ("outcome",), registry=registry
        )
        self.candidates = Counter(
            f"{PREFIX}candidates_total",
            "Candidates that searches returned.",
            registry=registry,
        )
        self.dispositions = Counter(
            f"{PREFIX}dispositions_total",
            "What became of candidates; sums to the candidates.",
            ("disposition",),
            registry=registry,
        )
        self.notes = Counter(
            f"{PREFIX}candidate_notes_total",
            "What else was noted of candidates; any number of notes each.",
            ("note",),
            registry=registry,
        )
        self.sources = Histogram(
            f"{PREFIX}context_sources",
            "Distinct sources of each context.",
            buckets=SMALL_COUNTS,
            registry=registry,
        )
        self.denied = Counter(
            f"{PREFIX}denied_points_total",
            "Points that came back from an index and were dropped by the check after the read.",
            ("reason",),
            registry=registry,
        )
        self.callers_reloads = Counter(
            f"{PREFIX}callers_reloads_total",
            "Changes of the file of callers: taken over, or refused as broken.",
            ("outcome",),
            registry=registry,
        )
        self.callers_stale = Gauge(
            f"{PREFIX}callers_stale",
            "1 while the file of callers is broken and an earlier one serves.",
            registry=registry,
        )
        self.build = Gauge(
            f"{PREFIX}build_info", "Always 1.", ("version", "python_version"), registry=registry
        )
        self.build.labels(version, platform.python_version()).set(1)
        self.inflight_limit.set(inflight_limit)
        self._create_series(methods)

    def _create_series(self, methods: Sequence[tuple[str, str]]) -> None:
        for service, method in (*methods, (OTHER, OTHER)):
            self.started.labels("unary", service, method)
            self.handling.labels("unary", service, method)
            for code in CODES:
                self.handled.labels("unary", service, method, code)
        for metric, values in (
            (self.queue_length, QUEUES),
            (self.queue_wait, QUEUES),
            (self.stage, [one.value for one in Stage]),
            (self.dispositions, [one.value for one in Disposition]),
            (self.notes, [one.value for one in Note]),
            (self.responses, OUTCOMES),
            (self.rejected, REJECTIONS),
            (self.denied, DENIALS),
            (self.callers_reloads, RELOADS),
            (self.context, (*self._tokenizers, OTHER)),
        ):
            for value in values:
                metric.labels(value)

    def waited(self, queue: str, seconds: float) -> None:
        """
        Note how long a request waited.
        """
        self.queue_wait.labels(queue).observe(seconds)

    def record(self, context: AssembledContext) -> None:
        """
        Count one finished context.
        """
        budget = context.budget
        for time in context.stages:
            self.stage.labels(time.stage.value).observe(time.seconds)
        self.budget.observe(budget.limit)
        known = budget.tokenizer in self._tokenizers
        self.context.labels(budget.tokenizer if known else OTHER).observe(budget.context)
        self.overhead.observe(budget.headings + budget.markers)
        self.utilization.observe(budget.context / budget.limit if budget.limit else 0.0)
        self.correction.observe(context.corrections)
        if budget.context > budget.limit:
            self.exceeded.inc()
        self.candidates.inc(len(context.candidates))
        fates = collections.Counter(one.disposition for one in context.candidates)
        for disposition, times in fates.items():
            self.dispositions.labels(disposition.value).inc(times)
        notes = collections.Counter(note for one in context.candidates for note in one.notes)
        for note, times in notes.items():
            self.notes.labels(note.value).inc(times)
        self.responses.labels(outcome_of(context)).inc()
        self.sources.observe(
            len({source.version for passage in context.passages for source in passage.sources})
        )


def outcome_of(context: AssembledContext) -> str:
    """
    Return how a context ended: degraded, empty, trimmed by its limits, or complete. What an index
    never had is not a request's bad luck.
    """
    if set(context.degradations) - {Degradation.TEXT_SEARCH_MISSING}:
        return "degraded"
    if not context.passages:
        return "empty"
    trimming = (Disposition.OVER_BUDGET, Disposition.SOURCE_SHARE, Disposition.SECTION_LIMIT)
    is_trimmed = any(one.disposition in trimming for one in context.candidates)
    return "trimmed" if is_trimmed else "complete"
