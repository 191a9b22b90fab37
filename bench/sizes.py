"""
`python -m bench.sizes`: how much longer requests take of a large index than of a small one.

A service runs for each, and they are asked by turns, the same questions.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import asdict, dataclass
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from adapters.tokenizer_files import install_tokenizers
from bench.command import command, indexing, run, write_json
from bench.corpus import Corpus, corpus
from bench.options import DOCUMENTS, WORK, BudgetTokens, Folder, Out, Requests, Work
from bench.phases import WARM_UP, percentile
from bench.served import Answer, Caller, Served, check_answers, serving, stage_ms
from server.settings import Settings

SIZES = (10_000, 300_000)
MILLI = 1000.0


@dataclass(frozen=True, slots=True)
class Row:
    """
    What requests of one index cost.

    Attributes:
        cpu_ms: Of the service's process, in the mean of the requests.
        stages: Median milliseconds by stage.
    """

    chunks: int
    p50_ms: float
    p99_ms: float
    cpu_ms: float
    ready_seconds: float
    rss_mb: float
    stages: dict[str, float]


def sizes(
    folder: Folder = DOCUMENTS,
    chunks: Annotated[
        list[int] | None, typer.Option(min=1, help="Chunks of an index; repeatable.")
    ] = None,
    budget: BudgetTokens = 4096,
    requests: Requests = 200,
    out: Out = None,
    work: Work = WORK,
) -> None:
    """
    Measure the same requests of indexes of several sizes.
    """
    console, settings = Console(highlight=False), Settings()
    install_tokenizers(settings.tokenizer_dir)
    with indexing(console) as progress:
        made = [
            corpus(folder, size, model_dir=settings.model_dir, work=work, progress=progress)
            for size in sorted(chunks or SIZES)
        ]
    questions = list(itertools.islice(made[0].questions(), WARM_UP + requests))
    with ExitStack() as services:
        served = [services.enter_context(serving(one.data_dir)) for one in made]
        rows = asyncio.run(_measured(served, made, questions, budget))
    _show(console, budget, rows)
    figures = {
        "budget": budget,
        "requests": requests,
        "sizes": [asdict(one) for one in rows],
        "p50_over_smallest": [one.p50_ms / rows[0].p50_ms for one in rows],
        "cpu_over_smallest": [one.cpu_ms / rows[0].cpu_ms for one in rows],
    }
    write_json(out, figures)


async def _measured(
    served: Sequence[Served], made: Sequence[Corpus], questions: Sequence[str], budget: int
) -> list[Row]:
    answers: list[list[Answer]] = [[] for _ in made]
    began: list[float] = []
    async with AsyncExitStack() as stack:
        callers = [
            await stack.enter_async_context(Caller(service.address, one.index, budget))
            for service, one in zip(served, made, strict=True)
        ]
        for number, question in enumerate(questions):
            if number == WARM_UP:
                began = [service.cpu_seconds for service in served]
            for caller, found in zip(callers, answers, strict=True):
                found.append(await caller.ask(question))
        spent = [service.cpu_seconds - at for service, at in zip(served, began, strict=True)]
    return [
        _row(service, one.chunks, found[WARM_UP:], cpu)
        for service, one, found, cpu in zip(served, made, answers, spent, strict=True)
    ]


def _row(served: Served, chunks: int, answers: Sequence[Answer], cpu: float) -> Row:
    check_answers(answers)
    seconds = [one.seconds for one in answers]
    return Row(
        chunks=chunks,
        p50_ms=MILLI * statistics.median(seconds),
        p99_ms=MILLI * percentile(seconds, 0.99),
        cpu_ms=MILLI * cpu / len(answers),
        ready_seconds=served.ready_seconds,
        rss_mb=served.resident_mb,
        stages=stage_ms(answers),
    )


def _show(console: Console, budget: int, rows: Sequence[Row]) -> None:
    first = rows[0]
    table = Table("", *(f"{row.chunks:,} chunks" for row in rows), title=f"{budget} tokens")
    table.add_row("p50 ms", *(f"{row.p50_ms:.1f}" for row in rows))
    table.add_row("over the smallest", *(f"{row.p50_ms / first.p50_ms:.2f}" for row in rows))
    table.add_row("p99 ms", *(f"{row.p99_ms:.1f}" for row in rows))
    table.add_row("CPU ms per request", *(f"{row.cpu_ms:.1f}" for row in rows))
    table.add_row("over the smallest", *(f"{row.cpu_ms / first.cpu_ms:.2f}" for row in rows))
    table.add_row("start to ready, s", *(f"{row.ready_seconds:.1f}" for row in rows))
    table.add_row("resident MB", *(f"{row.rss_mb:.0f}" for row in rows))
    for name in first.stages:
        table.add_row(f"stage {name}, ms", *(f"{row.stages.get(name, 0.0):.1f}" for row in rows))
    console.print(table)


if __name__ == "__main__":
    run(command(sizes))
