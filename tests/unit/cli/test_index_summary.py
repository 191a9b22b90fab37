"""
What a run says at its end, whatever its files are called.
"""

from __future__ import annotations

import io
import json
from collections import Counter

from rich.console import Console

from cli.index import facts_of, show_summary
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


def test_hidden_files_are_counted_and_the_first_are_named() -> None:
    shown = []
    for names in (["a/.git"], ["a/.[b]", "a/.c", "a/.d", "a/.e"]):
        out = io.StringIO()
        show_summary(Console(file=out, width=200), Summary(hidden=names))
        shown.append(out.getvalue().splitlines()[0])

    assert shown == [
        "1 hidden files and folders passed over: a/.git",
        "4 hidden files and folders passed over: a/.[b], a/.c, a/.d, …",
    ]


def test_programs_get_every_count_by_its_name() -> None:
    summary = Summary(reasons=Counter({"structure: headings": 2}), counts=Counter({"asked": 1}))

    facts = json.loads(json.dumps(facts_of(summary)))

    assert (facts["reasons"], facts["counts"]) == ({"structure: headings": 2}, {"asked": 1})
    assert facts["report"]["borders"] == {}


def test_five_warnings_are_shown_and_the_others_counted() -> None:
    out = io.StringIO()

    show_summary(Console(file=out, width=200), Summary(warnings=[f"w{n}" for n in range(8)]))

    lines = out.getvalue().splitlines()
    assert [line for line in lines if line.startswith("warning")] == [
        *(f"warning w{n}" for n in range(5)),
        "warning 3 more; --json lists all",
    ]
