"""
Questions to the example handbook.
"""

from __future__ import annotations

from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb

STAFF = pb.Scope(principals=pb.Principals(values=["staff"]))


def asking(
    question: str = "Are fines paid back?", tokens: int = 300
) -> service_pb.AssembleContextRequest:
    return service_pb.AssembleContextRequest(
        queries=[service_pb.Query(text=question)],
        targets=[service_pb.Target(index="handbook", scope=STAFF)],
        budget=pb.Budget(tokenizer="o200k_base", context_tokens=tokens),
        explain=pb.EXPLAIN_LIST,
    )
