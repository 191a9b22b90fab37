"""
What is measured of calls to the Qdrant server.
"""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from adapters.calls import QDRANT_OPERATIONS, BreakerState
from server.metrics import CODES, OTHER, PREFIX, STAGE_SECONDS

QDRANT = "qdrant"


class DependencyMetrics:
    """
    The `CallObserver` of the Qdrant server.
    """

    def __init__(
        self, registry: CollectorRegistry, turned: Callable[[BreakerState], None] | None = None
    ) -> None:
        """
        Create every series.

        Args:
            registry: Where they are registered.
            turned: Told every new state of the breaker, too.
        """
        self._turned = turned
        self._seconds = Histogram(
            f"{PREFIX}dependency_request_duration_seconds",
            "Time of calls to what the service depends on.",
            ("dependency", "operation"),
            buckets=STAGE_SECONDS,
            registry=registry,
        )
        self._requests = Counter(
            f"{PREFIX}dependency_requests_total",
            "Calls to what the service depends on, by status code.",
            ("dependency", "operation", "code"),
            registry=registry,
        )
        self._retries = Counter(
            f"{PREFIX}dependency_retries_total",
            "Calls sent again, since they found nobody.",
            ("dependency",),
            registry=registry,
        )
        self._refused = Counter(
            f"{PREFIX}dependency_refused_total",
            "Calls not sent, since the dependency has not been answering.",
            ("dependency",),
            registry=registry,
        )
        self._state = Gauge(
            f"{PREFIX}dependency_breaker_state",
            "1 for the state that the breaker has, 0 for the others.",
            ("dependency", "state"),
            registry=registry,
        )
        for operation in QDRANT_OPERATIONS:
            self._seconds.labels(QDRANT, operation)
            for code in CODES:
                self._requests.labels(QDRANT, operation, code)
        self._retries.labels(QDRANT)
        self._refused.labels(QDRANT)
        self._show(BreakerState.CLOSED)

    def ended(self, operation: str, code: str, seconds: float) -> None:
        """
        Count a call.
        """
        self._seconds.labels(QDRANT, operation).observe(seconds)
        self._requests.labels(QDRANT, operation, code if code in CODES else OTHER).inc()

    def retried(self) -> None:
        """
        Count a call that is sent again.
        """
        self._retries.labels(QDRANT).inc()

    def refused(self) -> None:
        """
        Count a call that was not sent.
        """
        self._refused.labels(QDRANT).inc()

    def turned(self, state: BreakerState) -> None:
        """
        Show the breaker's state.
        """
        self._show(state)
        if self._turned is not None:
            self._turned(state)

    def _show(self, state: BreakerState) -> None:
        for one in BreakerState:
            self._state.labels(QDRANT, one.value).set(one is state)
