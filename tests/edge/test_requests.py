"""
Every field of a request has an effect or is refused, on a running service with real adapters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
import pytest
from contextassembler.client import ContextAssemblerCallError, ContextAssemblerClient
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb

from indexer.request import Summary

STAFF = pb.Scope(principals=pb.Principals(values=["staff"]))
Change = Callable[[service_pb.AssembleContextRequest], Any]


def asking(
    question: str = "Are fines paid back?", tokens: int = 300
) -> service_pb.AssembleContextRequest:
    return service_pb.AssembleContextRequest(
        queries=[service_pb.Query(text=question)],
        targets=[service_pb.Target(index="handbook", scope=STAFF)],
        budget=pb.Budget(tokenizer="o200k_base", context_tokens=tokens),
        explain=pb.EXPLAIN_LIST,
    )


def test_a_question_is_answered_with_its_evidence(client: ContextAssemblerClient) -> None:
    reply = client.assemble_context(asking())

    assert "Fines are never paid" in reply.context
    assert reply.passages[0].marker == "[1]"
    assert reply.budget.limit_tokens == 300
    assert reply.effective.retrieval.chunk_limit == 100
    assert reply.effective.layout.order == pb.ORDER_RELEVANCE


def test_coarse_to_fine_takes_every_candidate_from_the_best_sections(
    client: ContextAssemblerClient,
) -> None:
    request = asking()
    request.retrieval.mode = pb.RETRIEVAL_MODE_COARSE_TO_FINE

    whole = client.assemble_context(request)
    request.retrieval.section_limit = 1
    narrow = client.assemble_context(request)

    assert "Fines are never paid" in whole.context
    assert whole.effective.retrieval.mode == pb.RETRIEVAL_MODE_COARSE_TO_FINE
    assert whole.effective.retrieval.section_limit == 50
    assert narrow.effective.retrieval.section_limit == 1
    assert len({(one.source_id, one.version) for one in narrow.dispositions.list}) == 1
    assert len(narrow.dispositions.list) < len(whole.dispositions.list)
    assert whole.request_fingerprint != client.assemble_context(asking()).request_fingerprint


def set_text(text: str) -> Change:
    return lambda request: setattr(request.queries[0], "text", text)


REFUSED: dict[str, tuple[Change, str, str]] = {
    "empty query": (set_text(" "), "queries[0].text", "FIELD_INVALID"),
    "long query": (set_text("x " * 5000), "queries[0].text", "FIELD_INVALID"),
    "query over the model": (set_text("word " * 400), "queries[0].text", "FIELD_INVALID"),
    "no query": (lambda r: r.ClearField("queries"), "queries", "FIELD_INVALID"),
    "no target": (lambda r: r.ClearField("targets"), "targets", "FIELD_INVALID"),
    "no budget": (lambda r: r.ClearField("budget"), "budget", "FIELD_INVALID"),
    "no room": (lambda r: r.budget.ClearField("room"), "budget", "FIELD_INVALID"),
    "budget 0": (
        lambda r: setattr(r.budget, "context_tokens", 0),
        "budget.context_tokens",
        "FIELD_INVALID",
    ),
    "budget negative": (
        lambda r: setattr(r.budget, "context_tokens", -5),
        "budget.context_tokens",
        "FIELD_INVALID",
    ),
    "budget absurd": (
        lambda r: setattr(r.budget, "context_tokens", 10**12),
        "budget.context_tokens",
        "FIELD_INVALID",
    ),
    "no tokenizer": (
        lambda r: r.budget.ClearField("tokenizer"),
        "budget.tokenizer",
        "FIELD_INVALID",
    ),
    "safety below 1": (
        lambda r: setattr(r.budget, "safety_ratio", 0.5),
        "budget.safety_ratio",
        "FIELD_INVALID",
    ),
    "safety not a number": (
        lambda r: setattr(r.budget, "safety_ratio", float("nan")),
        "budget.safety_ratio",
        "FIELD_INVALID",
    ),
    "malformed index": (
        lambda r: setattr(r.targets[0], "index", "Bad Name"),
        "targets[0].index",
        "FIELD_INVALID",
    ),
    "weight 0": (
        lambda r: setattr(r.queries[0], "weight", 0.0),
        "queries[0].weight",
        "FIELD_INVALID",
    ),
    "target weight": (
        lambda r: setattr(r.targets[0], "weight", -1.0),
        "targets[0].weight",
        "FIELD_INVALID",
    ),
    "chunk limit 0": (
        lambda r: setattr(r.retrieval, "chunk_limit", 0),
        "retrieval.chunk_limit",
        "FIELD_INVALID",
    ),
    "chunk limit above": (
        lambda r: setattr(r.retrieval, "chunk_limit", 501),
        "retrieval.chunk_limit",
        "FIELD_INVALID",
    ),
    "section limit 0": (
        lambda r: setattr(r.retrieval, "section_limit", 0),
        "retrieval.section_limit",
        "FIELD_INVALID",
    ),
    "share 0": (
        lambda r: setattr(r.retrieval, "max_source_share", 0.0),
        "retrieval.max_source_share",
        "FIELD_INVALID",
    ),
    "similarity 2": (
        lambda r: setattr(r.retrieval, "min_similarity", 2.0),
        "retrieval.min_similarity",
        "FIELD_INVALID",
    ),
    "rerank without a reranker": (
        lambda r: setattr(r.retrieval, "rerank", pb.RERANK_ON),
        "retrieval.rerank",
        "FIELD_INVALID",
    ),
    "unknown rerank": (
        lambda r: setattr(r.retrieval, "rerank", 99),
        "retrieval.rerank",
        "FIELD_INVALID",
    ),
    "continuation": (
        lambda r: setattr(r, "continuation", b"x"),
        "continuation",
        "FIELD_NOT_SUPPORTED",
    ),
    "unknown order": (lambda r: setattr(r.layout, "order", 99), "layout.order", "FIELD_INVALID"),
    "unknown fill": (lambda r: setattr(r, "fill", 99), "fill", "FIELD_INVALID"),
    "unknown explain": (lambda r: setattr(r, "explain", 99), "explain", "FIELD_INVALID"),
    "window in another mode": (
        lambda r: setattr(r.expansion, "window_chunks", 2),
        "expansion.window_chunks",
        "FIELD_INVALID",
    ),
    "pins without policy": (
        lambda r: r.targets[0].scope.pinned_versions.add(source_id="a", version="1"),
        "targets[0].scope.pinned_versions",
        "FIELD_INVALID",
    ),
    "policy without pins": (
        lambda r: setattr(r.targets[0].scope, "version_policy", pb.VERSION_POLICY_PINNED),
        "targets[0].scope.pinned_versions",
        "FIELD_INVALID",
    ),
    "index version": (
        lambda r: setattr(r.targets[0].scope, "exactly", "latest"),
        "targets[0].scope.exactly",
        "FIELD_INVALID",
    ),
    "filter without a test": (
        lambda r: r.targets[0].scope.filter.all_of.add(field="year"),
        "targets[0].scope.filter.all_of[0]",
        "FIELD_INVALID",
    ),
    "unknown filter field": (
        lambda r: r.targets[0].scope.filter.all_of.add(field="page", bool_value=True),
        "targets[0].scope.filter",
        "FILTER_FIELD_UNKNOWN",
    ),
    "filter of another type": (
        lambda r: r.targets[0].scope.filter.none_of.add(field="year", bool_value=True),
        "targets[0].scope.filter",
        "FILTER_FIELD_UNKNOWN",
    ),
    "empty range": (
        lambda r: r.exclude.add().source_range.CopyFrom(
            pb.SourceRange(source_id="a", range=pb.Range(start=5, end=5))
        ),
        "exclude[0].source_range.range",
        "FIELD_INVALID",
    ),
    "selector of nothing": (lambda r: r.must_include.add(), "must_include[0]", "FIELD_INVALID"),
    "target of a selector": (
        lambda r: r.exclude.add().source_range.CopyFrom(pb.SourceRange(target=3, source_id="a")),
        "exclude[0].source_range.target",
        "FIELD_INVALID",
    ),
    "vector of another model": (
        lambda r: r.queries[0].vector.CopyFrom(service_pb.QueryVector(values=[1.0], model="m")),
        "queries[0].vector.model",
        "FIELD_INVALID",
    ),
    "language": (lambda r: setattr(r, "query_language", "de_!"), "query_language", "FIELD_INVALID"),
    "placeholder missing": (
        lambda r: r.budget.prompt_window.CopyFrom(window("no place")),
        "budget.prompt_window.messages",
        "FIELD_INVALID",
    ),
    "placeholder twice": (
        lambda r: r.budget.prompt_window.CopyFrom(window("{{context}}{{context}}")),
        "budget.prompt_window.messages",
        "FIELD_INVALID",
    ),
    "window that leaves nothing": (
        lambda r: r.budget.prompt_window.CopyFrom(
            pb.PromptWindow(window_tokens=100, reserved_output_tokens=100)
        ),
        "budget.prompt_window",
        "WINDOW_LEAVES_NOTHING",
    ),
    "pins too large": (
        lambda r: r.must_include.add().source_range.CopyFrom(
            pb.SourceRange(source_id="office/history.md")
        ),
        "must_include",
        "MUST_INCLUDE_TOO_LARGE",
    ),
}


def window(content: str) -> pb.PromptWindow:
    messages = pb.ChatMessages(messages=[pb.ChatMessage(role="user", content=content)])
    return pb.PromptWindow(window_tokens=1000, messages=messages)


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_field_is_refused_by_name(client: ContextAssemblerClient, case: str) -> None:
    change, field, reason = REFUSED[case]
    request = asking()
    change(request)

    with pytest.raises(ContextAssemblerCallError) as caught:
        client.assemble_context(request)

    error = caught.value
    assert error.code is grpc.StatusCode.INVALID_ARGUMENT
    assert error.reason == f"ERROR_REASON_{reason}"
    if reason != "MUST_INCLUDE_TOO_LARGE":
        assert error.facts["field"] == field
    assert field in error.message
    assert error.request_id


@pytest.mark.parametrize(
    ("change", "code", "reason"),
    [
        (lambda r: setattr(r.targets[0], "index", "nope"), "NOT_FOUND", "INDEX_UNKNOWN"),
        (lambda r: setattr(r.budget, "tokenizer", "gpt-9"), "NOT_FOUND", "TOKENIZER_UNKNOWN"),
        (lambda r: setattr(r.budget, "tokenizer", "hf:../x"), "NOT_FOUND", "TOKENIZER_UNKNOWN"),
        (lambda r: setattr(r, "profile", "nope"), "NOT_FOUND", "PROFILE_UNKNOWN"),
        (
            lambda r: r.targets[0].scope.CopyFrom(pb.Scope(exactly="g0000000000.1")),
            "NOT_FOUND",
            "VERSION_GONE",
        ),
    ],
)
def test_what_is_not_there_is_not_found(
    client: ContextAssemblerClient, change: Change, code: str, reason: str
) -> None:
    request = asking()
    change(request)

    with pytest.raises(ContextAssemblerCallError) as caught:
        client.assemble_context(request)

    assert (caught.value.code.name, caught.value.reason) == (code, f"ERROR_REASON_{reason}")


def test_an_index_that_has_not_come_so_far_is_unavailable_with_a_hint(
    client: ContextAssemblerClient,
) -> None:
    request = asking()
    version = client.indexes()[0].index_version.rpartition(".")[0]
    request.targets[0].scope.at_least = f"{version}.99"

    with pytest.raises(ContextAssemblerCallError) as caught:
        client.assemble_context(request)

    assert caught.value.reason == "ERROR_REASON_INDEX_BEHIND"
    assert caught.value.retry_seconds == 1.0


def test_a_filter_and_metadata_have_their_effect(client: ContextAssemblerClient) -> None:
    request = asking("Who approves?")
    request.targets[0].scope.filter.all_of.add(
        field="department", any_of_strings=pb.StringValues(values=["security"])
    )
    request.metadata_fields.append("department")

    reply = client.assemble_context(request)

    sources = [source for passage in reply.passages for source in passage.sources]
    assert sources
    assert all(source.source_id.startswith("security/") for source in sources)
    assert {entry.value.string_value for s in sources for entry in s.metadata} == {"security"}


def test_readers_decide_what_is_seen(client: ContextAssemblerClient) -> None:
    request = asking("What is the salary band of level L3?")
    staff = client.assemble_context(request)
    request.targets[0].scope.principals.values[:] = ["managers"]
    managers = client.assemble_context(request)

    assert "62,000 EUR" not in staff.context
    assert "62,000 EUR" in managers.context
    request.targets[0].scope.ClearField("principals")
    assert client.assemble_context(request).dispositions.candidates == 0


def test_two_versions_stay_apart_and_the_older_one_is_marked(
    client: ContextAssemblerClient,
) -> None:
    request = asking("How many days a week may I work remotely?", 600)
    active = client.assemble_context(request)
    request.targets[0].scope.version_policy = pb.VERSION_POLICY_ALL
    both = client.assemble_context(request)

    versions = {s.version for p in active.passages for s in p.sources if "remote" in s.source_id}
    assert versions == {"2026-1"}
    states = {
        s.version: s.state for p in both.passages for s in p.sources if "remote" in s.source_id
    }
    assert states == {
        "2026-1": pb.SOURCE_STATE_CURRENT,
        "2025-1": pb.SOURCE_STATE_SUPERSEDED,
    }


def test_equal_text_of_two_pages_cites_both(client: ContextAssemblerClient) -> None:
    reply = client.assemble_context(asking("What happens when I lose a receipt?", 150))

    assert reply.context.count("A lost receipt can be replaced") == 1
    cited = {s.source_id for p in reply.passages for s in p.sources}
    assert {"travel/expenses.md", "finance/company-cards.md"} <= cited


@pytest.mark.parametrize("form", [pb.FORMAT_MARKDOWN, pb.FORMAT_PLAIN])
def test_a_text_with_footnotes_changes_the_marker_not_the_text(
    client: ContextAssemblerClient, form: pb.Format.ValueType
) -> None:
    request = asking("Which order number begins with PO?", 400)
    request.layout.format = form

    reply = client.assemble_context(request)

    assert "[1] The order number is the one that begins with PO." in reply.context
    assert reply.passages[0].marker == "[S1]"


def test_a_prompt_window_counts_the_messages_with_the_context(
    client: ContextAssemblerClient,
) -> None:
    request = asking()
    frame = [
        pb.ChatMessage(role="system", content="Answer from this:\n{{context}}"),
        pb.ChatMessage(role="user", content="Are fines paid back?"),
    ]
    request.budget.prompt_window.CopyFrom(
        pb.PromptWindow(
            window_tokens=400,
            reserved_output_tokens=100,
            messages=pb.ChatMessages(messages=frame),
        )
    )

    reply = client.assemble_context(request)

    frame[0].content = frame[0].content.replace("{{context}}", reply.context)
    counted = client.count_tokens(
        service_pb.CountTokensRequest(
            tokenizer="o200k_base", messages=pb.ChatMessages(messages=frame)
        )
    )
    assert counted.message_tokens == reply.budget.frame_tokens + reply.budget.context_tokens <= 300


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


def test_counting_takes_special_spellings_as_text(client: ContextAssemblerClient) -> None:
    for tokenizer in ("o200k_base", "cl100k_base", "hf:deepseek", "gpt-4o"):
        reply = client.count_tokens(
            service_pb.CountTokensRequest(tokenizer=tokenizer, texts=["<|endoftext|>", "", "a"])
        )
        assert reply.text_tokens[0] > 1
        assert list(reply.text_tokens[1:]) == [0, 1]
    with pytest.raises(ContextAssemblerCallError, match="texts"):
        client.count_tokens(service_pb.CountTokensRequest(tokenizer="o200k_base"))


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
