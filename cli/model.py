"""
`context-assembler model`: export an embedding model for serving.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from adapters.model_export import export_model
from server.settings import Settings

app = typer.Typer(help="The embedding model.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """
    The embedding model.
    """


@app.command("export")
def export(
    source: Annotated[
        str | None,
        typer.Argument(
            help="A sentence-transformers model: a name or a folder. Default: all-MiniLM-L6-v2 "
            "from its installed package."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder to write. Default: CONTEXT_ASSEMBLER_MODEL_DIR."),
    ] = None,
    prefix: Annotated[
        str | None,
        typer.Option(
            help="Text before every document, such as 'passage: ' with its space. Default: the "
            "model's own prompt, else nothing."
        ),
    ] = None,
    query_prefix: Annotated[
        str | None,
        typer.Option(help="Text before every query, such as 'query: '. Default: as above."),
    ] = None,
) -> None:
    """
    Export a model to ONNX with its tokenizer and description, checked against the original.

    Needs the optional dependency group `models`; serving does not.
    """
    folder = out or Settings().model_dir
    export_model(source, folder, prefix=prefix, query_prefix=query_prefix)
    Console().print(f"wrote {folder}")
