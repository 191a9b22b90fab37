"""
Traces of a running service as a collector receives them, and nothing of them where they are off.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
import pytest
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as collector_pb
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as collector_grpc
from opentelemetry.proto.trace.v1 import trace_pb2

from indexer.request import Summary
from server.settings import Settings
from server.traces import TracesUnavailable, make_traces
from tests.edge.in_process import running_service

QUESTION = "Are fines paid back?"
TRACE_ID, PARENT_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
METHOD = "contextassembler.v1.ContextAssemblerService/AssembleContext"


class Collector(collector_grpc.TraceServiceServicer):
    """
    Keeps what it receives.
    """

    def __init__(self) -> None:
        self.received: list[collector_pb.ExportTraceServiceRequest] = []

    def Export(self, request: Any, context: Any) -> Any:
        del context
        self.received.append(request)
        return collector_pb.ExportTraceServiceResponse()

    @property
    def spans(self) -> list[trace_pb2.Span]:
        return [
            span
            for request in self.received
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def service_names(self) -> set[str]:
        return {
            attribute.value.string_value
            for request in self.received
            for resource in request.resource_spans
            for attribute in resource.resource.attributes
            if attribute.key == "service.name"
        }


@contextmanager
def collecting(
    collector: collector_grpc.TraceServiceServicer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """
    Run a collector to which services are to send.
    """
    server = grpc.server(ThreadPoolExecutor(2))
    collector_grpc.add_TraceServiceServicer_to_server(collector, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
    yield
    server.stop(None)


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    made = Collector()
    with collecting(made, monkeypatch):
        yield made


def asking(tokens: int) -> service_pb.AssembleContextRequest:
    scope = pb.Scope(principals=pb.Principals(values=["staff"]))
    return service_pb.AssembleContextRequest(
        queries=[service_pb.Query(text=QUESTION)],
        targets=[service_pb.Target(index="handbook", scope=scope)],
        budget=pb.Budget(tokenizer="o200k_base", context_tokens=tokens),
    )


def code_of(span: trace_pb2.Span) -> int:
    codes = {one.key: one.value.int_value for one in span.attributes}
    return codes["rpc.grpc.status_code"]


async def test_a_call_is_one_span_below_the_callers_with_one_per_stage(
    settings: Settings, handbook: Summary, collector: Collector
) -> None:
    assert handbook.is_published
    parent = (("traceparent", f"00-{TRACE_ID}-{PARENT_ID}-01"),)
    async with running_service(settings, traces="otlp") as running:
        reply = await running.stub.AssembleContext(asking(200), metadata=parent)

    (call,) = [span for span in collector.spans if span.name == METHOD]
    stages = [span for span in collector.spans if span is not call and span.name != METHOD]
    assert call.kind == trace_pb2.Span.SPAN_KIND_SERVER
    assert (call.trace_id.hex(), call.parent_span_id.hex()) == (TRACE_ID, PARENT_ID)
    assert code_of(call) == 0
    told = {pb.Stage.Name(one.stage).removeprefix("STAGE_").lower() for one in reply.context.stages}
    assert {span.name for span in stages} == told
    assert {span.parent_span_id for span in stages} == {call.span_id}
    for span in stages:
        assert call.start_time_unix_nano - 10**6 <= span.start_time_unix_nano
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        assert span.end_time_unix_nano <= call.end_time_unix_nano + 10**6
    assert collector.service_names == {"context-assembler"}


class HangingCollector(collector_grpc.TraceServiceServicer):
    """
    Takes what it is sent and answers when it is let go.
    """

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.asked: list[grpc.ServicerContext] = []

    def Export(self, request: Any, context: Any) -> Any:
        del request
        self.asked.append(context)
        self.let_go.wait()
        return collector_pb.ExportTraceServiceResponse()


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[HangingCollector]:
    made = HangingCollector()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "600")
    with collecting(made, monkeypatch):
        yield made
        made.let_go.set()


async def test_a_collector_that_hangs_keeps_no_service_from_ending(
    settings: Settings,
    handbook: Summary,
    hanging: HangingCollector,
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert handbook.is_published
    async with running_service(settings, traces="otlp", log_level="INFO") as running:
        await running.stub.AssembleContext(asking(200))

    written = capfd.readouterr().out
    assert "the last traces could not be sent in time" in written
    assert "stopped" in written
    assert all(context.is_active() for context in hanging.asked)  # it was not waited for


async def test_a_refused_call_has_its_code_and_no_span_has_a_text(
    settings: Settings, handbook: Summary, collector: Collector
) -> None:
    assert handbook.is_published
    async with running_service(settings, traces="otlp") as running:
        with pytest.raises(grpc.aio.AioRpcError):
            await running.stub.AssembleContext(asking(0))
        await running.stub.AssembleContext(asking(300))

    calls = [span for span in collector.spans if span.name == METHOD]
    assert sorted(map(code_of, calls)) == [0, grpc.StatusCode.INVALID_ARGUMENT.value[0]]
    assert len({span.trace_id for span in calls}) == 2
    everything = b"".join(request.SerializeToString() for request in collector.received)
    assert QUESTION.encode() not in everything
    assert b"budget" not in everything


def test_off_the_library_is_not_even_loaded() -> None:
    code = "import sys, server.lifecycle; print('opentelemetry' in sys.modules)"

    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)

    assert ended.stdout.strip() == "False"


def test_without_the_library_switching_on_names_the_remedy(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    wanted = settings.model_copy(update={"traces": "otlp"})

    with pytest.raises(TracesUnavailable, match=r"context-assembler\[traces\]"):
        make_traces(wanted)
