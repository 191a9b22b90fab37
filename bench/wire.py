"""
`python -m bench.wire`: what a request sends to a Qdrant server and gets from it, against the
context that comes of it, and what turning messages into values costs.

The service reads from the tests' server, which speaks Qdrant's protocol in front of the real
engine, through a relay that counts bytes and adds a millisecond. Answers are compressed, as a
Qdrant server sends them to gRPC clients, or not.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from adapters.embedder import OnnxEmbedder
from adapters.qdrant_connection import QdrantServer
from adapters.qdrant_store import QdrantStore
from adapters.token_counters import TokenizerFolder
from adapters.tokenizer_files import install_tokenizers
from assembler.assemble import ContextAssembler
from assembler.profile import PROFILES
from bench.big_index import add_filler, models
from bench.command import command, indexing, run, write_json
from bench.corpus import LANGUAGE, Corpus, corpus, question_set
from bench.floor import filling
from bench.options import DOCUMENTS, WORK, BudgetTokens, Chunks, Folder, Out, Requests, Work
from bench.phases import WARM_UP, percentile
from bench.recorded_messages import RecordingQdrantIndex, conversion_seconds
from bench.relay import Relay, relaying
from bench.served import Answer, Caller, Served, check_answers, serving
from indexer.index import run_index
from indexer.ports import Progress
from indexer.request import IndexRequest
from server.settings import Settings
from tests.qdrant_server.process import ServerProcess

INDEX = "wire"
DELAY_SECONDS = 0.0005
"""In each direction."""

CONVERTED = 50
"""Requests whose messages are converted again."""

MILLI = 1000.0


def measure(
    folder: Folder = DOCUMENTS,
    chunks: Chunks = 30_000,
    budget: BudgetTokens = 4096,
    requests: Requests = 200,
    is_compressed: Annotated[  # noqa: FBT002 - typer's way to a flag
        bool, typer.Option("--gzip/--plain", help="How the server sends its answers.")
    ] = True,
    out: Out = None,
    work: Work = WORK,
) -> None:
    """
    Measure bytes and conversions of requests that read from a Qdrant server.
    """
    console, settings = Console(highlight=False), Settings()
    install_tokenizers(settings.tokenizer_dir)
    arguments = ("--compressed",) if is_compressed else ()
    with ServerProcess(*arguments) as server:
        with indexing(console) as progress:
            made = _filled(
                server,
                folder,
                chunks,
                model_dir=settings.model_dir,
                work=work,
                progress=progress,
            )
        questions = list(itertools.islice(made.questions(), WARM_UP + requests))
        with console.status("asking"):
            with relaying(server.port, DELAY_SECONDS) as relay:
                url = f"http://127.0.0.1:{relay.port}"
                with serving(made.data_dir, {"QDRANT_URL": url}) as served:
                    figures = {
                        "chunks": made.chunks,
                        "budget": budget,
                        "requests": requests,
                        "answers": "gzip" if is_compressed else "plain",
                        **asyncio.run(_asked(served, relay, questions, budget)),
                    }
            last = questions[WARM_UP:][-CONVERTED:]
            figures |= asyncio.run(_converted(server.port, last, budget, settings))
    table = Table("figure", "value", title=f"{made.chunks} chunks, {budget} tokens")
    for name, value in figures.items():
        table.add_row(name, f"{value:,.2f}" if isinstance(value, float) else str(value))
    console.print(table)
    write_json(out, figures)


def _filled(
    server: ServerProcess,
    folder: Path,
    chunks: int,
    *,
    model_dir: Path,
    work: Path,
    progress: Progress,
) -> Corpus:
    """
    Index the documents into the server, and filler around them.
    """
    place = work / "wire"
    real = corpus(folder, 1, model_dir=model_dir, work=place, progress=progress)
    embedder, found = OnnxEmbedder(model_dir), question_set(folder, 1, place)
    copied = models([found], {found.name: real.index}, real.data_dir, embedder)
    store = QdrantStore(QdrantServer("127.0.0.1", grpc_port=server.port), settle_seconds=0.0)
    try:
        paths = tuple(one.path for one in found.documents.values())
        run_index(IndexRequest(INDEX, paths, language=LANGUAGE), store, embedder, progress)
        count = add_filler(store, INDEX, copied, chunks, progress)
    finally:
        store.close()
    server.tell("optimize")
    return Corpus(real.data_dir, INDEX, count, real.sentences)


async def _asked(
    served: Served, relay: Relay, questions: Sequence[str], budget: int
) -> dict[str, Any]:
    """
    Return what the questions after the warm-up came to.

    Bytes are all that went over the wire meanwhile, heads that are read each second included.
    """
    async with Caller(served.address, INDEX, budget) as caller:
        for question in questions[:WARM_UP]:
            await caller.ask(question)
        cpu, sent, received = served.cpu_seconds, relay.sent, relay.received
        answers = [await caller.ask(question) for question in questions[WARM_UP:]]
        cpu, sent, received = served.cpu_seconds - cpu, relay.sent - sent, relay.received - received
    check_answers(answers)
    return _figures(answers, cpu, sent, received)


def _figures(answers: Sequence[Answer], cpu: float, sent: int, received: int) -> dict[str, Any]:
    count, seconds = len(answers), [one.seconds for one in answers]
    context = statistics.fmean(len(one.context.encode()) for one in answers)
    return {
        "p50_ms": MILLI * statistics.median(seconds),
        "p99_ms": MILLI * percentile(seconds, 0.99),
        "cpu_ms": MILLI * cpu / count,
        "context_bytes": context,
        "sent_bytes": sent / count,
        "received_bytes": received / count,
        "bytes_over_context": (sent + received) / count / context,
    }


async def _converted(
    port: int, questions: Sequence[str], budget: int, settings: Settings
) -> dict[str, Any]:
    """
    Return the bytes of the answers' messages, and the CPU of all conversions, per request.
    """
    index = RecordingQdrantIndex(port)
    assembler = ContextAssembler(
        catalog=index,
        index=index,
        embedder=OnnxEmbedder(settings.model_dir, threads=1),
        counters=TokenizerFolder(settings.tokenizer_dir),
        profiles=PROFILES,
        clock=time.perf_counter,
    )
    for question in questions:
        await assembler.assemble(filling(INDEX, question, budget))
    await index.close()
    count = len(questions)
    return {
        "hits_bytes": sum(len(one.answer) for one in index.searched) / count,
        "sections_bytes": sum(len(one.answer) for one in index.scrolled) / count,
        "conversion_cpu_ms": (
            MILLI * conversion_seconds([*index.searched, *index.scrolled]) / count
        ),
    }


if __name__ == "__main__":
    run(command(measure))
