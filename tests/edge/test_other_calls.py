"""
Calls beside assembling: packing, source texts, counting and lists, on a running service.
"""

from __future__ import annotations

import grpc
import pytest
from contextassembler.client import ContextAssemblerCallError, ContextAssemblerClient
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb

from indexer.request import Summary
from tests.edge.handbook import STAFF


def test_given_passages_are_packed(client: ContextAssemblerClient) -> None:
    text = "Refunds are possible. Members are never refunded."
    request = service_pb.PackPassagesRequest(
        passages=[
            service_pb.GivenPassage(
                text=text[:21], source_id="a", range=pb.Range(start=0, end=21), score=0.5
            ),
            service_pb.GivenPassage(
                text=text[21:], source_id="a", range=pb.Range(start=21, end=len(text)), score=0.4
            ),
        ],
        budget=pb.Budget(tokenizer="cl100k_base", context_tokens=60),
        explain=pb.EXPLAIN_LIST,
    )

    reply = client.pack_passages(request)

    assert text in reply.context
    assert reply.passages[0].scores[0].signal == pb.SIGNAL_CALLER
    assert [one.disposition for one in reply.dispositions.list] == [
        pb.DISPOSITION_PACKED,
        pb.DISPOSITION_MERGED,
    ]
    request.passages[1].text = "short"
    with pytest.raises(ContextAssemblerCallError, match=r"passages\[1\].range"):
        client.pack_passages(request)


def test_a_source_is_returned_page_by_page(client: ContextAssemblerClient) -> None:
    request = service_pb.GetSourceTextRequest(
        index="handbook", scope=STAFF, source_id="travel/expenses.md", page_size_chars=200
    )
    pages = list(client.source_pages(request))

    assert len(pages) > 2
    text = "".join(page.text for page in pages)
    assert len(text) == pages[0].total_chars
    request.range.CopyFrom(pb.Range(start=10, end=450))
    assert client.source_text(request) == text[10:450]
    request.page_token = "x"
    with pytest.raises(ContextAssemblerCallError, match="page_token"):
        client.source_text(request)


def test_a_token_of_another_text_is_refused_by_name(client: ContextAssemblerClient) -> None:
    request = service_pb.GetSourceTextRequest(
        index="handbook", scope=STAFF, source_id="travel/expenses.md", page_size_chars=200
    )
    page = next(iter(client.source_pages(request)))
    elsewhere = pb.Scope(tenant="elsewhere", principals=STAFF.principals)
    for other in (
        {"source_id": "travel/other.md"},
        {"scope": elsewhere},
        {"version": page.version + "x"},
    ):
        asked = service_pb.GetSourceTextRequest(
            **{"index": "handbook", "scope": STAFF, "source_id": request.source_id, **other},
            page_token=page.next_page_token,
        )

        with pytest.raises(ContextAssemblerCallError, match="page_token") as refused:
            client.source_text(asked)

        assert refused.value.code is grpc.StatusCode.INVALID_ARGUMENT
    request.version, request.page_token = page.version, page.next_page_token
    assert next(iter(client.source_pages(request))).range.start == page.range.end


@pytest.mark.parametrize("wrong", ["", "x", "A" * 64, "a" * 63])
def test_a_hash_of_another_form_is_refused_by_name(
    client: ContextAssemblerClient, wrong: str
) -> None:
    request = service_pb.GetSourceTextRequest(
        index="handbook", scope=STAFF, source_id="travel/expenses.md", content_sha256=wrong
    )

    with pytest.raises(
        ContextAssemblerCallError, match=r"content_sha256: .*64 .* hex digits"
    ) as no:
        client.source_text(request)

    assert no.value.code is grpc.StatusCode.INVALID_ARGUMENT


def test_counting_takes_special_spellings_as_text(client: ContextAssemblerClient) -> None:
    for tokenizer in ("o200k_base", "cl100k_base", "hf:deepseek", "gpt-4o"):
        reply = client.count_tokens(
            service_pb.CountTokensRequest(tokenizer=tokenizer, texts=["<|endoftext|>", "", "a"])
        )
        assert reply.text_tokens[0] > 1
        assert list(reply.text_tokens[1:]) == [0, 1]
    with pytest.raises(ContextAssemblerCallError, match="texts"):
        client.count_tokens(service_pb.CountTokensRequest(tokenizer="o200k_base"))
    frame = pb.ChatMessages(messages=[pb.ChatMessage(role="user", content="Why?")])
    with pytest.raises(ContextAssemblerCallError, match="messages: hf:deepseek has no chat") as no:
        client.count_tokens(service_pb.CountTokensRequest(tokenizer="hf:deepseek", messages=frame))
    assert no.value.code is grpc.StatusCode.INVALID_ARGUMENT


def test_what_is_there_is_listed(client: ContextAssemblerClient, handbook: Summary) -> None:
    names = [one.name for one in client.tokenizers()]
    index = client.indexes()[0]

    assert names == ["cl100k_base", "hf:deepseek", "o200k_base", "o200k_harmony"]
    assert (index.name, index.readers) == ("handbook", service_pb.READERS_MODE_REQUIRED)
    assert [field.name for field in index.fields] == [
        "confidential",
        "department",
        "reviewed",
        "tags",
        "year",
    ]
    assert index.sources == handbook.documents
    assert client.indexes("nobody") == []
