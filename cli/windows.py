"""
`context-assembler windows`: what windows of a size and an overlap cost, exactly.
"""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from cli.options import MOST_INT
from indexer.windows import Windows

MOST_TOKENS = 2**63 - 1


def windows(
    tokens: Annotated[int, typer.Option(max=MOST_TOKENS, help="Tokens of the text.")],
    size: Annotated[int, typer.Option(max=MOST_TOKENS, help="Tokens of a window.")],
    overlap: Annotated[
        int, typer.Option(max=MOST_TOKENS, help="Tokens shared with the window before.")
    ] = 0,
    dimension: Annotated[
        int | None,
        typer.Option(max=MOST_INT, help="Of the embedding model: adds the bytes of the vectors."),
    ] = None,
    as_json: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, typer.Option("--json", help="One JSON object instead of a table.")
    ] = False,
) -> None:
    """
    Count windows, their tokens and the bytes of their vectors, without a text.
    """
    found = Windows(tokens, size, overlap)
    figures: dict[str, int | float | dict[str, int]] = {
        "windows": found.count,
        "token_occurrences": found.occurrences,
        "duplication_ratio": found.duplication_ratio,
        "multiplication": found.multiplication,
    }
    if dimension is not None:
        figures["vector_bytes"] = found.vector_bytes(dimension)
    if as_json:
        typer.echo(json.dumps(figures))
        return
    table = Table("figure", "value")
    for name, value in figures.items():
        if isinstance(value, dict):
            for kind, count in value.items():
                table.add_row(f"{name} {kind}", f"{count:,}")
        else:
            table.add_row(name, f"{value:,}" if isinstance(value, int) else f"{value:.4f}")
    Console().print(table)
