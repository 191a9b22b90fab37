"""
`python -m bench.load`: how much the service takes, and what becomes of callers when it is too much.

Three phases over loopback gRPC: as many callers as the service works for at once, each waiting for
its answer (saturation); arrivals at 70 % of that, timed from when they were meant to be sent; and
arrivals at several times of it (overload).
"""

from __future__ import annotations

import asyncio
import itertools
import math
import urllib.request
from collections.abc import Awaitable
from pathlib import Path
from typing import Annotated, Any

import typer
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console

from adapters.token_counters import TokenizerFolder
from adapters.tokenizer_files import install_tokenizers
from bench.command import command, indexing, run, show_figures, write_json
from bench.corpus import Corpus, corpus
from bench.floor import floor_of
from bench.options import DOCUMENTS, WORK, BudgetTokens, Chunks, Folder, Out, Work
from bench.phases import Phase, closed, open_loop, percentile
from bench.served import TOKENIZER, Answer, Caller, Served, serving
from server.settings import Settings

PART = 0.7
"""Of the saturation: the load at which latencies are told."""

WARM_UP_SECONDS = 3.0
FLOOR_QUESTIONS = 60
RECOUNTED = 100
"""Contexts of the overload that are counted again."""

GAPS = "context_assembler_event_loop_gap_seconds_bucket"
MILLI = 1000.0


def load(
    folder: Folder = DOCUMENTS,
    chunks: Chunks = 30_000,
    budget: BudgetTokens = 4096,
    clients: Annotated[
        int | None,
        typer.Option(min=1, help="Callers of the saturation. Default: the service's limit."),
    ] = None,
    seconds: Annotated[float, typer.Option(min=1.0, help="Of each phase.")] = 30.0,
    overload: Annotated[float, typer.Option(min=1.0, help="Times the saturation.")] = 5.0,
    out: Out = None,
    work: Work = WORK,
) -> None:
    """
    Measure saturation, latency under load, and overload.
    """
    console, settings = Console(highlight=False), Settings()
    install_tokenizers(settings.tokenizer_dir)
    with indexing(console) as progress:
        made = corpus(folder, chunks, model_dir=settings.model_dir, work=work, progress=progress)
    with serving(made.data_dir) as served:
        callers = clients or settings.inflight_limit
        phases = asyncio.run(_phases(served, made, budget, callers, seconds, overload))
        gap, resident = _loop_gap(served, 0.999), served.resident_mb
    floor = asyncio.run(
        floor_of(
            made,
            list(itertools.islice(made.questions(seed=5), FLOOR_QUESTIONS)),
            budget,
            model_dir=settings.model_dir,
            tokenizer_dir=settings.tokenizer_dir,
        )
    )
    figures = {
        "chunks": made.chunks,
        "budget": budget,
        "clients": callers,
        "cpus": settings.cpus,
        **_figures(phases, settings.cpus / floor.cpu),
        "loop_gap_p999_ms": MILLI * gap,
        "rss_mb": resident,
    }
    figures["overload"]["wrong_replies"] = _wrong(phases[2], settings.tokenizer_dir)
    show_figures(console, f"{made.chunks} chunks, {budget} tokens", figures)
    write_json(out, figures)


async def _phases(
    served: Served, made: Corpus, budget: int, clients: int, seconds: float, overload: float
) -> tuple[Phase, Phase, Phase]:
    """
    Return saturation, 70 % of it, and the overload.
    """
    questions = made.questions()
    async with Caller(served.address, made.index, budget) as caller:

        def ask() -> Awaitable[Answer]:
            return caller.ask(next(questions))

        await closed(ask, clients, WARM_UP_SECONDS)
        full = await closed(ask, clients, seconds)
        part = await open_loop(ask, PART * full.per_second, seconds)
        over = await open_loop(ask, overload * full.per_second, seconds)
    return full, part, over


def _figures(phases: tuple[Phase, Phase, Phase], floor_per_second: float) -> dict[str, Any]:
    full, part, over = phases
    return {
        "saturation_per_second": full.per_second,
        "saturation_over_floor": full.per_second / floor_per_second,
        "at_70": {
            "per_second": part.per_second,
            "refused": len(part.answers) - len(part.accepted),
            "p50_ms": MILLI * part.percentile(0.5),
            "p99_ms": MILLI * part.percentile(0.99),
            "p999_ms": MILLI * part.percentile(0.999),
            "p99_over_p50": part.percentile(0.99) / part.percentile(0.5),
        },
        "overload": {
            "offered_per_second": len(over.answers) / over.seconds,
            "accepted_per_second": over.per_second,
            "accepted_over_saturation": over.per_second / full.per_second,
            "accepted_p50_ms": MILLI * over.percentile(0.5),
            "accepted_p99_ms": MILLI * over.percentile(0.99),
            "accepted_p99_over_p99_at_70": over.percentile(0.99) / part.percentile(0.99),
            "refused_p50_ms": MILLI * percentile([one.seconds for one in over.refused], 0.5),
            "refused_p99_ms": MILLI * percentile([one.seconds for one in over.refused], 0.99),
            "other_errors": len(over.answers) - len(over.accepted) - len(over.refused),
        },
    }


def _wrong(phase: Phase, tokenizer_dir: Path) -> int:
    """
    Return how many replies break the limit or are counted otherwise than by their tokenizer.
    """
    count = TokenizerFolder(tokenizer_dir).get(TOKENIZER).count
    step = max(len(phase.accepted) // RECOUNTED, 1)
    miscounted = sum(count(one.context) != one.tokens for one in phase.accepted[::step])
    return miscounted + sum(one.is_wrong for one in phase.accepted)


def _loop_gap(served: Served, part: float) -> float:
    """
    Return the upper bound of the histogram's bucket that holds a percentile of the loop's gaps.
    """
    address = f"http://127.0.0.1:{served.metrics_port}/metrics"
    with urllib.request.urlopen(address) as reply:
        text = reply.read().decode()
    buckets = [
        (float(sample.labels["le"]), sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == GAPS
    ]
    total = max((count for _, count in buckets), default=0.0)
    return next((bound for bound, count in buckets if count >= part * total), math.inf)


if __name__ == "__main__":
    run(command(load))
