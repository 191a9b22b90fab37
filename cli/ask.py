"""
`context-assembler ask`: ask a running service and show the context with its account.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb
from google.protobuf.json_format import MessageToJson
from rich.console import Console

from cli.options import (
    MOST_INT,
    Address,
    Authority,
    Certificate,
    CertificateKey,
    Key,
    TenantName,
    client_of,
    principals_of,
)
from cli.show import show_context

VERSIONS = [one for one in pb.VersionPolicy.items() if one[1] != pb.VERSION_POLICY_PINNED]
"""Pins need a version for every source, which this command has no option for."""


def ask(
    question: Annotated[list[str], typer.Argument(help="The question; several are fused.")],
    index: Annotated[list[str], typer.Option(help="The index to look in; repeatable.")],
    budget: Annotated[int, typer.Option(min=1, max=MOST_INT, help="Most tokens of the context.")],
    tokenizer: Annotated[str, typer.Option(help="The generator's tokenizer.")] = "o200k_base",
    expansion: Annotated[str, typer.Option(help="auto, chunk, window or section.")] = "auto",
    order: Annotated[str, typer.Option(help="relevance, document or edges.")] = "relevance",
    format: Annotated[str, typer.Option(help="markdown, xml or plain.")] = "markdown",  # noqa: A002 - the option's name
    fill: Annotated[str, typer.Option(help="auto or full.")] = "auto",
    mode: Annotated[str, typer.Option(help="hybrid, dense, sparse or coarse_to_fine.")] = "hybrid",
    versions: Annotated[str, typer.Option(help="active or all.")] = "active",
    tenant: TenantName = "",
    principal: Annotated[list[str] | None, typer.Option(help="Who asks; repeatable.")] = None,
    explain: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, typer.Option(help="Show what became of every candidate.")
    ] = False,
    json: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, typer.Option("--json", help="Print the whole reply as JSON.")
    ] = False,
    address: Address = "localhost:50051",
    api_key: Key = None,
    tls_ca: Authority = None,
    tls_certificate: Certificate = None,
    tls_key: CertificateKey = None,
) -> None:
    """
    Ask a running service and show the context, its citations, the budget and the account.
    """
    scope = pb.Scope(
        tenant=tenant,
        principals=principals_of(principal),
        version_policy=chosen(versions, "--versions", VERSIONS),
    )
    request = service_pb.AssembleContextRequest(
        queries=[service_pb.Query(text=text) for text in question],
        targets=[service_pb.Target(index=name, scope=scope) for name in index],
        budget=pb.Budget(tokenizer=tokenizer, context_tokens=budget),
        fill=chosen(fill, "--fill", pb.Fill.items()),
        retrieval=pb.Retrieval(mode=chosen(mode, "--mode", pb.RetrievalMode.items())),
        expansion=pb.Expansion(mode=chosen(expansion, "--expansion", pb.ExpansionMode.items())),
        layout=pb.Layout(
            order=chosen(order, "--order", pb.Order.items()),
            format=chosen(format, "--format", pb.Format.items()),
        ),
        explain=pb.EXPLAIN_LIST if explain or json else pb.EXPLAIN_COUNTS,
    )
    with client_of(address, api_key, tls_ca, tls_certificate, tls_key) as client:
        context = client.assemble_context(request)
    if json:
        sys.stdout.write(MessageToJson(context, preserving_proto_field_name=True) + "\n")
        return
    show_context(Console(), context, has_list=explain)


def chosen(text: str, option: str, values: Sequence[tuple[str, Any]]) -> Any:
    """
    Return the number of an enum value that is named by its last word.
    """
    wanted = text.upper().replace("-", "_")
    known = {}
    prefix_parts = len(values[0][0].split("_")) - 1
    for label, number in values:
        known["_".join(label.split("_")[prefix_parts:])] = number
    known.pop("UNSPECIFIED", None)
    if wanted not in known:
        names = ", ".join(name.lower() for name in known)
        raise typer.BadParameter(f"{text!r} is not one of {names}", param_hint=option)
    return known[wanted]
