"""
Bars that show how far a command is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from indexer.ports import Progress as ShowProgress

COLUMNS = (
    TextColumn("{task.description:>10}"),
    BarColumn(),
    MofNCompleteColumn(),
    TimeRemainingColumn(),
)


@contextmanager
def progress_bars(console: Console) -> Iterator[ShowProgress]:
    """
    Show a bar for every stage.
    """
    with Progress(*COLUMNS, console=console, transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def show(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage)
            bars.update(tasks[stage], completed=done, total=total)

        yield show
