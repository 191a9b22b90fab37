"""
Options that several benches have.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

DOCUMENTS = Path(__file__).parent.parent / "examples" / "handbook"
WORK = Path("var/bench")

Folder: TypeAlias = Annotated[Path, typer.Option("--data", help="Folder of documents.")]
Chunks: TypeAlias = Annotated[int, typer.Option(min=1, help="Chunks of the index.")]
BudgetTokens: TypeAlias = Annotated[int, typer.Option(min=1, help="Tokens of the context.")]
Requests: TypeAlias = Annotated[int, typer.Option(min=1, help="Questions, each asked once.")]
Limit: TypeAlias = Annotated[int | None, typer.Option(min=1, help="The first so many questions.")]
Out: TypeAlias = Annotated[Path | None, typer.Option("--json", help="Where the figures go.")]
Work: TypeAlias = Annotated[Path, typer.Option(help="Keeps indexes.")]
