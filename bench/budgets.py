"""
`python -m bench.budgets`: whether a request's CPU time grows faster than the tokens of its context.

Every request has several queries, many candidates of each, may read every section that one of them
lies in, and is to fill its budget (FULL); the budgets are asked by turns, on one index.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from adapters.tokenizer_files import install_tokenizers
from bench.command import command, indexing, run, write_json
from bench.corpus import corpus
from bench.options import DOCUMENTS, WORK, Chunks, Folder, Out, Work
from bench.served import Answer, Caller, Served, serving, stage_ms
from server.settings import Settings

BUDGETS = (4096, 32_000, 128_000)
MOST_SECTIONS = 1000
WARM_UP = 3
MILLI = 1000.0


@dataclass(frozen=True, slots=True)
class Row:
    """
    What requests of one budget cost.

    Attributes:
        tokens: Of the context, in the mean.
        cpu_ms: Of the service's process, in the mean of the requests.
        stages: Median milliseconds by stage.
    """

    budget: int
    tokens: float
    cpu_ms: float
    p50_ms: float
    stages: dict[str, float]

    @property
    def cpu_us_per_token(self) -> float:
        """
        Return the microseconds of CPU for each token of the context.
        """
        return MILLI * self.cpu_ms / self.tokens


def budgets(
    folder: Folder = DOCUMENTS,
    chunks: Chunks = 30_000,
    asked: Annotated[
        list[int] | None,
        typer.Option("--budget", min=1, help="Tokens of the context; repeatable."),
    ] = None,
    queries: Annotated[int, typer.Option(min=1, help="Of a request.")] = 5,
    candidates: Annotated[int, typer.Option(min=1, help="Per query and search.")] = 200,
    requests: Annotated[int, typer.Option(min=1, help="Of each budget.")] = 20,
    out: Out = None,
    work: Work = WORK,
) -> None:
    """
    Measure the CPU of requests against the tokens that they return.
    """
    console, settings = Console(highlight=False), Settings()
    install_tokenizers(settings.tokenizer_dir)
    with indexing(console) as progress:
        made = corpus(folder, chunks, model_dir=settings.model_dir, work=work, progress=progress)
    sizes = sorted(asked or BUDGETS)
    with serving(made.data_dir) as served:
        texts = made.questions()
        sets = iter(lambda: tuple(itertools.islice(texts, queries)), ())
        rows = asyncio.run(_measured(served, made.index, sets, sizes, candidates, requests))
    _show(console, made.chunks, rows)
    figures = {
        "chunks": made.chunks,
        "queries": queries,
        "candidates": candidates,
        "budgets": [asdict(one) | {"cpu_us_per_token": one.cpu_us_per_token} for one in rows],
        "cpu_over_tokens": growth(rows),
        "cpu_us_per_further_token": further(rows),
    }
    write_json(out, figures)


async def _measured(
    served: Served,
    index: str,
    sets: Iterator[tuple[str, ...]],
    sizes: Sequence[int],
    candidates: int,
    requests: int,
) -> list[Row]:
    answers: dict[int, list[Answer]] = {size: [] for size in sizes}
    spent = dict.fromkeys(sizes, 0.0)
    async with Caller(served.address, index, max(sizes)) as caller:
        for number in range(WARM_UP + requests):
            for size in sizes:
                questions = next(sets)  # what was asked before is not embedded again
                before = served.cpu_seconds
                answer = await caller.ask(
                    *questions, budget=size, chunk_limit=candidates, section_limit=MOST_SECTIONS
                )
                if answer.code != "OK" or answer.is_wrong or not answer.tokens:
                    msg = f"an answer for {size} tokens is wrong: {answer.code}"
                    raise RuntimeError(msg)
                if number >= WARM_UP:
                    spent[size] += served.cpu_seconds - before
                    answers[size].append(answer)
    return [_row(size, found, spent[size]) for size, found in answers.items()]


def _row(budget: int, answers: Sequence[Answer], cpu: float) -> Row:
    return Row(
        budget=budget,
        tokens=statistics.fmean(one.tokens for one in answers),
        cpu_ms=MILLI * cpu / len(answers),
        p50_ms=MILLI * statistics.median(one.seconds for one in answers),
        stages=stage_ms(answers),
    )


def growth(rows: Sequence[Row]) -> list[float]:
    """
    Return, from each budget to the next, the ratio of CPU over the ratio of tokens; 1 is as fast.
    """
    return [
        (large.cpu_ms / small.cpu_ms) / (large.tokens / small.tokens)
        for small, large in itertools.pairwise(rows)
    ]


def further(rows: Sequence[Row]) -> list[float]:
    """
    Return, from each budget to the next, the microseconds of CPU for each token more.

    What every request costs, however small, is not in it: searches, above all.
    """
    return [
        MILLI * (large.cpu_ms - small.cpu_ms) / (large.tokens - small.tokens)
        for small, large in itertools.pairwise(rows)
    ]


def _show(console: Console, chunks: int, rows: Sequence[Row]) -> None:
    stages = dict.fromkeys(name for row in rows for name in row.stages)
    table = Table("", *(f"{row.budget:,}" for row in rows), title=f"{chunks} chunks")
    table.add_row("tokens of the context, mean", *(f"{row.tokens:,.0f}" for row in rows))
    table.add_row("CPU ms per request", *(f"{row.cpu_ms:.1f}" for row in rows))
    table.add_row("CPU µs per token", *(f"{row.cpu_us_per_token:.1f}" for row in rows))
    table.add_row("the same for each token more", "", *(f"{one:.1f}" for one in further(rows)))
    table.add_row("CPU over tokens, to the one before", "", *(f"{one:.2f}" for one in growth(rows)))
    table.add_row("p50 ms", *(f"{row.p50_ms:.1f}" for row in rows))
    for name in stages:
        table.add_row(f"stage {name}, ms", *(f"{row.stages.get(name, 0.0):.1f}" for row in rows))
    console.print(table)


if __name__ == "__main__":
    run(command(budgets))
