"""
Show a context in a terminal.
"""

from __future__ import annotations

from contextassembler.v1 import context_pb2 as pb
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

SHOWN_CANDIDATES = 40
BAR_WIDTH = 50


def show_context(console: Console, context: pb.AssembledContext, *, has_list: bool) -> None:
    """
    Print the context, its citations, the budget, the stages and what was left out.
    """
    if context.context:
        console.print(Panel(Text(context.context), title="context", title_align="left"))
    else:
        console.print("[yellow]nothing found, or nothing fits: the context is empty[/]")
    _citations(console, context)
    _budget(console, context.budget)
    _stages(console, context)
    _dispositions(console, context, has_list=has_list)
    console.print(
        f"[dim]index {', '.join(context.index_versions)} · profile {context.effective.profile} · "
        f"context sha256 {context.context_sha256[:16]}…[/]"
    )


def _citations(console: Console, context: pb.AssembledContext) -> None:
    if not context.passages:
        return
    table = Table("marker", "source", "version", "characters", "tokens", "notes", title="citations")
    for passage in context.passages:
        notes = ", ".join(
            pb.Note.Name(note).removeprefix("NOTE_").lower() for note in passage.notes
        )
        for position, source in enumerate(passage.sources):
            ranges = ", ".join(f"{span.source.start}-{span.source.end}" for span in source.spans)
            state = pb.SourceState.Name(source.state).removeprefix("SOURCE_STATE_").lower()
            version = (
                source.version
                if source.state == pb.SOURCE_STATE_CURRENT
                else (f"{source.version} ({state})")
            )
            table.add_row(
                escape(passage.marker) if position == 0 else "  same text",
                escape(source.source_id),
                escape(version),
                ranges,
                str(passage.tokens) if position == 0 else "",
                notes if position == 0 else "",
            )
    console.print(table)


def _budget(console: Console, budget: pb.BudgetReport) -> None:
    used, limit = budget.context_tokens, budget.limit_tokens
    console.print(
        f"budget  [bold]{used}[/] of {limit} tokens ({budget.tokenizer}): "
        f"text {budget.text_tokens}, headings {budget.heading_tokens}, "
        f"markers {budget.marker_tokens}, unused {budget.unused_tokens}"
    )
    console.print(ProgressBar(total=max(limit, 1), completed=used, width=BAR_WIDTH), end="\n")
    console.print()


def _stages(console: Console, context: pb.AssembledContext) -> None:
    times = [
        f"{pb.Stage.Name(one.stage).removeprefix('STAGE_').lower()} "
        f"{one.duration.ToNanoseconds() / 1e6:.1f} ms"
        for one in context.stages
    ]
    console.print("stages  " + " · ".join(times))


def _dispositions(console: Console, context: pb.AssembledContext, *, has_list: bool) -> None:
    account = context.dispositions
    counts = [
        f"{pb.Disposition.Name(one.disposition).removeprefix('DISPOSITION_').lower()} {one.count}"
        for one in account.counts
    ]
    console.print(f"candidates  {account.candidates}: " + ", ".join(counts))
    if not has_list:
        return
    table = Table(
        "rank", "source", "characters", "score", "disposition", "notes", title="candidates"
    )
    for rank, one in enumerate(account.list[:SHOWN_CANDIDATES]):
        score = next((s.value for s in one.scores if s.signal == pb.SIGNAL_FUSED), 0.0)
        table.add_row(
            str(rank),
            escape(one.source_id),
            f"{one.range.start}-{one.range.end}",
            f"{score:.3f}",
            pb.Disposition.Name(one.disposition).removeprefix("DISPOSITION_").lower(),
            ", ".join(pb.Note.Name(note).removeprefix("NOTE_").lower() for note in one.notes),
        )
    console.print(table)
    hidden = len(account.list) - SHOWN_CANDIDATES
    if hidden > 0:
        console.print(f"[dim]and {hidden} more; --json shows all[/]")
