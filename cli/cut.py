"""
`context-assembler cut`: how files would be cut, before anything is indexed.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cli.chat import chat_of
from cli.index import embedder_of
from cli.options import AsJson, TenantName, show_json
from cli.progress import progress_bars
from cli.strategies import settings_of
from indexer.cut_source import CutSource
from indexer.request import IndexRequest, Summary
from indexer.shown_cut import ShownChunk, cut_files, shown
from server.backend import make_store
from server.settings import Settings

FIRST_WORDS = 60
"""Characters of a chunk that the table shows."""


def cut(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders.")],
    name: Annotated[
        str | None,
        typer.Option("--index", help="Cut as this index has it. Default: as a new one would."),
    ] = None,
    tenant: TenantName = "",
    language: Annotated[
        str | None, typer.Option(help="Of every file: BCP 47 or English name. Default: detected.")
    ] = None,
    strategy: Annotated[
        str | None, typer.Option(help="How texts are cut, see `strategies`.")
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option(help="Of the strategy, key=value; repeatable.")
    ] = None,
    as_json: AsJson = False,  # noqa: FBT002 - a flag of the command line
) -> None:
    """
    Show how files are cut: each chunk's place, tokens, and why it begins there; writes nothing.
    """
    request = IndexRequest(
        index=name or "",
        paths=tuple(paths),
        tenant=tenant,
        language=language,
        strategy=strategy,
        strategy_settings=settings_of(setting),
    )
    settings, errors, summary = Settings(), Console(stderr=True), Summary()
    embedder = embedder_of(settings, errors)
    with progress_bars(errors) as show:
        found = [
            (one, shown(one, embedder))
            for one in cut_files(
                request,
                None if name is None else make_store(settings),
                embedder,
                summary,
                show,
                chat=chat_of(settings, asks=False),
            )
        ]
    for left_out in summary.unreadable:
        errors.print(f"[yellow]not read[/] {escape(str(left_out))}", highlight=False)
    if as_json:
        show_json(
            [
                {"source_id": one.file.source_id, "reason": one.reason}
                | {"chunks": [asdict(chunk) for chunk in chunks]}
                for one, chunks in found
            ]
        )
        return
    console = Console()
    for one, chunks in found:
        console.print(_table(one, chunks))


def _table(cut_source: CutSource, chunks: list[ShownChunk]) -> Table:
    reason = f", by {cut_source.reason}" if cut_source.reason else ""
    table = Table(
        "characters",
        "tokens",
        "begins for",
        "text",
        title=f"{escape(cut_source.file.source_id)}: {len(cut_source.sections)} sections, "
        f"{len(chunks)} chunks{reason}",
    )
    section = -1
    for chunk in chunks:
        if chunk.section != section:
            section = chunk.section
            table.add_section()
            heading = " > ".join(chunk.heading_path) or "(no heading)"
            table.add_row("", "", "", f"[bold]{escape(heading)}[/]")
        words = " ".join(chunk.text[: 2 * FIRST_WORDS].split())[:FIRST_WORDS]
        table.add_row(
            f"{chunk.start}-{chunk.end}",
            f"{chunk.tokens} ({chunk.input_tokens})",
            chunk.why,
            escape(words),
        )
    return table
