"""
Options that several commands share.
"""

from __future__ import annotations

import json
from typing import Annotated

import typer
from contextassembler.v1 import context_pb2 as pb

Address = Annotated[str, typer.Option(help="Address of the running service.")]
IndexName = Annotated[str, typer.Option("--index", help="Name of the index.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
TenantName = Annotated[str, typer.Option(help="The tenant. Default: the empty one.")]
Key = Annotated[
    str | None,
    typer.Option(envvar="CONTEXT_ASSEMBLER_CLIENT_KEY", help="Sent as a bearer key."),
]


def principals_of(names: list[str] | None) -> pb.Principals | None:
    """
    Return who asks, or None where nobody is named.
    """
    return pb.Principals(values=names) if names else None


def show_json(content: object) -> None:
    """
    Print JSON, for programs.
    """
    typer.echo(json.dumps(content, ensure_ascii=False, indent=1))
