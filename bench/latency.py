"""
`python -m bench.latency`: the time of one request at a time, against the floor of the same run.

The floor of a question is one forward pass of the model, the faster of one and two threads, and
the engine's own calls for the same searches and the section read: what no service can go below.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from adapters.embedder import OnnxEmbedder
from adapters.token_counters import TokenizerFolder
from adapters.tokenizer_files import install_tokenizers
from assembler.assemble import ContextAssembler
from assembler.errors import ContextAssemblerError
from assembler.profile import PROFILES
from assembler.request import AssembleRequest, Budget, ContextTokens, Fill, Query, Target
from assembler.scope import Scope
from bench.corpus import Corpus, corpus
from bench.engine_calls import RecordingIndex
from bench.quality.picture import PictureImpossible, check_drawing
from bench.served import TOKENIZER, Answer, Caller, serving
from bench.stage_picture import draw_stages
from server.settings import Settings

DOCUMENTS = Path(__file__).parent.parent / "examples" / "handbook"
WARM_UP = 20
MILLI = 1000.0


@dataclass(frozen=True, slots=True)
class Floor:
    """
    Seconds of the same questions' least work, each measured alone.

    Attributes:
        embed: Of the forward pass, by threads, per question.
        engine: Of the engine's calls, per question.
        cpu: CPU seconds of a one-thread pass and the engine's calls, in the mean.
    """

    embed: dict[int, list[float]]
    engine: list[float]
    cpu: float

    @property
    def threads(self) -> int:
        """
        Return with how many threads the forward pass is the faster.
        """
        return min(self.embed, key=lambda threads: statistics.median(self.embed[threads]))

    @property
    def seconds(self) -> list[float]:
        """
        Return the floor per question.
        """
        return [a + b for a, b in zip(self.embed[self.threads], self.engine, strict=True)]


def latency(
    folder: Annotated[Path, typer.Option("--data", help="Folder of documents.")] = DOCUMENTS,
    chunks: Annotated[int, typer.Option(min=1, help="Chunks of the index.")] = 30_000,
    budget: Annotated[int, typer.Option(min=1, help="Tokens of the context.")] = 4096,
    requests: Annotated[int, typer.Option(min=1, help="Questions, each asked once.")] = 300,
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
    floor = asyncio.run(_floor(made, questions[WARM_UP:], budget, settings))
    figures.update(_figures(answers, floor, cpu))
    _show(console, figures)
    if out is not None:
        out.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    if picture is not None:
        draw_stages(figures, picture)


async def _asked(
    address: str, made: Corpus, questions: Sequence[str], budget: int, served: Any
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


async def _floor(made: Corpus, questions: Sequence[str], budget: int, settings: Settings) -> Floor:
    """
    Return the floor of the questions.
    """
    index = RecordingIndex(made.data_dir)
    models = {threads: OnnxEmbedder(settings.model_dir, threads=threads) for threads in (1, 2)}
    assembler = ContextAssembler(
        catalog=index,
        index=index,
        embedder=models[1],
        counters=TokenizerFolder(settings.tokenizer_dir),
        profiles=PROFILES,
        clock=time.perf_counter,
    )
    embed: dict[int, list[float]] = {threads: [] for threads in models}
    engine: list[float] = []
    spent = 0.0
    for question in questions:
        request = AssembleRequest(
            queries=(Query(question),),
            targets=(Target(made.index, Scope()),),
            budget=Budget(TOKENIZER, ContextTokens(budget)),
            fill=Fill.FULL,
        )
        calls = await index.calls(assembler.assemble(request))
        for threads, model in models.items():
            cpu, began = time.process_time(), time.perf_counter()
            await model.embed([question])
            embed[threads].append(time.perf_counter() - began)
            spent += (time.process_time() - cpu) if threads == 1 else 0.0
        cpu, began = time.process_time(), time.perf_counter()
        index.replay(made.index, calls)
        engine.append(time.perf_counter() - began)
        spent += time.process_time() - cpu
    await index.close()
    return Floor(embed, engine, spent / len(questions))


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
    except (ContextAssemblerError, OSError, PictureImpossible, RuntimeError, ValueError) as error:
        Console(stderr=True, highlight=False).print("[bold red]error[/]:", str(error))
        sys.exit(2)


if __name__ == "__main__":
    main()
