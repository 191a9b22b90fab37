"""
How a bench is run from the command line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import typer
from rich.console import Console

from assembler.errors import ContextAssemblerError


def run(bench: Callable[..., None]) -> None:
    """
    Run a bench; errors that a person can act on are one line and exit code 2.
    """
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(bench)
    try:
        app()
    except (ContextAssemblerError, OSError, RuntimeError, ValueError) as error:
        Console(stderr=True, highlight=False).print("[bold red]error[/]:", str(error))
        sys.exit(2)
