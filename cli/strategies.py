"""
`context-assembler strategies`: the ways to cut documents, with their settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from assembler.errors import InvalidRequest
from indexer.strategies.registry import FOR_ALL, STRATEGIES


def strategies() -> None:
    """
    List the ways to cut documents, with their settings and defaults.
    """
    table = Table("strategy", "settings", "what it does")
    for name, one in STRATEGIES.items():
        settings = "\n".join(
            f"{key}={setting.default} ({setting.means})" for key, setting in one.settings.items()
        )
        table.add_row(name, settings, one.means)
        table.add_section()
    for name, setting in FOR_ALL.items():
        table.add_row("each of them", f"{name}=… ({setting.means})", "")
    Console().print(table)


def settings_of(words: Sequence[str] | None) -> Mapping[str, str]:
    """
    Return the settings of the command line by name.

    Raises:
        InvalidRequest: One is not key=value, or a key stands there twice.
    """
    found: dict[str, str] = {}
    for word in words or ():
        key, sign, value = word.partition("=")
        if not sign or not key or not value:
            raise InvalidRequest("setting", f"{word!r} is not key=value")
        if key in found:
            raise InvalidRequest("setting", f"{key} is given twice")
        found[key] = value
    return found
