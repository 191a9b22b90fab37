"""
`context-assembler`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from pydantic import ValidationError
from rich.console import Console
from typer.main import get_command

from cli import serving
from cli.texts import check_texts
from server.setting_rules import setting_problems


def main() -> None:
    """
    Run the command line; errors that a person can act on are one line and exit code 1, those of
    settings exit code 2.

    What the other commands need is not loaded to serve: it takes 45 MB.
    """
    if sys.argv[1:] == ["serve"]:
        _run(serving.serve, serving.FAILURES)
        return
    from cli.commands import FAILURES, app  # noqa: PLC0415 - only where it is used

    command = get_command(app)
    check_texts(command)
    _run(command, FAILURES)


def _run(command: Callable[[], object], failures: tuple[type[Exception], ...]) -> None:
    try:
        command()
    except ValidationError as error:
        for variable, problem in setting_problems(error):
            _complain(f"{variable}: {problem}")
        sys.exit(2)
    except failures as error:
        _complain(str(error))
        sys.exit(1)


def _complain(message: str) -> None:
    Console(stderr=True, highlight=False).print(
        f"[bold red]error[/]: {_plain(message)}", soft_wrap=True
    )


def _plain(text: str) -> str:
    return text.replace("[", r"\[")
