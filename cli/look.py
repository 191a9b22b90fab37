"""
`context-assembler source`, `tokenizers` and `count`: look at what is there.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb
from rich.console import Console
from rich.table import Table

from adapters.token_counters import TokenizerFolder
from adapters.tokenizer_files import install_tokenizers
from cli.options import (
    Address,
    Authority,
    Certificate,
    CertificateKey,
    Key,
    TenantName,
    client_of,
    principals_of,
)
from indexer.read_source import decoded
from indexer.walk import shown
from server.settings import Settings


def counters() -> TokenizerFolder:
    """
    Return the tokenizers of the settings' folder, which is filled first where it is empty.
    """
    folder = Settings().tokenizer_dir
    install_tokenizers(folder)
    return TokenizerFolder(folder)


def source(
    source_id: Annotated[str, typer.Argument(help="The source, as citations name it.")],
    index: Annotated[str, typer.Option(help="The index that holds it.")],
    version: Annotated[str | None, typer.Option(help="A version's label. Default: active.")] = None,
    tenant: TenantName = "",
    principal: Annotated[list[str] | None, typer.Option(help="Who asks; repeatable.")] = None,
    address: Address = "localhost:50051",
    api_key: Key = None,
    tls_ca: Authority = None,
    tls_certificate: Certificate = None,
    tls_key: CertificateKey = None,
) -> None:
    """
    Print a source text, exactly as offsets count in it.
    """
    scope = pb.Scope(tenant=tenant, principals=principals_of(principal))
    request = service_pb.GetSourceTextRequest(
        index=index, scope=scope, source_id=source_id, version=version
    )
    with client_of(address, api_key, tls_ca, tls_certificate, tls_key) as client:
        for page in client.source_pages(request):
            sys.stdout.write(page.text)


def tokenizers() -> None:
    """
    List the tokenizers that budgets can name, with the hashes of their files.
    """
    table = Table("tokenizer", "sha256")
    found = counters()
    for name in sorted(found.names()):
        table.add_row(name, found.get(name).sha256)
    Console().print(table)


def count(
    files: Annotated[
        list[Path], typer.Argument(help="Text files, UTF-8 or UTF-16; - for standard input.")
    ],
    tokenizer: Annotated[str, typer.Option(help="Who counts.")] = "o200k_base",
) -> None:
    """
    Count the tokens of files exactly.
    """
    counter = counters().get(tokenizer)
    total = 0
    for path in files:
        content = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        tokens = counter.count(decoded(content, shown(path)))
        total += tokens
        typer.echo(f"{tokens:>10}  {shown(path)}")
    if len(files) > 1:
        typer.echo(f"{total:>10}  total")
