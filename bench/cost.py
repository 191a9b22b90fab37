"""
`python -m bench.cost`: CPU of the pure steps of a request, beside one full count of its context.

The steps run as in the service, on an index of the product's own indexer; their clock is the CPU
time of the process. Machines differ, so what compares is the ratio to the tokenizer's one count.
"""

from __future__ import annotations

import asyncio
import math
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from adapters.edge_index import EdgeIndex
from adapters.edge_store import EdgeStore
from adapters.embedder import OnnxEmbedder
from adapters.token_counters import TokenizerFolder
from adapters.tokenizer_files import install_tokenizers
from assembler.assemble import ContextAssembler
from assembler.errors import ContextAssemblerError
from assembler.ports import ChatMessage, TokenCounter
from assembler.profile import PROFILES
from assembler.report import AssembledContext, Stage
from assembler.request import (
    AssembleRequest,
    Budget,
    ContextTokens,
    Fill,
    Query,
    Retrieval,
    Target,
)
from assembler.scope import Scope
from bench.command import command, run, silent
from bench.options import WORK, BudgetTokens
from bench.phases import percentile
from bench.quality.prepare import NotIndexed, model_folder, prepare
from bench.served import TOKENIZER
from evaluation.json_lines import QuestionSetInvalid
from evaluation.question_set import read_set
from indexer.index import run_index
from indexer.request import IndexRequest
from server.settings import Settings

EXAMPLES = Path(__file__).parent.parent / "examples"
HANDBOOK = "handbook"
SEARCHES = 2
"""A question is searched by vector and by text; each returns its share of the candidates."""

STEPS = (Stage.RANK, Stage.EXPAND, Stage.PACK, Stage.CITE)
TOTAL, COUNTING, ONE_COUNT = "total", "counting in it", "one full count"


@dataclass(slots=True)
class TimedCounter:
    """
    A tokenizer that adds up the CPU seconds of its counts.
    """

    counter: TokenCounter
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """
        Return the tokenizer's name.
        """
        return self.counter.name

    @property
    def sha256(self) -> str:
        """
        Return the hash of its file.
        """
        return self.counter.sha256

    def count(self, text: str) -> int:
        """
        Return the tokens of a text.
        """
        start = time.process_time()
        tokens = self.counter.count(text)
        self.seconds += time.process_time() - start
        return tokens

    def count_messages(self, messages: Sequence[ChatMessage]) -> int:
        """
        Return the tokens of a prompt.
        """
        return self.counter.count_messages(messages)

    def get(self, name: str) -> TokenCounter:  # noqa: ARG002 - there is only one
        """
        Return this counter for every name.
        """
        return self

    def names(self) -> Sequence[str]:
        """
        Return the one name.
        """
        return (self.counter.name,)


@dataclass(frozen=True, slots=True)
class Asked:
    """
    An index and what it is asked.
    """

    data_dir: Path
    index: str
    scope: Scope
    questions: tuple[str, ...]


@contextmanager
def handbook(model_dir: Path) -> Iterator[Asked]:
    """
    Yield an index of the example handbook with its questions.
    """
    rows = (EXAMPLES / "questions.md").read_text(encoding="utf-8").splitlines()
    first = [row.split("|")[1].split("(`")[0].strip() for row in rows if row.startswith("| ")]
    questions = tuple(first[2:])  # without the head of the table and its rule
    with tempfile.TemporaryDirectory(prefix="context-assembler-cost-") as folder:
        request = IndexRequest(
            index=HANDBOOK,
            paths=(EXAMPLES / HANDBOOK,),
            sources_file=EXAMPLES / "handbook-sources.jsonl",
        )
        run_index(request, EdgeStore(Path(folder)), OnnxEmbedder(model_dir), silent)
        yield Asked(Path(folder), HANDBOOK, Scope(principals=("staff",)), questions)


@contextmanager
def set_of(folder: Path, model_dir: Path, work: Path) -> Iterator[Asked]:
    """
    Yield an index of a question set with its questions; indexes are kept between runs.
    """
    found = read_set(folder)
    made = prepare(found, model_dir=model_dir, work=work, progress=silent)
    questions = tuple(one.text for one in found.questions)
    yield Asked(made.data_dir, made.index, Scope(), questions)


async def costs(
    asked: Asked,
    counter: TimedCounter,
    *,
    model_dir: Path,
    budget: int,
    candidates: int,
    limit: int,
) -> list[dict[str, float]]:
    """
    Return the CPU milliseconds of every step for each question, and its number of candidates.
    """
    index = EdgeIndex(asked.data_dir)
    assembler = ContextAssembler(
        catalog=index,
        index=index,
        embedder=OnnxEmbedder(model_dir, threads=1),
        counters=counter,
        profiles=PROFILES,
        clock=time.process_time,
    )
    rows = []
    try:
        for question in asked.questions[:limit]:
            request = AssembleRequest(
                queries=(Query(question),),
                targets=(Target(asked.index, asked.scope),),
                budget=Budget(TOKENIZER, ContextTokens(budget)),
                fill=Fill.FULL,
                retrieval=Retrieval(chunk_limit=math.ceil(candidates / SEARCHES)),
            )
            await assembler.assemble(request)  # what is read and imported once is no one's cost
            counter.seconds = 0.0
            rows.append(_row(await assembler.assemble(request), counter))
    finally:
        await index.close()
    return rows


def _row(context: AssembledContext, counter: TimedCounter) -> dict[str, float]:
    stages = {one.stage: 1000.0 * one.seconds for one in context.stages}
    row = {step.value: stages[step] for step in STEPS}
    row[TOTAL] = sum(row.values())
    row[COUNTING], counter.seconds = 1000.0 * counter.seconds, 0.0
    counter.count(context.context)
    row[ONE_COUNT] = 1000.0 * counter.seconds
    found = [one for one in context.candidates if not one.candidate.is_implied]
    return {**row, "found": len(found), "beside": len(context.candidates) - len(found)}


def show(console: Console, rows: Sequence[Mapping[str, float]]) -> None:
    """
    Print the median and the 99th percentile of every step, and its ratio to one full count.
    """
    table = Table("step", "median ms", "p99 ms", "of one full count")
    for name in (*(step.value for step in STEPS), TOTAL, COUNTING, ONE_COUNT):
        values = [row[name] for row in rows]
        ratio = statistics.median(row[name] / row[ONE_COUNT] for row in rows if row[ONE_COUNT])
        last = percentile(values, 0.99)
        table.add_row(name, f"{statistics.median(values):.2f}", f"{last:.2f}", f"{ratio:.1f}")
    console.print(table)
    found, beside = (statistics.median(row[name] for row in rows) for name in ("found", "beside"))
    console.print(f"{len(rows)} requests; candidates: {found:.0f} found, {beside:.0f} beside them")


def cost(
    folder: Annotated[Path | None, typer.Option("--data", help="Folder of sets' folders.")] = None,
    name: Annotated[str, typer.Option("--set", help="With --data: the set.")] = "",
    budget: BudgetTokens = 4096,
    candidates: Annotated[int, typer.Option(min=1, help="Most that the searches return.")] = 200,
    limit: Annotated[int, typer.Option(min=1, help="The first so many questions.")] = 200,
    work: Annotated[Path, typer.Option(help="Keeps indexes of sets.")] = WORK,
) -> None:
    """
    Measure the CPU of ranking, expanding, packing and citing.
    """
    settings = Settings()
    install_tokenizers(settings.tokenizer_dir)
    model_dir = model_folder(None, settings.model_dir, work)
    counter = TimedCounter(TokenizerFolder(settings.tokenizer_dir).get(TOKENIZER))
    made = handbook(model_dir) if folder is None else set_of(folder / name, model_dir, work)
    with made as asked:
        rows = asyncio.run(
            costs(
                asked,
                counter,
                model_dir=model_dir,
                budget=budget,
                candidates=candidates,
                limit=limit,
            )
        )
    show(Console(highlight=False), rows)


if __name__ == "__main__":
    run(command(cost), (ContextAssemblerError, NotIndexed, OSError, QuestionSetInvalid))
