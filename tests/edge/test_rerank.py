"""
Reranking by a running service: with an endpoint, with a model of its own, and when it fails.
"""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc
import pytest
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb
from contextassembler.v1.context_assembler_service_pb2_grpc import ContextAssemblerServiceStub
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from pydantic import ValidationError

from assembler.errors import RerankerUnavailable
from indexer.request import Summary
from server.settings import Settings
from tests.edge.handbook import asking
from tests.edge.in_process import running_service
from tests.tiny_model import tiny_cross_encoder

QUESTION = "What happens when I lose a receipt?"
WANTED = "Fines are never paid"
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Endpoint(ThreadingHTTPServer):
    """
    Speaks as text-embeddings-inference does, and likes one sentence of the handbook best.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status = 200
        self.seen: list[tuple[dict[str, Any], str | None]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append((body, self.headers.get("traceparent")))
        entries = [
            {"index": number, "score": float(WANTED in text)}
            for number, text in enumerate(body["texts"])
        ]
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(json.dumps(entries).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@asynccontextmanager
async def served(settings: Settings, **chosen: Any) -> AsyncIterator[ContextAssemblerServiceStub]:
    """
    Run the service in this process; every value is checked as at a real start.
    """
    mine = Settings(**{**settings.model_dump(), **chosen})
    async with running_service(mine) as running:
        yield running.stub


def reranking(rerank: pb.Rerank.ValueType) -> service_pb.AssembleContextRequest:
    request = asking(QUESTION)
    request.retrieval.rerank = rerank
    return request


def signals(scores: Any) -> set[int]:
    return {score.signal for score in scores}


async def test_an_endpoint_decides_what_comes_first(
    settings: Settings, handbook: Summary, endpoint: Endpoint
) -> None:
    async with served(settings, reranker="tei", reranker_url=endpoint.url) as stub:
        plain = (await stub.AssembleContext(reranking(pb.RERANK_UNSPECIFIED))).context
        off = (await stub.AssembleContext(reranking(pb.RERANK_OFF))).context
        assert endpoint.seen == []
        call = stub.AssembleContext(reranking(pb.RERANK_ON), metadata=(("traceparent", TRACE),))
        reranked = (await call).context

    assert plain.context == off.context
    assert WANTED not in plain.passages[0].text
    assert WANTED in reranked.passages[0].text
    assert pb.SIGNAL_RERANK in signals(reranked.passages[0].scores)
    assert pb.STAGE_RERANK in {stage.stage for stage in reranked.stages}
    assert pb.STAGE_RERANK not in {stage.stage for stage in plain.stages}
    assert [one.effective.retrieval.rerank for one in (plain, off, reranked)] == [
        pb.RERANK_OFF,
        pb.RERANK_OFF,
        pb.RERANK_ON,
    ]
    assert reranked.dispositions.candidates == plain.dispositions.candidates
    assert {body["query"] for body, _ in endpoint.seen} == {QUESTION}
    assert {trace for _, trace in endpoint.seen} == {TRACE}


async def test_an_endpoint_that_fails_is_unavailable_with_a_hint(
    settings: Settings, handbook: Summary, endpoint: Endpoint
) -> None:
    endpoint.status = 503
    async with served(settings, reranker="tei", reranker_url=endpoint.url) as stub:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.AssembleContext(reranking(pb.RERANK_ON))

    status = rpc_status.from_call(caught.value)  # type: ignore[arg-type]
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    assert status is not None
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert status.details[0].Unpack(info)
    assert info.reason == "ERROR_REASON_RERANKER_UNAVAILABLE"
    assert status.details[1].Unpack(retry)
    assert retry.retry_delay.ToMilliseconds() > 0


async def test_a_model_in_the_service_reranks(
    settings: Settings, handbook: Summary, tmp_path: Path
) -> None:
    folder = tiny_cross_encoder(tmp_path, labels=1)

    async with served(settings, reranker="cross_encoder", reranker_model=str(folder)) as stub:
        first = (await stub.AssembleContext(reranking(pb.RERANK_ON))).context
        second = (await stub.AssembleContext(reranking(pb.RERANK_ON))).context
        plain = (await stub.AssembleContext(reranking(pb.RERANK_OFF))).context

    assert first.context == second.context
    assert first.request_fingerprint == second.request_fingerprint != plain.request_fingerprint
    # the default profile has the first 50 read
    listed = [signals(one.scores) for one in first.dispositions.list]
    assert sum(pb.SIGNAL_RERANK in one for one in listed) == min(len(listed), 50)


async def test_a_model_that_is_not_there_fails_the_start(
    settings: Settings, tmp_path: Path
) -> None:
    missing = str(tmp_path / "none")

    with pytest.raises(RerankerUnavailable, match="cannot be loaded"):
        async with served(settings, reranker="cross_encoder", reranker_model=missing):
            pass


@pytest.mark.parametrize(
    ("chosen", "problem"),
    [
        ({"reranker": "bge"}, "none"),
        ({"reranker": "cross_encoder"}, "reranker_model"),
        ({"reranker": "tei"}, "reranker_url"),
        ({"reranker": "cohere", "reranker_url": "http://h"}, "reranker_model"),
        ({"reranker": "cohere", "reranker_model": "m"}, "reranker_url"),
        ({"reranker": "tei", "reranker_url": "h:80"}, "http"),
        ({"reranker_timeout_seconds": 0}, "greater than 0"),
    ],
)
def test_incomplete_settings_fail_the_start_by_name(chosen: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        Settings(**chosen)
