"""
`python -m bench.latency`: the time of one request at a time, against the floor of the same run.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from adapters.tokenizer_files import install_tokenizers
from bench.command import FAILURES, command, indexing, run, show_figures, write_json
from bench.corpus import Corpus, corpus
from bench.floor import Floor, floor_of
from bench.latency_peer import peer_seconds
from bench.options import DOCUMENTS, WORK, BudgetTokens, Chunks, Folder, Out, Requests, Work
from bench.peers.libraries import PeerMissing
from bench.phases import WARM_UP, percentile
from bench.quality.picture import PictureImpossible, check_drawing
from bench.served import Answer, Caller, Served, check_answers, serving, stage_ms
from bench.stage_picture import draw_stages
from server.settings import Settings

MILLI = 1000.0


def latency(
    folder: Folder = DOCUMENTS,
    chunks: Chunks = 30_000,
    budget: BudgetTokens = 4096,
    requests: Requests = 300,
    has_peers: Annotated[  # noqa: FBT002 - typer's way to a flag
        bool, typer.Option("--peers", help="LangChain on the same engine and model too.")
    ] = False,
    out: Out = None,
    picture: Annotated[Path | None, typer.Option(help="Where stages are drawn, .png.")] = None,
    work: Work = WORK,
) -> None:
    """
    Measure the service over loopback gRPC, one request at a time.
    """
    if picture is not None:
        check_drawing()
    console, settings = Console(highlight=False), Settings()
    install_tokenizers(settings.tokenizer_dir)
    with indexing(console) as progress:
        made = corpus(folder, chunks, model_dir=settings.model_dir, work=work, progress=progress)
    questions = list(itertools.islice(made.questions(), WARM_UP + requests))
    with serving(made.data_dir) as served:
        answers, cpu = asyncio.run(_asked(served.address, made, questions, budget, served))
        figures: dict[str, Any] = {
            "chunks": made.chunks,
            "budget": budget,
            "requests": requests,
            "ready_seconds": served.ready_seconds,
            "rss_mb": served.resident_mb,
        }
    floor = asyncio.run(
        floor_of(
            made,
            questions[WARM_UP:],
            budget,
            model_dir=settings.model_dir,
            tokenizer_dir=settings.tokenizer_dir,
        )
    )
    figures.update(_figures(answers, floor, cpu))
    if has_peers:
        beside = statistics.median(
            peer_seconds(made, questions[WARM_UP:], model_dir=settings.model_dir)
        )
        figures["peer_p50_ms"] = MILLI * beside
        figures["p50_over_peer"] = figures["p50_ms"] / figures["peer_p50_ms"]
    _show(console, figures)
    write_json(out, figures)
    if picture is not None:
        draw_stages(figures, picture)


async def _asked(
    address: str, made: Corpus, questions: Sequence[str], budget: int, served: Served
) -> tuple[list[Answer], float]:
    """
    Return the answers after the warm-up, and the service's CPU seconds per request.
    """
    async with Caller(address, made.index, budget) as caller:
        for question in questions[:WARM_UP]:
            await caller.ask(question)
        before = served.cpu_seconds
        answers = [await caller.ask(question) for question in questions[WARM_UP:]]
        spent = served.cpu_seconds - before
    check_answers(answers)
    return answers, spent / len(answers)


def _figures(answers: Sequence[Answer], floor: Floor, cpu: float) -> dict[str, Any]:
    seconds = [one.seconds for one in answers]
    middle, last = statistics.median(seconds), percentile(seconds, 0.99)
    least = statistics.median(floor.seconds)
    return {
        "p50_ms": MILLI * middle,
        "p99_ms": MILLI * last,
        "p99_over_p50": last / middle,
        "floor_p50_ms": MILLI * least,
        "floor_embed_ms": MILLI * statistics.median(floor.embed[floor.threads]),
        "floor_embed_threads": floor.threads,
        "floor_engine_ms": MILLI * statistics.median(floor.engine),
        "p50_over_floor": middle / least,
        "overhead_ms": MILLI * (middle - least),
        "cpu_ms": MILLI * cpu,
        "floor_cpu_ms": MILLI * floor.cpu,
        "cpu_overhead_ms": MILLI * (cpu - floor.cpu),
        "context_tokens_mean": statistics.fmean(one.tokens for one in answers),
        "stages": stage_ms(answers),
    }


def _show(console: Console, figures: dict[str, Any]) -> None:
    title = f"{figures['chunks']} chunks, {figures['budget']} tokens"
    show_figures(console, title, {name: figures[name] for name in figures if name != "stages"})
    stages = Table("stage", "median ms")
    for name, value in figures["stages"].items():
        stages.add_row(name, f"{value:.2f}")
    console.print(stages)


if __name__ == "__main__":
    run(command(latency), (*FAILURES, PeerMissing, PictureImpossible))
