"""
What a running service logs of its callers' texts: nothing, unless it is asked to.
"""

from __future__ import annotations

import json

import pytest
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb

from indexer.request import Summary
from server.settings import Settings
from tests.edge.in_process import running_service

QUESTION = "Are fines paid back?"


def asking() -> service_pb.AssembleContextRequest:
    scope = pb.Scope(principals=pb.Principals(values=["staff"]))
    return service_pb.AssembleContextRequest(
        queries=[service_pb.Query(text=QUESTION)],
        targets=[service_pb.Target(index="handbook", scope=scope)],
        budget=pb.Budget(tokenizer="o200k_base", context_tokens=200),
    )


async def logged(settings: Settings, capfd: pytest.CaptureFixture[str], **chosen: object) -> str:
    """
    Return all that a service writes while it answers one call and fails to answer another.
    """
    async with running_service(settings, log_level="DEBUG", **chosen) as running:
        reply = await running.stub.AssembleContext(asking(), metadata=(("x-request-id", "one"),))
        bad = asking()
        bad.targets[0].index = "nowhere"
        with pytest.raises(Exception, match="nowhere"):
            await running.stub.AssembleContext(bad)
    assert reply.context.context
    written = capfd.readouterr()
    assert reply.context.context not in written.out + written.err
    return written.out + written.err


async def test_no_text_is_logged(
    settings: Settings, handbook: Summary, capfd: pytest.CaptureFixture[str]
) -> None:
    assert handbook.is_published
    text = await logged(settings, capfd)

    assert "call answered" in text
    assert "call refused" in text
    assert QUESTION not in text


async def test_queries_are_logged_where_that_is_asked_for(
    settings: Settings, handbook: Summary, capfd: pytest.CaptureFixture[str]
) -> None:
    assert handbook.is_published
    text = await logged(settings, capfd, log_texts=True)

    (asks,) = [json.loads(line) for line in text.splitlines() if "call asks" in line][:1]
    assert (asks["request_id"], asks["queries"]) == ("one", [QUESTION])
