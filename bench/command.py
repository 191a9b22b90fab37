"""
How benches are run from the command line, and where their figures go.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from assembler.errors import ContextAssemblerError
from indexer.ports import Progress

FAILURES = (ContextAssemblerError, OSError, RuntimeError, ValueError)
"""What a person can act on."""


def command(bench: Callable[..., None]) -> typer.Typer:
    """
    Return a bench as a command line.
    """
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(bench)
    return app


def run(app: Callable[[], object], failures: tuple[type[Exception], ...] = FAILURES) -> None:
    """
    Run a command line; errors that a person can act on are one line and exit code 2.
    """
    try:
        app()
    except failures as error:
        Console(stderr=True, highlight=False).print("[bold red]error[/]:", escape(str(error)))
        sys.exit(2)


@contextmanager
def indexing(console: Console) -> Iterator[Progress]:
    """
    Show how far the indexer is, until the block ends.
    """
    with console.status("indexing") as status:
        yield lambda stage, done, total: status.update(f"{stage} {done} of {total}")


def silent(stage: str, done: int, total: int) -> None:
    """
    Tell nobody how far the indexer is.
    """


def show_figures(console: Console, title: str, figures: Mapping[str, Any]) -> None:
    """
    Print figures by name, a row each; what is nested has the outer name before it.
    """
    rows: dict[str, Any] = {}
    for name, value in figures.items():
        if isinstance(value, Mapping):
            rows |= {f"{name}: {inner}": found for inner, found in value.items()}
        else:
            rows[name] = value
    table = Table("figure", "value", title=title)
    for name, value in rows.items():
        table.add_row(name, f"{value:,.2f}" if isinstance(value, float) else f"{value:,}")
    console.print(table)


def write_json(out: Path | None, figures: object, *, indent: int = 2) -> None:
    """
    Write figures where they go, if they go anywhere.
    """
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(figures, indent=indent) + "\n", encoding="utf-8")
