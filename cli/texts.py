"""
Arguments and options that are texts: what a terminal hands over need not be one.
"""

from __future__ import annotations

from typing import Any

import typer


def check_texts(command: Any) -> None:
    """
    Have every argument and option of a command, and of those below it, that is a text checked.

    Paths stay as they are: their bytes need not be UTF-8.

    Args:
        command: What `typer.main.get_command` returns.
    """
    for param in command.params:
        param.callback = param.callback or _checked
    for one in getattr(command, "commands", {}).values():
        check_texts(one)


def _checked(ctx: typer.Context, param: Any, value: Any) -> Any:
    """
    Return the value.

    Raises:
        typer.BadParameter: It holds bytes that are not UTF-8, which Python keeps as halves of
            surrogate pairs; names the option.
    """
    for text in value if isinstance(value, list | tuple) else [value]:
        try:
            (text if isinstance(text, str) else "").encode()
        except UnicodeEncodeError as error:
            problem = f"is not UTF-8 at character {error.start + 1}"
            raise typer.BadParameter(problem, ctx=ctx, param=param) from None
    return value
