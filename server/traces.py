"""
OpenTelemetry traces, where they are switched on: one span per call, and below it one per stage.

Spans hold names, codes and durations, never a query or a text. Where they go, and how many are
kept, the library reads from its own variables (`OTEL_EXPORTER_OTLP_ENDPOINT`,
`OTEL_TRACES_SAMPLER`, …).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

import grpc

from adapters.trace import TRACEPARENT
from assembler.report import Stage
from server.settings import Settings

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

SERVICE_NAME = "context-assembler"
CLOSING_SECONDS = 1.0


class TracesUnavailable(RuntimeError):
    """
    Traces are switched on and cannot be made.
    """


class Traces(Protocol):
    """
    What is told of calls and stages.
    """

    def call(self, service: str, method: str) -> AbstractContextManager[CallSpan]:
        """
        Follow the call of the block, below the caller's span where `TRACEPARENT` names one.
        """

    def stage(self, stage: Stage, start: float, end: float) -> None:
        """
        Tell of a stage of the present call, by the clock of `time.perf_counter`.
        """

    def close(self) -> bool:
        """
        Send what is left, and return whether that ended in time.
        """


class CallSpan(Protocol):
    """
    One call that is followed.
    """

    def ended(self, code: grpc.StatusCode) -> None:
        """
        Tell how the call ended.
        """


class Untraced:
    """
    Follows nothing and costs nothing.
    """

    def call(self, service: str, method: str) -> AbstractContextManager[CallSpan]:
        """
        Do nothing.
        """
        del service, method
        return nullcontext(self)

    def ended(self, code: grpc.StatusCode) -> None:
        """
        Do nothing.
        """

    def stage(self, stage: Stage, start: float, end: float) -> None:
        """
        Do nothing.
        """

    def close(self) -> bool:
        """
        Do nothing.
        """
        return True


class OtlpTraces:
    """
    Traces through the OpenTelemetry library.
    """

    def __init__(self, provider: TracerProvider) -> None:
        from opentelemetry import trace  # noqa: PLC0415 - only where traces are switched on
        from opentelemetry.trace.propagation import (  # noqa: PLC0415 - the same
            tracecontext,
        )

        self._provider = provider
        self._tracer = provider.get_tracer(SERVICE_NAME)
        self._kind = trace.SpanKind.SERVER
        self._error = trace.StatusCode.ERROR
        self._propagator = tracecontext.TraceContextTextMapPropagator()

    @contextmanager
    def call(self, service: str, method: str) -> Iterator[CallSpan]:
        """
        Follow the call of the block; dependencies are told of its span.
        """
        with self._tracer.start_as_current_span(
            f"{service}/{method}",
            context=self._propagator.extract({"traceparent": TRACEPARENT.get()}),
            kind=self._kind,
            attributes={"rpc.system": "grpc", "rpc.service": service, "rpc.method": method},
            record_exception=False,  # its text may quote what the caller asked
            set_status_on_exception=False,
        ) as span:
            carrier: dict[str, str] = {}
            self._propagator.inject(carrier)
            TRACEPARENT.set(carrier.get("traceparent", ""))
            yield _OtlpSpan(span, self._error)

    def stage(self, stage: Stage, start: float, end: float) -> None:
        """
        Tell of a stage of the present call.
        """
        ahead = time.time_ns() - time.perf_counter_ns()
        began, ended = (round(seconds * 1e9) + ahead for seconds in (start, end))
        self._tracer.start_span(stage.value, start_time=began).end(ended)

    def close(self) -> bool:
        """
        Send what is left for a second; an endpoint that hangs keeps no service from ending.
        """
        sending = threading.Thread(target=self._provider.shutdown, daemon=True)
        sending.start()
        sending.join(CLOSING_SECONDS)
        return not sending.is_alive()


class _OtlpSpan:
    def __init__(self, span: Any, error: Any) -> None:
        self._span = span
        self._error = error

    def ended(self, code: grpc.StatusCode) -> None:
        self._span.set_attribute("rpc.grpc.status_code", code.value[0])
        if code in (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNAVAILABLE):
            self._span.set_status(self._error)


def make_traces(settings: Settings) -> Traces:
    """
    Return what the settings ask for.

    Raises:
        TracesUnavailable: The library is not installed.
    """
    if settings.traces == "none":
        return Untraced()
    try:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (  # noqa: PLC0415 - extra
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - the same
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - the same
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - the same
    except ImportError as error:
        raise TracesUnavailable(
            f"traces are switched on, and {error.name} is not installed; "
            "install context-assembler[traces], or set CONTEXT_ASSEMBLER_TRACES=none"
        ) from error
    named = Resource.create()  # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES
    own = Resource({"service.name": SERVICE_NAME})
    is_named = not str(named.attributes["service.name"]).startswith("unknown_service")
    provider = TracerProvider(resource=named if is_named else named.merge(own))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return OtlpTraces(provider)
