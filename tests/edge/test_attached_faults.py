"""
Collections of other makers behind a running service: what they lack is said, and nothing that they
hold breaks it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc
import pytest
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb

from adapters.attachment import AttachedInvalid, Attachment, add_attached, mapping_of
from assembler.scope import ReadScope, Scope
from assembler.span import Span
from server.qdrant_backend import attached_of
from server.settings import Settings
from tests.attached import Piece, id_of, langchain_payload
from tests.edge.attached_service import Attached
from tests.edge.in_process import reason_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

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


async def test_a_collection_that_is_gone_is_named(attached: Attached) -> None:
    with pytest.raises(grpc.aio.AioRpcError, match="'gone' is missing") as refused:
        await attached.ask("gone")

    assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION


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
