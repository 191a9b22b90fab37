"""
What a run says at its end, whatever its files are called.
"""

from __future__ import annotations

import io

from rich.console import Console

from cli.index import show_summary
from indexer.read_source import Unreadable
from indexer.request import Summary


def test_names_and_warnings_are_printed_as_they_are() -> None:
    out = io.StringIO()
    summary = Summary(
        unreadable=[Unreadable("docs/[/red].png", "has no suffix of a text format")],
        warnings=["[bold]a.txt holds 1 NUL, which are kept"],
    )

    show_summary(Console(file=out, width=200), summary)

    assert "not read docs/[/red].png: has no suffix of a text format\n" in out.getvalue()
    assert "warning [bold]a.txt holds 1 NUL, which are kept\n" in out.getvalue()
