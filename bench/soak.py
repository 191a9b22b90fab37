"""
`python -m bench.soak`: whether the service's memory stays where it is under steady, varied load.

Callers first ask as fast as they are answered, which fills caches and says what saturation is; then
requests arrive at 70 % of that, and the resident memory is read every second.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer
from rich.console import Console

from adapters.tokenizer_files import install_tokenizers
from bench.command import command, indexing, run, show_figures, write_json
from bench.corpus import Corpus, corpus
from bench.load import PART
from bench.options import DOCUMENTS, WORK, Chunks, Folder, Out, Work
from bench.phases import Phase, closed, open_loop
from bench.served import Answer, Caller, Served, serving
from server.settings import Settings

SEED = 17
MOST_QUERIES = 3
BUDGETS = (512, 1024, 2048, 4096, 8192)
CANDIDATES = (50, 100, 200)
SAMPLE_SECONDS = 1.0
ENDS = 20
"""Memory at the start and at the end are medians of so many parts of all samples."""

MILLI = 1000.0


@dataclass(frozen=True, slots=True)
class Wish:
    """
    One request.
    """

    questions: tuple[str, ...]
    budget: int
    candidates: int


def wishes(questions: Iterator[str], seed: int = SEED) -> Iterator[Wish]:
    """
    Yield requests without end, of one to three queries, small and large.
    """
    draw = random.Random(seed)  # noqa: S311 - no secrets
    while True:
        count = draw.randint(1, MOST_QUERIES)
        texts = tuple(next(questions) for _ in range(count))
        yield Wish(texts, draw.choice(BUDGETS), draw.choice(CANDIDATES))


def soak(
    folder: Folder = DOCUMENTS,
    chunks: Chunks = 30_000,
    seconds: Annotated[float, typer.Option(min=1.0, help="Of the steady load.")] = 600.0,
    warm_up: Annotated[float, typer.Option(min=1.0, help="Seconds before it.")] = 60.0,
    out: Out = None,
    work: Work = WORK,
) -> None:
    """
    Measure memory under steady load.
    """
    console, settings = Console(highlight=False), Settings()
    install_tokenizers(settings.tokenizer_dir)
    with indexing(console) as progress:
        made = corpus(folder, chunks, model_dir=settings.model_dir, work=work, progress=progress)
    with serving(made.data_dir) as served:
        before = served.resident_mb
        full, steady, samples, mapped = asyncio.run(
            _loaded(served, made, settings.inflight_limit, warm_up, seconds)
        )
    figures = {
        "chunks": made.chunks,
        "seconds": steady.seconds,
        "saturation_per_second": full.per_second,
        **_answered(steady),
        "rss_mb": {"ready": before, **memory(samples)},
        "mapped_files_mb": memory(mapped),
        "own_mb": memory([rss - files for rss, files in zip(samples, mapped, strict=True)]),
    }
    show_figures(console, f"{made.chunks} chunks", figures)
    write_json(out, figures | {"samples_mb": samples, "mapped_samples_mb": mapped})


async def _loaded(
    served: Served, made: Corpus, clients: int, warm_up: float, seconds: float
) -> tuple[Phase, Phase, list[float], list[float]]:
    """
    Return saturation, the steady load, and the memory during it in MB, a sample a second: all, and
    what of it is pages of files.
    """
    asked = wishes(made.questions())
    samples: list[float] = []
    mapped: list[float] = []

    async def sample() -> None:
        while True:
            samples.append(served.resident_mb)
            mapped.append(served.mapped_mb)
            await asyncio.sleep(SAMPLE_SECONDS)

    async with Caller(served.address, made.index, max(BUDGETS)) as caller:

        async def ask() -> Answer:
            wish = next(asked)
            answer = await caller.ask(
                *wish.questions, budget=wish.budget, chunk_limit=wish.candidates
            )
            return replace(answer, context="", stages=None)

        full = await closed(ask, clients, warm_up)
        sampling = asyncio.create_task(sample())
        steady = await open_loop(ask, PART * full.per_second, seconds)
        sampling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await sampling
    return full, steady, samples, mapped


def memory(samples: Sequence[float]) -> dict[str, float]:
    """
    Return memory at the start, at the end and at most, in MB, and by how many percent it grew.
    """
    few = max(len(samples) // ENDS, 1)
    start, end = statistics.median(samples[:few]), statistics.median(samples[-few:])
    return {
        "start": start,
        "end": end,
        "largest": max(samples),
        "growth_percent": 100.0 * (end / start - 1.0),
        "largest_growth_percent": 100.0 * (max(samples) / start - 1.0),
    }


def _answered(steady: Phase) -> dict[str, Any]:
    return {
        "answered_per_second": steady.per_second,
        "answered": len(steady.accepted),
        "refused": len(steady.refused),
        "other_errors": len(steady.answers) - len(steady.accepted) - len(steady.refused),
        "wrong": sum(one.is_wrong for one in steady.accepted),
        "p50_ms": MILLI * steady.percentile(0.5),
        "p99_ms": MILLI * steady.percentile(0.99),
    }


if __name__ == "__main__":
    run(command(soak))
