"""
Options that several commands share.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import grpc
import typer
from contextassembler.client import ContextAssemblerClient
from contextassembler.v1 import context_pb2 as pb

MOST_INT = 2**31 - 1
"""The largest number of an option: what a field of a message holds."""

Address = Annotated[str, typer.Option(help="Address of the running service.")]
IndexName = Annotated[str, typer.Option("--index", help="Name of the index.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
TenantName = Annotated[str, typer.Option(help="The tenant. Default: the empty one.")]
Key = Annotated[
    str | None,
    typer.Option(envvar="CONTEXT_ASSEMBLER_CLIENT_KEY", help="Sent as a bearer key."),
]

Authority = Annotated[
    Path | None,
    typer.Option(
        "--tls-ca",
        envvar="CONTEXT_ASSEMBLER_CLIENT_CA",
        help="PEM file of who signs the service's certificate. Default: plaintext.",
    ),
]
Certificate = Annotated[
    Path | None,
    typer.Option(
        "--tls-certificate",
        envvar="CONTEXT_ASSEMBLER_CLIENT_CERTIFICATE",
        help="PEM file of this client's certificate, where the service asks for one.",
    ),
]
CertificateKey = Annotated[
    Path | None,
    typer.Option(
        "--tls-key",
        envvar="CONTEXT_ASSEMBLER_CLIENT_CERTIFICATE_KEY",
        help="PEM file of its private key.",
    ),
]


def client_of(
    address: str,
    api_key: str | None,
    authority: Path | None,
    certificate: Path | None,
    key: Path | None,
) -> ContextAssemblerClient:
    """
    Return a client, over TLS where an authority is named.
    """
    if (certificate is None) != (key is None) or (certificate and not authority):
        raise typer.BadParameter("--tls-certificate, --tls-key and --tls-ca go together")
    if api_key is not None and not (api_key.isascii() and api_key.isprintable()):
        raise typer.BadParameter(
            "has letters that no key has; keys are printable ASCII", param_hint="--api-key"
        )
    credentials = None
    if authority is not None:
        credentials = grpc.ssl_channel_credentials(
            authority.read_bytes(),
            key.read_bytes() if key else None,
            certificate.read_bytes() if certificate else None,
        )
    return ContextAssemblerClient(address, api_key=api_key, credentials=credentials)


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
