"""
Collections of other makers behind a running service: what it promises holds for them, as far as
they have what that needs.
"""

from __future__ import annotations

import asyncio
import re
from itertools import islice
from pathlib import Path

import grpc
import pytest
from contextassembler.client import ContextAssemblerClient
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb
from google.protobuf.message import Message
from qdrant_client import grpc as wire

from tests.attached import id_of, pieces_of
from tests.edge.attached_service import QUESTION, TEXTS, Attached
from tests.random_loop import Checker, random_requests

pytestmark = pytest.mark.asyncio(loop_scope="module")

WRITES = {"Upsert", "SetPayload", "Delete", "Create", "CreateFieldIndex"}
READS = {"QueryBatch", "Scroll", "Get", "List"}


def is_a_look(request: Message) -> bool:
    """
    Return whether a request is one of the service's own, of no caller: those ask for descriptions,
    or for vectors of points.
    """
    if isinstance(request, wire.ScrollPoints):
        return request.HasField("with_vectors")
    return isinstance(request, wire.GetCollectionInfoRequest | wire.ListCollectionsRequest)


class KnownTexts(Checker):
    """
    Checks slices by the texts that the collections were cut from.
    """

    def _text(self, index: str, source: pb.CitedSource) -> str:
        return TEXTS[source.source_id]


@pytest.mark.parametrize("index", ["lc", "li", "named"])
async def test_no_promise_is_broken_by_random_requests(attached: Attached, index: str) -> None:
    questions = Path(__file__).parents[2] / "examples" / "questions.md"
    rows = re.findall(r"^\| ([^|(]+\?)", questions.read_text(encoding="utf-8"), re.MULTILINE)

    def ask_all() -> KnownTexts:
        address = f"127.0.0.1:{attached.running.service.port}"
        with ContextAssemblerClient(address, timeout_seconds=60) as client:
            checker = KnownTexts(client)
            for request in islice(random_requests([index], rows, 11), 60):
                if request.retrieval.mode != pb.RETRIEVAL_MODE_HYBRID:
                    request.retrieval.mode = pb.RETRIEVAL_MODE_DENSE
                checker.ask(request)
            return checker

    checker = await asyncio.to_thread(ask_all)

    assert checker.tally.violations == 0, checker.tally.examples[:1]
    assert checker.tally.empty < 30


@pytest.mark.parametrize("index", ["lc", "li", "named", "bare", "numbered"])
async def test_what_answers_the_question_is_found_and_nothing_is_written(
    attached: Attached, index: str
) -> None:
    attached.server.forget()

    context = await attached.ask(index)

    assert "policies/refunds.md" in {one.source_id for p in context.passages for one in p.sources}
    assert context.budget.context_tokens <= 600
    assert list(context.degradations) == [pb.DEGRADATION_TEXT_SEARCH_MISSING]
    degraded = attached.running.service.metrics.registry.get_sample_value(
        "context_assembler_responses_total", {"outcome": "degraded"}
    )
    assert degraded == 0.0
    assert {"QueryBatch", "Scroll"} <= set(attached.server.calls) <= READS
    assert not WRITES & set(attached.server.calls)


async def test_neighbours_that_touch_are_one_passage(attached: Attached) -> None:
    source = "policies/refunds.md"

    context = await attached.ask(
        "lc", tokens=2000, expansion=pb.Expansion(mode=pb.EXPANSION_MODE_SECTION)
    )

    (spans,) = [one.spans for p in context.passages for one in p.sources if one.source_id == source]
    longest = max(span.source.end - span.source.start for span in spans)
    assert longest > 400  # more than any chunk
    for span in spans:
        shown = context.context[span.context.start : span.context.end]
        assert shown == TEXTS[source][span.source.start : span.source.end]


async def test_a_tenant_sees_its_own_points_and_every_read_says_so(attached: Attached) -> None:
    attached.server.forget()

    own = await attached.ask("lc", tenant="other")
    nobody = await attached.ask("lc", tenant="nobody")
    untenanted = await attached.ask("li", tenant="other")

    sources = {one.source_id for p in own.passages for one in p.sources}
    assert sources
    assert all(one.startswith("other/") for one in sources)
    assert nobody.context == untenanted.context == ""
    for request in attached.server.requests:
        if is_a_look(request):
            continue
        assert isinstance(request, wire.QueryBatchPoints | wire.ScrollPoints)
        filters = (
            [one.filter for one in request.query_points]
            if isinstance(request, wire.QueryBatchPoints)
            else [request.filter]
        )
        assert request.collection_name == "lc"
        for one in filters:
            assert "metadata.tenant" in str(one.must[0])


async def test_source_ids_are_filtered_by(attached: Attached) -> None:
    request = service_pb.AssembleContextRequest(
        queries=[service_pb.Query(text=QUESTION)],
        targets=[service_pb.Target(index="li", scope=pb.Scope(source_ids=["travel/booking.md"]))],
        budget=pb.Budget(tokenizer="o200k_base", context_tokens=500),
        fill=pb.FILL_FULL,
    )

    reply = await attached.running.stub.AssembleContext(request)

    found = {one.source_id for p in reply.context.passages for one in p.sources}
    assert found == {"travel/booking.md"}


async def test_without_offsets_chunks_stand_alone(attached: Attached) -> None:
    context = await attached.ask("bare", expansion=pb.Expansion(mode=pb.EXPANSION_MODE_SECTION))

    assert len(context.passages) > 1
    for passage in context.passages:
        (source,) = passage.sources
        assert [span.source.start for span in source.spans] == [0]
        assert len(passage.chunk_keys) == 1


async def test_chunks_that_follow_each_other_by_ordinal_are_neighbours(attached: Attached) -> None:
    context = await attached.ask(
        "numbered", tokens=1500, expansion=pb.Expansion(mode=pb.EXPANSION_MODE_SECTION)
    )

    first = context.passages[0]
    assert {one.version for one in first.sources} == {"3"}
    assert "\n\n" in first.text
    pieces = [piece.text for piece in pieces_of(TEXTS[first.sources[0].source_id])]
    assert sum(piece in first.text for piece in pieces) > 1


async def test_a_chunk_is_demanded_by_its_key(attached: Attached) -> None:
    name, text = next(iter(TEXTS.items()))
    piece = list(pieces_of(text))[3]

    for index, key in (("lc", id_of("lc", name, piece.start)), ("bare", "3")):
        context = await attached.ask(
            index, "Who books trains?", must_include=[pb.Selector(chunk_key=key)]
        )
        assert piece.text in context.context
    for wrong in ("nothing", str(2**70), id_of("nothing")):
        with pytest.raises(grpc.aio.AioRpcError, match="no chunk"):
            await attached.ask("lc", must_include=[pb.Selector(chunk_key=wrong)])


async def test_dense_search_is_no_degradation(attached: Attached) -> None:
    context = await attached.ask("lc", retrieval=pb.Retrieval(mode=pb.RETRIEVAL_MODE_DENSE))

    assert list(context.degradations) == []


async def test_vectors_of_a_model_that_no_service_runs_are_searched_by_vector(
    attached: Attached,
) -> None:
    (values,) = attached.embedder.embed_documents([QUESTION])
    request = service_pb.AssembleContextRequest(
        queries=[
            service_pb.Query(
                text=QUESTION, vector=service_pb.QueryVector(values=values, model="theirs")
            )
        ],
        targets=[service_pb.Target(index="foreign")],
        budget=pb.Budget(tokenizer="o200k_base", context_tokens=300),
    )

    reply = await attached.running.stub.AssembleContext(request)
    with pytest.raises(grpc.aio.AioRpcError, match="'theirs', which this service does not run"):
        await attached.ask("foreign")

    assert reply.context.passages


async def test_attached_collections_are_listed(attached: Attached) -> None:
    mine = await attached.running.stub.ListIndexes(service_pb.ListIndexesRequest())
    theirs = await attached.running.stub.ListIndexes(service_pb.ListIndexesRequest(tenant="other"))

    assert {one.name for one in mine.indexes} >= {"lc", "li", "bare", "numbered"}
    assert {one.name for one in theirs.indexes} == {"lc", "gone", "foreign", "named"}
    (listed,) = [one for one in mine.indexes if one.name == "lc"]
    assert re.fullmatch(r"a[0-9a-f]{10}\.1", listed.index_version)
    assert (listed.embedding_dimension, list(listed.fields)) == (384, [])
