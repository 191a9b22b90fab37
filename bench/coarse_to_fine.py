"""
`python -m bench.coarse_to_fine`: the mode COARSE_TO_FINE against HYBRID, in quality and time, on a
set's own index and on a big one.
"""

from __future__ import annotations

import asyncio
import shutil
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.console import Console
from rich.table import Table

from adapters.edge_index import EdgeIndex
from adapters.edge_store import EdgeStore
from adapters.embedder import OnnxEmbedder
from adapters.token_counters import TokenizerFolder
from adapters.tokenizer_files import install_tokenizers
from assembler.assemble import ContextAssembler
from assembler.ports import Embedder
from assembler.profile import PROFILES
from assembler.report import Stage
from assembler.request import (
    AssembleRequest,
    Budget,
    ContextTokens,
    Fill,
    Query,
    Retrieval,
    RetrievalMode,
    Target,
)
from assembler.scope import Scope, VersionPolicy
from bench.big_index import add_filler, models
from bench.command import silent, write_json
from bench.options import WORK, Limit, Out, Work
from bench.quality.options import TOKENIZER, FillChoice, Job, Options
from bench.quality.prepare import prepare
from bench.quality.run import FULL, Runner, limited
from evaluation.bootstrap import difference_of, mean_of
from evaluation.memo import Memo
from evaluation.question_set import QuestionSet, read_set
from server.settings import Settings

BUDGETS = (1024, 4096)
COARSE_SECTIONS = (25, 50, 100, 200)
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Way:
    """
    A mode, and how many sections it may read.
    """

    mode: RetrievalMode
    sections: int | None = None

    @property
    def name(self) -> str:
        """
        Return how tables call it.
        """
        return self.mode.value + (f" {self.sections}" if self.sections else "")


WAYS = (
    Way(RetrievalMode.HYBRID),
    *(Way(RetrievalMode.COARSE_TO_FINE, sections) for sections in COARSE_SECTIONS),
)


def main(
    folder: Annotated[Path, typer.Option("--data", help="Folder of the sets' folders.")],
    name: Annotated[str, typer.Option("--set", help="Whose questions are asked.")],
    filler: Annotated[
        list[str] | None, typer.Option(help="Sets that filler is made of; repeatable.")
    ] = None,
    chunks: Annotated[int, typer.Option(help="Of the big index; 0 makes none.")] = 0,
    limit: Limit = None,
    out: Out = None,
    work: Work = WORK,
) -> None:
    """
    Measure both modes on one index, in one run.
    """
    settings, console = Settings(), Console(width=120)
    install_tokenizers(settings.tokenizer_dir)
    asked = limited(read_set(folder / name, None), limit)
    prepared = prepare(asked, model_dir=settings.model_dir, work=work, progress=silent)
    index, count = prepared.index, prepared.chunks
    if chunks:
        index = f"big-{chunks}-{index.rpartition('-')[2]}"
        sets = [read_set(folder / one, None) for one in filler or ()]
        count = _made(index, prepared.index, sets, chunks, settings, work)
    job = Job(
        folder=folder / name,
        questions=None,
        limit=limit,
        index=index,
        data_dir=prepared.data_dir,
        model_dir=settings.model_dir,
        tokenizer_dir=settings.tokenizer_dir,
        options=Options(budgets=BUDGETS, fill=FillChoice.FULL, baselines=False),
    )
    times = asyncio.run(_search_times(job, asked))
    recalls = {way: _recalls(job, way, len(asked.questions)) for way in WAYS}
    figures = [_figures(way, recalls, times) for way in WAYS]
    table = Table("way", *(f"recall {one}" for one in BUDGETS), "search p50 ms", "ratio")
    for one in figures:
        cells = (
            f"{100 * mean:.1f} ({100 * low:+.1f} to {100 * high:+.1f})"
            for mean, low, high in one["recall"].values()
        )
        table.add_row(one["way"], *cells, f"{one['search_ms']:.2f}", f"{one['ratio']:.2f}")
    console.print(f"{name}: {count} chunks, {len(asked.questions)} questions")
    console.print(table)
    console.print("In brackets: the 95 % interval of the difference to hybrid, paired by question.")
    write_json(out, {"set": name, "chunks": count, "ways": figures}, indent=1)


def _made(
    index: str, base: str, sets: Sequence[QuestionSet], chunks: int, settings: Settings, work: Path
) -> int:
    """
    Return how many chunks the big index has, made where it is not there.
    """
    data_dir, embedder = work / "indexes", OnnxEmbedder(settings.model_dir)
    if not (data_dir / index).exists():
        places = {
            one.name: prepare(one, model_dir=settings.model_dir, work=work, progress=silent).index
            for one in sets
        }
        real = models(sets, places, data_dir, embedder)
        making = f"making-{index}"
        shutil.rmtree(data_dir / making, ignore_errors=True)
        shutil.copytree(data_dir / base, data_dir / making)
        add_filler(EdgeStore(data_dir), making, real, chunks, silent)
        (data_dir / making).rename(data_dir / index)
    return chunks


def _recalls(job: Job, way: Way, questions: int) -> dict[int, list[float]]:
    """
    Return the evidence recall of every question by budget.
    """
    options = replace(job.options, mode=way.mode, section_limit=way.sections)
    runner = Runner(replace(job, options=options))
    try:
        rows = [row for row in runner.rows(range(questions)) if row.system == FULL]
    finally:
        runner.close()
    return {
        budget: [row.measured.evidence_recall for row in rows if row.budget == budget]
        for budget in BUDGETS
    }


def _figures(
    way: Way, recalls: dict[Way, dict[int, list[float]]], times: dict[Way, list[float]]
) -> dict[str, Any]:
    """
    Return mean recalls with their difference to the first way, and times with their ratio to it.
    """
    recall: dict[int, tuple[float, float, float]] = {}
    for budget, ours in recalls[way].items():
        gain = difference_of(ours, recalls[WAYS[0]][budget])
        recall[budget] = (mean_of(ours).value, gain.low, gain.high)
    middle = statistics.median(times[way])
    return {
        "way": way.name,
        "recall": recall,
        "search_ms": 1000 * middle,
        "ratio": middle / statistics.median(times[WAYS[0]]),
    }


async def _search_times(job: Job, asked: QuestionSet) -> dict[Way, list[float]]:
    """
    Return the seconds that searching took per question, the modes by turns; embedding is not in it.
    """
    edge = EdgeIndex(job.data_dir)
    embedder = cast("Embedder", Memo(OnnxEmbedder(job.model_dir, threads=1)))
    assembler = ContextAssembler(
        catalog=edge,
        index=edge,
        embedder=embedder,
        counters=TokenizerFolder(job.tokenizer_dir),
        profiles=PROFILES,
        clock=time.perf_counter,
    )
    found: dict[Way, list[float]] = {way: [] for way in WAYS}
    for round_number in range(ROUNDS + 1):
        for question in asked.questions:
            for way in WAYS:
                context = await assembler.assemble(_request(job.index, question.text, way))
                spent = {one.stage: one.seconds for one in context.stages}
                if round_number:  # the first one opens files and embeds
                    seconds = spent[Stage.SEARCH] - spent.get(Stage.EMBED, 0.0)
                    found[way].append(seconds)
    await edge.close()
    return found


def _request(index: str, text: str, way: Way) -> AssembleRequest:
    return AssembleRequest(
        queries=(Query(text),),
        targets=(Target(index, Scope(versions=VersionPolicy.ALL)),),
        budget=Budget(TOKENIZER, ContextTokens(BUDGETS[0])),
        fill=Fill.FULL,
        retrieval=Retrieval(mode=way.mode, section_limit=way.sections),
    )


if __name__ == "__main__":
    typer.run(main)
