"""
What cannot be done is refused by the name of its field, on a running service.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
import pytest
from contextassembler.client import ContextAssemblerCallError, ContextAssemblerClient
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb

from tests.edge.handbook import asking

Change = Callable[[service_pb.AssembleContextRequest], Any]


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
    "minima above the room": (
        lambda r: r.targets.add(index="docs", min_context_tokens=r.budget.context_tokens + 1),
        "targets.min_context_tokens",
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


def test_an_index_version_that_never_was_is_invalid(client: ContextAssemblerClient) -> None:
    request = asking()
    revision = client.indexes()[0].index_version.rpartition(".")[2]
    request.targets[0].scope.at_least = f"never.{revision}"

    with pytest.raises(ContextAssemblerCallError, match=r"scope\.at_least") as caught:
        client.assemble_context(request)

    assert (caught.value.code.name, caught.value.reason) == (
        "INVALID_ARGUMENT",
        "ERROR_REASON_FIELD_INVALID",
    )
