"""
`python -m bench.latency`: the time of one request at a time, against the floor of the same run.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from adapters.tokenizer_files import install_tokenizers
from assembler.errors import ContextAssemblerError
from bench.corpus import Corpus, corpus
from bench.floor import Floor, floor_of
from bench.latency_peer import peer_seconds
from bench.peers.libraries import PeerMissing
from bench.quality.picture import PictureImpossible, check_drawing
from bench.served import Answer, Caller, Served, serving
from bench.stage_picture import draw_stages
from server.settings import Settings

DOCUMENTS = Path(__file__).parent.parent / "examples" / "handbook"
WARM_UP = 20
MILLI = 1000.0


def latency(
    folder: Annotated[Path, typer.Option("--data", help="Folder of documents.")] = DOCUMENTS,
    chunks: Annotated[int, typer.Option(min=1, help="Chunks of the index.")] = 30_000,
    budget: Annotated[int, typer.Option(min=1, help="Tokens of the context.")] = 4096,
    requests: Annotated[int, typer.Option(min=1, help="Questions, each asked once.")] = 300,
    has_peers: Annotated[  # noqa: FBT002 - typer's way to a flag
        bool, typer.Option("--peers", help="LangChain on the same engine and model too.")
    ] = False,
    out: Annotated[Path | None, typer.Option("--json", help="Where the figures go.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Where stages are drawn, .png.")] = None,
    work: Annotated[Path, typer.Option(help="Keeps indexes.")] = Path("var/bench"),
) -> None:
    """
    Measure the service over loopback gRPC, one request at a time.
    """
    if picture is not None:
        check_drawing()
    console, settings = Console(highlight=False), Settings()
    install_tokenizers(settings.tokenizer_dir)
    with console.status("indexing") as status:
        made = corpus(
            folder,
            chunks,
            model_dir=settings.model_dir,
            work=work,
            progress=lambda stage, done, total: status.update(f"{stage} {done} of {total}"),
        )
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
    if out is not None:
        out.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
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
    wrong = [one for one in answers if one.code != "OK" or one.is_wrong]
    if wrong:
        msg = f"{len(wrong)} of {len(answers)} answers are wrong, the first: {wrong[0].code}"
        raise RuntimeError(msg)
    return answers, spent / len(answers)


def _figures(answers: Sequence[Answer], floor: Floor, cpu: float) -> dict[str, Any]:
    seconds = [one.seconds for one in answers]
    middle, last = statistics.median(seconds), _percentile(seconds, 0.99)
    least = statistics.median(floor.seconds)
    names = dict.fromkeys(name for one in answers for name in one.stages or {})
    stages = {
        name: MILLI * statistics.median([(one.stages or {}).get(name, 0.0) for one in answers])
        for name in names
    }
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
        "stages": stages,
    }


def _percentile(values: Sequence[float], part: float) -> float:
    return sorted(values)[math.ceil(part * len(values)) - 1]


def _show(console: Console, figures: dict[str, Any]) -> None:
    table = Table(
        "figure", "value", title=f"{figures['chunks']} chunks, {figures['budget']} tokens"
    )
    for name, value in figures.items():
        if isinstance(value, dict):
            continue
        table.add_row(name, f"{value:,.2f}" if isinstance(value, float) else f"{value:,}")
    console.print(table)
    stages = Table("stage", "median ms")
    for name, value in figures["stages"].items():
        stages.add_row(name, f"{value:.2f}")
    console.print(stages)


def main() -> None:
    """
    Run the bench; errors that a person can act on are one line and exit code 2.
    """
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(latency)
    try:
        app()
    except (
        ContextAssemblerError,
        OSError,
        PeerMissing,
        PictureImpossible,
        RuntimeError,
        ValueError,
    ) as error:
        Console(stderr=True, highlight=False).print("[bold red]error[/]:", str(error))
        sys.exit(2)


if __name__ == "__main__":
    main()
