"""
Collections of other makers that are made again with something else, behind a running service.
"""

from __future__ import annotations

import asyncio

import grpc
import pytest
import structlog
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb
from prometheus_client import CollectorRegistry
from qdrant_client.http import models as rest
from structlog.testing import capture_logs

from server.attached_watch import AttachedWatch
from server.index_metrics import IndexMetrics
from tests.contract.qdrant_reader import until
from tests.edge.attached_service import QUESTION, Attached
from tests.edge.in_process import Running, reason_of, running_service

pytestmark = pytest.mark.asyncio(loop_scope="module")

DOT = rest.VectorParams(size=384, distance=rest.Distance.DOT)
PAYLOAD = {"page_content": "Goods are returned within 30 days.", "metadata": {"source": "a.md"}}


def unusable(running: Running) -> float | None:
    registry = running.service.metrics.registry
    return registry.get_sample_value("context_assembler_attached_unusable")


async def ask(running: Running, index: str) -> pb.AssembledContext:
    request = service_pb.AssembleContextRequest(
        queries=[service_pb.Query(text=QUESTION)],
        targets=[service_pb.Target(index=index)],
        budget=pb.Budget(tokenizer="o200k_base", context_tokens=200),
    )
    return (await running.stub.AssembleContext(request, timeout=60)).context


def mended(attached: Attached) -> None:
    """
    Make the collection again as it was attached.
    """
    attached.writer.client.delete_collection("bare")
    attached.writer.create("bare")
    attached.writer.write("bare", [str(PAYLOAD["page_content"])], [PAYLOAD], [1])


async def test_a_running_service_refuses_another_distance_and_serves_what_is_mended(
    attached: Attached,
) -> None:
    running, client = attached.running, attached.writer.client
    looks = running.service.backend.attached
    assert looks is not None
    assert (await ask(running, "bare")).passages

    client.delete_collection("bare")
    client.create_collection("bare", DOT)
    await looks.look("bare")
    with pytest.raises(grpc.aio.AioRpcError, match=r"compared by Dot.*distance Cosine") as refused:
        await ask(running, "bare")
    other = await ask(running, "lc")
    mended(attached)
    await looks.look("bare")
    again = await ask(running, "bare")

    assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert reason_of(refused.value) == "INDEX_UNUSABLE"
    assert other.passages
    assert "30 days" in again.context


async def test_a_service_that_starts_says_what_it_cannot_read_and_serves_the_rest(
    attached: Attached,
) -> None:
    attached.writer.client.delete_collection("bare")
    attached.writer.client.create_collection("bare", DOT)

    async with running_service(attached.place) as running:
        await until(lambda: unusable(running) == 2, lambda: asyncio.sleep(0))  # one is missing
        with pytest.raises(grpc.aio.AioRpcError, match="compared by Dot"):
            await ask(running, "bare")
        other = await ask(running, "lc")
    mended(attached)

    assert other.passages


async def test_what_cannot_be_read_is_logged_once_and_when_it_can_again(
    attached: Attached,
) -> None:
    backend, registry = attached.running.service.backend, CollectorRegistry()
    watch = AttachedWatch(
        backend.attached, [attached.embedder], IndexMetrics(registry), structlog.get_logger()
    )

    def shown() -> float | None:
        return registry.get_sample_value("context_assembler_attached_unusable")

    with capture_logs() as logs:
        await watch.look()
        assert shown() == 1
        attached.writer.client.delete_collection("bare")
        await watch.look()
        await watch.look()
        assert shown() == 2
        attached.server.fail["Get"] = [grpc.StatusCode.INTERNAL]
        await watch.look()
        assert shown() == 2
        mended(attached)
        await watch.look()

    assert shown() == 1
    told = [(one["log_level"], one["index"], one["event"]) for one in logs]
    assert told == [
        ("error", "gone", "attached collection cannot be read"),
        ("error", "bare", "attached collection cannot be read"),
        ("warning", "bare", "attached collection cannot be looked at"),
        ("info", "bare", "attached collection can be read again"),
    ]
    assert "'bare' is missing" in logs[1]["problem"]


async def test_a_service_without_attached_collections_looks_at_nothing() -> None:
    registry = CollectorRegistry()

    await AttachedWatch(None, [], IndexMetrics(registry), structlog.get_logger()).look()

    assert registry.get_sample_value("context_assembler_attached_unusable") == 0
