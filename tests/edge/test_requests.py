"""
Every field of a request has an effect, on a running service with real adapters.
"""

from __future__ import annotations

import pytest
from contextassembler.client import ContextAssemblerClient
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb

from tests.edge.handbook import asking


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
