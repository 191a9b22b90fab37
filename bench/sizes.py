"""
`python -m bench.sizes`: how much longer requests take of a large index than of a small one.

A service runs for each, and they are asked by turns, the same questions.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import statistics
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from adapters.tokenizer_files import install_tokenizers
from bench.command import run
from bench.corpus import Corpus, corpus
from bench.latency import DOCUMENTS, WARM_UP
from bench.phases import percentile
from bench.served import Answer, Caller, Served, serving
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
    folder: Annotated[Path, typer.Option("--data", help="Folder of documents.")] = DOCUMENTS,
    chunks: Annotated[
        list[int] | None, typer.Option(min=1, help="Chunks of an index; repeatable.")
    ] = None,
    budget: Annotated[int, typer.Option(min=1, help="Tokens of the context.")] = 4096,
    requests: Annotated[int, typer.Option(min=1, help="Questions, each asked once.")] = 200,
    out: Annotated[Path | None, typer.Option("--json", help="Where the figures go.")] = None,
    work: Annotated[Path, typer.Option(help="Keeps indexes.")] = Path("var/bench"),
) -> None:
    """
    Measure the same requests of indexes of several sizes.
    """
    console, settings = Console(highlight=False), Settings()
    install_tokenizers(settings.tokenizer_dir)
    with console.status("indexing") as status:
        made = [
            corpus(
                folder,
                size,
                model_dir=settings.model_dir,
                work=work,
                progress=lambda stage, done, total: status.update(f"{stage} {done} of {total}"),
            )
            for size in sorted(chunks or SIZES)
        ]
    questions = list(itertools.islice(made[0].questions(), WARM_UP + requests))
    with ExitStack() as services:
        served = [services.enter_context(serving(one.data_dir)) for one in made]
        rows = asyncio.run(_measured(served, made, questions, budget))
    _show(console, budget, rows)
    if out is not None:
        figures = {
            "budget": budget,
            "requests": requests,
            "sizes": [asdict(one) for one in rows],
            "p50_over_smallest": [one.p50_ms / rows[0].p50_ms for one in rows],
            "cpu_over_smallest": [one.cpu_ms / rows[0].cpu_ms for one in rows],
        }
        out.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


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
    wrong = [one for one in answers if one.code != "OK" or one.is_wrong]
    if wrong:
        msg = f"{len(wrong)} of {len(answers)} answers are wrong, the first: {wrong[0].code}"
        raise RuntimeError(msg)
    seconds = [one.seconds for one in answers]
    names = dict.fromkeys(name for one in answers for name in one.stages or {})
    return Row(
        chunks=chunks,
        p50_ms=MILLI * statistics.median(seconds),
        p99_ms=MILLI * percentile(seconds, 0.99),
        cpu_ms=MILLI * cpu / len(answers),
        ready_seconds=served.ready_seconds,
        rss_mb=served.resident_mb,
        stages={
            name: MILLI * statistics.median((one.stages or {}).get(name, 0.0) for one in answers)
            for name in names
        },
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
    run(sizes)
