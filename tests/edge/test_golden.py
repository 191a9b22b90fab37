"""
Whole contexts as reviewed files: a change to ranking, packing or layout shows here.

`UPDATE_GOLDEN=1 make test` writes them anew; read the difference before committing it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from contextassembler.client import ContextAssemblerClient
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb

GOLDEN = Path(__file__).parents[1] / "golden"
ALL = pb.VERSION_POLICY_ALL
CASES = {
    "exception": ("Can a customer return a calibrated sensor?", 300, pb.Layout(), 0),
    "table_row": ("What is the hotel limit in Zurich?", 60, pb.Layout(), 0),
    "two_versions": ("How many days a week may I work remotely?", 400, pb.Layout(), ALL),
    "two_sources": ("What happens when I lose a receipt?", 120, pb.Layout(), 0),
    "german": ("Verfällt mein Urlaub, wenn ich lange krank war?", 250, pb.Layout(), 0),
    "footnotes": ("Which order number begins with PO?", 150, pb.Layout(), 0),
    "xml_edges": (
        "Who is called in an emergency?",
        500,
        pb.Layout(order=pb.ORDER_EDGES, format=pb.FORMAT_XML),
        0,
    ),
    "plain_document_order": (
        "How long are records kept?",
        500,
        pb.Layout(order=pb.ORDER_DOCUMENT, format=pb.FORMAT_PLAIN),
        0,
    ),
    "code": ("How do I register a sensor?", 200, pb.Layout(), 0),
}


@pytest.mark.parametrize("name", CASES)
def test_a_context_is_the_reviewed_one(client: ContextAssemblerClient, name: str) -> None:
    question, tokens, layout, policy = CASES[name]
    scope = pb.Scope(principals=pb.Principals(values=["staff"]), version_policy=policy)
    reply = client.assemble_context(
        service_pb.AssembleContextRequest(
            queries=[service_pb.Query(text=question)],
            targets=[service_pb.Target(index="handbook", scope=scope)],
            budget=pb.Budget(tokenizer="o200k_base", context_tokens=tokens),
            layout=layout,
        )
    )
    sources = "".join(
        f"{passage.marker} {', '.join(f'{s.source_id}@{s.version}' for s in passage.sources)}\n"
        for passage in reply.passages
    )
    shown = f"{question}\n{'=' * 40}\n{reply.context}\n{'=' * 40}\n{sources}"
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(shown, encoding="utf-8")

    assert shown == path.read_text(encoding="utf-8")
