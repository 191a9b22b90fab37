"""
Faults between a running service and its Qdrant server: the right status, inside the deadline, and
recovery without a restart.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import grpc
import pytest
import pytest_asyncio
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb
from grpc_health.v1 import health_pb2_grpc
from rich.console import Console

from cli.index import index_paths
from indexer.request import IndexRequest
from server.bootstrap import LIVENESS
from server.settings import Settings
from tests.edge.cabled import DOCUMENT, LEDGER, Cabled, recovered, refusal_of, until_open
from tests.edge.in_process import channel_to, reason_of, running_service
from tests.qdrant_server.cable import Cable
from tests.qdrant_server.server import TestServer

SHORT = 0.5

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def stored(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestServer]:
    folder = tmp_path_factory.mktemp("documents")
    (folder / "rules.md").write_text(DOCUMENT, encoding="utf-8")
    with TestServer() as server:
        to = settings.model_copy(update={"qdrant_url": f"http://127.0.0.1:{server.port}"})
        index_paths(IndexRequest(index="docs", paths=(folder,)), to, Console(quiet=True))
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(settings: Settings, stored: TestServer) -> AsyncIterator[Cabled]:
    """
    Return the one service of all tests: it is never started again.
    """
    with Cable(stored.port) as cable:
        changed = {
            "qdrant_url": f"http://127.0.0.1:{cable.port}",
            "qdrant_timeout_seconds": 2.0,
        }
        async with (
            running_service(settings, **changed) as running,
            channel_to(running.service.health_port) as probes,
        ):
            yield Cabled(running, health_pb2_grpc.HealthStub(probes), stored, cable)


@pytest_asyncio.fixture(loop_scope="module")
async def cabled(served: Cabled) -> AsyncIterator[Cabled]:
    assert "Fines are never paid back." in await served.ask()
    served.before = served.counts()
    yield served
    qdrant = served.qdrant
    qdrant.delay_seconds, qdrant.refuse, qdrant.is_terse = 0.0, None, False
    qdrant.emptied.clear()
    qdrant.fail.clear()
    served.cable.is_dead = False
    await recovered(served)


async def test_slow_is_told_inside_the_callers_deadline(cabled: Cabled) -> None:
    cabled.qdrant.delay_seconds = 60.0

    faults = [await cabled.fail(4 * SHORT) for _ in range(3)]

    assert {fault.code.name for fault in faults} == {"DEADLINE_EXCEEDED"}
    # A client that gives up by itself knows no reason: who has one was told in time.
    assert [fault for fault in faults if fault.reason == "DEADLINE_EXCEEDED"]
    assert cabled.rise("requests_total DEADLINE_EXCEEDED qdrant") >= 1
    cabled.qdrant.delay_seconds = 0.0
    await recovered(cabled)


async def test_slower_than_the_service_waits_is_unavailable(cabled: Cabled) -> None:
    cabled.qdrant.delay_seconds = 60.0

    fault = await cabled.fail(20.0)

    assert (fault.code.name, fault.reason) == ("UNAVAILABLE", "INDEX_UNAVAILABLE")
    assert fault.has_retry_hint
    assert cabled.rise("retries_total qdrant") == 0
    cabled.qdrant.delay_seconds = 0.0
    await recovered(cabled)


async def test_slow_for_long_is_refused_at_once_while_it_lasts(cabled: Cabled) -> None:
    cabled.qdrant.delay_seconds = 60.0

    await until_open(cabled, SHORT)
    fault = await cabled.fail(60.0)

    assert (fault.code.name, fault.reason) == ("UNAVAILABLE", "INDEX_UNAVAILABLE")
    assert fault.has_retry_hint
    assert cabled.rise("refused_total qdrant") > 0
    cabled.qdrant.delay_seconds = 0.0
    await recovered(cabled)
    assert cabled.counts()["breaker_state closed qdrant"] == 1


async def test_cut_is_not_noticed(cabled: Cabled) -> None:
    cabled.qdrant.delay_seconds = 0.3
    asked = asyncio.create_task(cabled.ask())
    await asyncio.sleep(0.15)

    cabled.cable.cut()
    cabled.qdrant.delay_seconds = 0.0

    assert "Fines are never paid back." in await asked
    assert cabled.rise("retries_total qdrant") >= 1
    assert not cabled.is_given_up


async def test_cut_by_the_server_is_not_noticed(cabled: Cabled) -> None:
    cabled.qdrant.fail["QueryBatch"] = [grpc.StatusCode.UNAVAILABLE]

    assert "Fines are never paid back." in await cabled.ask()

    assert cabled.rise("retries_total qdrant") == 1


async def test_half_open_is_given_up_and_left_behind(cabled: Cabled) -> None:
    cabled.cable.is_dead = True

    first = await cabled.fail(SHORT)
    await until_open(cabled, SHORT)
    later = await cabled.fail(60.0)

    assert first.code.name == "DEADLINE_EXCEEDED"
    assert (later.code.name, later.has_retry_hint) == ("UNAVAILABLE", True)
    assert not await cabled.is_ready()
    assert not await cabled.is_ready("")
    assert await cabled.is_ready(LIVENESS)
    # connections that have lost bytes stay dead: only new ones work
    cabled.cable.is_dead = False
    await recovered(cabled)
    assert cabled.rise("requests_total OK probe qdrant") >= 1


async def test_refused_is_unavailable_and_used_again(cabled: Cabled) -> None:
    cabled.cable.unplug()

    first = await cabled.fail()
    await until_open(cabled, 20.0)
    later = await cabled.fail()

    assert (first.code.name, first.has_retry_hint) == ("UNAVAILABLE", True)
    assert (later.code.name, later.has_retry_hint) == ("UNAVAILABLE", True)
    assert not await cabled.is_ready()
    listed = await refusal_of(cabled.running.stub.ListIndexes(service_pb.ListIndexesRequest()))
    assert (listed.code.name, listed.has_retry_hint) == ("UNAVAILABLE", True)
    counted = service_pb.CountTokensRequest(tokenizer="o200k_base", texts=["still here"])
    assert (await cabled.running.stub.CountTokens(counted)).text_tokens == [2]
    cabled.cable.plug()
    await recovered(cabled)


async def test_a_wrong_key_is_unavailable(cabled: Cabled) -> None:
    cabled.qdrant.refuse = grpc.StatusCode.UNAUTHENTICATED

    fault = await cabled.fail()

    assert (fault.code.name, fault.reason) == ("UNAVAILABLE", "INDEX_UNAVAILABLE")
    await until_open(cabled, 5.0)
    assert not await cabled.is_ready()
    cabled.qdrant.refuse = None
    await recovered(cabled)


async def test_a_lost_collection_is_a_failed_precondition(cabled: Cabled) -> None:
    show = cabled.qdrant.hide(cabled.generation)

    fault = await cabled.fail()

    assert (fault.code.name, fault.reason) == ("FAILED_PRECONDITION", "INDEX_UNUSABLE")
    show()
    await recovered(cabled)


async def test_a_lost_ledger_is_an_unknown_index(cabled: Cabled) -> None:
    show = cabled.qdrant.hide(LEDGER)
    await asyncio.sleep(1.1)  # until the head that is known has to be read again

    fault = await cabled.fail()

    assert (fault.code.name, fault.reason) == ("NOT_FOUND", "INDEX_UNKNOWN")
    show()
    await recovered(cabled)


async def test_an_answer_without_results_is_unavailable(cabled: Cabled) -> None:
    cabled.qdrant.is_terse = True

    fault = await cabled.fail()

    assert (fault.code.name, fault.reason) == ("UNAVAILABLE", "INDEX_UNAVAILABLE")
    cabled.qdrant.is_terse = False
    await recovered(cabled)


@pytest.mark.parametrize("place", ["points", "ledger"])
async def test_an_empty_collection_is_not_taken_for_nothing_found(
    cabled: Cabled, place: str
) -> None:
    cabled.qdrant.emptied.append(cabled.generation if place == "points" else LEDGER)
    await asyncio.sleep(1.1)  # until the head that is known has to be read again

    fault = await cabled.fail()

    assert (fault.code.name, fault.reason) == ("UNAVAILABLE", "INDEX_UNAVAILABLE")
    assert fault.has_retry_hint
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await cabled.running.stub.GetSourceText(
            service_pb.GetSourceTextRequest(index="docs", source_id="rules.md")
        )
    assert reason_of(caught.value) == "INDEX_UNAVAILABLE"
    cabled.qdrant.emptied.clear()
    await recovered(cabled)


async def test_what_a_filter_leaves_empty_is_no_fault(cabled: Cabled) -> None:
    reply = await cabled.running.stub.AssembleContext(
        service_pb.AssembleContextRequest(
            queries=[service_pb.Query(text="Are fines paid back?")],
            targets=[service_pb.Target(index="docs", scope=pb.Scope(source_ids=["another.md"]))],
            budget=pb.Budget(tokenizer="o200k_base", context_tokens=100),
        )
    )

    assert reply.context.context == ""
    assert reply.context.dispositions.candidates == 0
