"""
Collections of other makers behind a running service: what it promises holds for them, as far as
they have what that needs, and what they lack is said.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import grpc
import pytest
import pytest_asyncio
from contextassembler.client import ContextAssemblerClient
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb
from qdrant_client import grpc as wire

from adapters.attachment import AttachedInvalid, Attachment, add_attached, mapping_of
from adapters.embedder import OnnxEmbedder
from assembler.scope import ReadScope, Scope
from assembler.span import Span
from server.backend import attached_of
from server.settings import Settings
from tests.attached import Piece, Writer, id_of, langchain_payload, llamaindex_payload, pieces_of
from tests.edge.in_process import Running, reason_of, running_service
from tests.qdrant_server.server import TestServer
from tests.random_loop import Checker, random_requests

pytestmark = pytest.mark.asyncio(loop_scope="module")

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook"
TEXTS = {
    str(path.relative_to(HANDBOOK)): path.read_text(encoding="utf-8")
    for folder in ("policies", "travel", "support")
    for path in sorted((HANDBOOK / folder).rglob("*.md"))
}
QUESTION = "How long can goods be returned for a refund?"
WRITES = {"Upsert", "SetPayload", "Delete", "Create", "CreateFieldIndex"}
LANGCHAIN = mapping_of("langchain", tenant="metadata.tenant")
NUMBERED = mapping_of(None, text="body", source="doc", ordinal="n", version="label")


@dataclass
class Attached:
    """
    A service over attached collections.
    """

    running: Running
    server: TestServer
    writer: Writer
    embedder: OnnxEmbedder
    texts: dict[str, str] = field(default_factory=dict)

    async def ask(
        self, index: str, question: str = QUESTION, **changed: Any
    ) -> pb.AssembledContext:
        tenant = changed.pop("tenant", "")
        request = service_pb.AssembleContextRequest(
            queries=[service_pb.Query(text=question)],
            targets=[service_pb.Target(index=index, scope=pb.Scope(tenant=tenant))],
            budget=pb.Budget(tokenizer="o200k_base", context_tokens=changed.pop("tokens", 600)),
            fill=pb.FILL_FULL,
            explain=pb.EXPLAIN_LIST,
            **changed,
        )
        reply = await self.running.stub.AssembleContext(request, timeout=60)
        return reply.context


class KnownTexts(Checker):
    """
    Checks slices by the texts that the collections were cut from.
    """

    def _text(self, index: str, source: pb.CitedSource) -> str:
        return TEXTS[source.source_id]


def fill(writer: Writer) -> None:
    """
    Write the collections.
    """
    cut = [(name, piece) for name, text in TEXTS.items() for piece in pieces_of(text)]
    texts = [piece.text for _, piece in cut]
    writer.create("lc", indexes={"metadata.tenant": "keyword", "metadata.source": "keyword"})
    writer.create("li", vector="text-dense", indexes={"ref_doc_id": "keyword"})
    writer.create("bare")
    writer.create("numbered")
    ids = [id_of("lc", name, piece.start) for name, piece in cut]
    writer.write("lc", texts, [langchain_payload(p, n, tenant="") for n, p in cut], ids)
    theirs = [langchain_payload(p, f"other/{n}", tenant="other") for n, p in cut[:40]]
    writer.write("lc", texts[:40], theirs, [id_of("other", one) for one in ids[:40]])
    nodes = [id_of("li", name, piece.start) for name, piece in cut]
    payloads = [llamaindex_payload(p, n, one) for one, (n, p) in zip(nodes, cut, strict=True)]
    writer.write("li", texts, payloads, nodes, vector="text-dense")
    bare = [{"page_content": p.text, "metadata": {"source": n}} for n, p in cut]
    writer.write("bare", texts, bare, list(range(len(cut))))
    counts: Counter[str] = Counter()
    numbered = []
    for name, piece in cut:
        numbered.append({"body": piece.text, "doc": name, "n": counts[name], "label": 3})
        counts[name] += 1
    writer.write("numbered", texts, numbered, [id_of("n", n) for n in range(len(cut))])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def attached(
    settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Attached]:
    embedder = OnnxEmbedder(settings.model_dir, threads=1)
    identity = embedder.identity
    path = tmp_path_factory.mktemp("attached") / "attached.toml"
    known = {"model": identity.name, "model_sha256": identity.sha256}
    mappings = {
        "lc": LANGCHAIN,
        "li": mapping_of("llamaindex"),
        "bare": mapping_of("langchain"),
        "numbered": NUMBERED,
        "gone": LANGCHAIN,
        "foreign": LANGCHAIN,
        "named": mapping_of("langchain", tenant="metadata.tenant", section="metadata.source"),
    }
    for name, mapping in mappings.items():
        made = Attachment(
            collection="lc" if name in ("foreign", "named") else name,
            mapping=mapping,
            dimension=identity.dimension,
            vector="text-dense" if name == "li" else "",
            **({"model": "theirs"} if name == "foreign" else known),
        )
        add_attached(path, name, made)
    with TestServer() as server:
        writer = Writer(server, embedder)
        await asyncio.to_thread(fill, writer)
        server.forget()
        place = settings.model_copy(
            update={"qdrant_url": f"http://127.0.0.1:{server.port}", "attached_file": path}
        )
        async with running_service(place) as running:
            yield Attached(running, server, writer, embedder)
        writer.close()


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
    assert set(attached.server.calls) == {"QueryBatch", "Scroll"}
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


@pytest.mark.parametrize(
    ("changed", "code", "says"),
    [
        ({"retrieval": pb.Retrieval(mode=pb.RETRIEVAL_MODE_SPARSE)}, "FAILED_PRECONDITION", "BM25"),
        (
            {"retrieval": pb.Retrieval(mode=pb.RETRIEVAL_MODE_COARSE_TO_FINE)},
            "FAILED_PRECONDITION",
            "vectors of sections",
        ),
        (
            {
                "must_include": [
                    pb.Selector(source_range=pb.SourceRange(source_id="policies/refunds.md"))
                ]
            },
            "FAILED_PRECONDITION",
            "chunk keys can",
        ),
    ],
)
async def test_what_a_collection_lacks_is_said(
    attached: Attached, changed: dict[str, Any], code: str, says: str
) -> None:
    with pytest.raises(grpc.aio.AioRpcError, match=says) as refused:
        await attached.ask("lc", **changed)

    assert refused.value.code() is grpc.StatusCode[code]


async def test_source_texts_cannot_be_read_back(attached: Attached) -> None:
    request = service_pb.GetSourceTextRequest(index="lc", source_id="policies/refunds.md")

    with pytest.raises(grpc.aio.AioRpcError, match="cannot be read back") as refused:
        await attached.running.stub.GetSourceText(request)

    assert reason_of(refused.value) == "INDEX_UNUSABLE"


async def test_no_text_is_known_as_a_whole(attached: Attached) -> None:
    index = attached.running.service.backend.index
    state = await index.resolve("lc", "", refresh=True)
    scope = ReadScope("lc", state.version, readers_required=False, asked=Scope())

    assert await index.sections_covering(scope, "policies/refunds.md", "", Span(0, 9)) == ()
    assert list(await index.sections(scope, [])) == []


async def test_dense_search_is_no_degradation(attached: Attached) -> None:
    context = await attached.ask("lc", retrieval=pb.Retrieval(mode=pb.RETRIEVAL_MODE_DENSE))

    assert list(context.degradations) == []


async def test_a_collection_that_is_gone_is_named(attached: Attached) -> None:
    with pytest.raises(grpc.aio.AioRpcError, match="'gone' is missing") as refused:
        await attached.ask("gone")

    assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION


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


HOSTILE: list[dict[str, Any]] = [
    {},
    {"page_content": None, "metadata": None},
    {"page_content": 7, "metadata": {"source": "x"}},
    {"page_content": "Goods are returned.", "metadata": "none"},
    {"page_content": "Goods are returned.", "metadata": {"source": ["x"], "tenant": ""}},
    {"page_content": "", "metadata": {"source": "x", "tenant": ""}},
    {"page_content": "Goods are returned.", "metadata": {"source": "x"}},
    {"page_content": "Goods are returned.", "metadata": {"source": "x", "tenant": ["", "other"]}},
]
ODD_OFFSETS: list[Any] = [-5, 2**62, 1.5, "12", True, None, [3], {"a": 1}, 7.0]


async def test_payloads_of_any_shape_break_nothing(attached: Attached) -> None:
    writer, denied = attached.writer, attached.running.service.backend.index.denied_in
    writer.create("hostile")
    odd = [
        {
            "page_content": f"Goods are returned within {n} days.",
            "metadata": {"source": f"odd/{n}", "tenant": "", "start_index": start},
        }
        for n, start in enumerate(ODD_OFFSETS)
    ]
    payloads = [*HOSTILE, *odd]
    ids = [id_of("hostile", n) for n in range(len(payloads))]
    writer.write("hostile", ["Goods are returned"] * len(payloads), payloads, ids)
    unhide = attached.server.hide("lc")
    attached.server._collections["lc"] = attached.server.collection("hostile")

    try:
        context = await attached.ask("lc", tokens=2000)
    finally:
        unhide()

    sources = {one.source_id for p in context.passages for one in p.sources}
    assert sources == {f"odd/{n}" for n in range(len(ODD_OFFSETS))}
    starts = {
        one.source_id: one.spans[0].source.start for p in context.passages for one in p.sources
    }
    assert starts.pop(f"odd/{len(ODD_OFFSETS) - 1}") == 7
    assert set(starts.values()) == {0}
    assert denied["lc", "damaged"] > 0


async def test_chunks_that_disagree_about_a_text_are_not_joined(attached: Attached) -> None:
    writer = attached.writer
    writer.create("disputed")
    cut = [
        Piece(0, "Goods are returned within 30 days."),
        Piece(26, "30 days. Refunds take a week."),
        Piece(26, "30 days. Refunds take a year."),
        Piece(500, "Goods that are far away are returned late."),
    ]
    payloads = [langchain_payload(piece, "a", tenant="") for piece in cut]
    ids = [id_of("disputed", n) for n in range(len(cut))]
    writer.write("disputed", [piece.text for piece in cut], payloads, ids)
    unhide = attached.server.hide("lc")
    attached.server._collections["lc"] = attached.server.collection("disputed")

    try:
        context = await attached.ask("lc", tokens=2000)
    finally:
        unhide()

    dispositions = {one.chunk_key: one.disposition for one in context.dispositions.list}
    lost = [key for key, one in dispositions.items() if one == pb.DISPOSITION_INVALID]
    assert len(lost) == 1
    assert lost[0] in ids[1:3]
    assert context.context.count("30 days") == 1
    assert attached.running.service.backend.index.denied_in["lc", "damaged"] > 0
    assert ("a week" in context.context) != ("a year" in context.context)
    assert "far away" in context.context


async def test_a_search_that_is_not_answered_is_an_error(attached: Attached) -> None:
    attached.server.is_terse = True
    try:
        with pytest.raises(grpc.aio.AioRpcError, match="answered 0 of 1 searches") as refused:
            await attached.ask("lc")
    finally:
        attached.server.is_terse = False

    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_a_deployment_that_demands_a_scope_refuses_what_cannot_keep_it(
    settings: Settings, tmp_path: Path
) -> None:
    path = tmp_path / "attached.toml"
    bare = Attachment(collection="c", mapping=mapping_of("llamaindex"), model="m", dimension=3)
    add_attached(path, "docs", bare)
    place = {"qdrant_url": "http://localhost:1", "attached_file": path}

    assert list(attached_of(settings.model_copy(update=place))) == ["docs"]
    for demanded, says in (("require_tenant", "no tenant"), ("require_principals", "no readers")):
        with pytest.raises(AttachedInvalid, match=says):
            attached_of(settings.model_copy(update={**place, demanded: True}))
    with pytest.raises(ValueError, match="attached_file needs qdrant_url"):
        Settings(attached_file=path)
