"""
`python -m bench.recall`: what the approximate search finds of what an exact one finds, for tenants
that hold much or little of an index, beside the time that such a tenant's requests take.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from adapters.edge_index import EdgeIndex
from adapters.embedder import OnnxEmbedder
from adapters.tokenizer_files import install_tokenizers
from assembler.model import Hit
from assembler.ports import DenseSearch, Vector
from assembler.scope import ReadScope, Scope
from bench.command import command, indexing, run, write_json
from bench.corpus import Corpus
from bench.options import DOCUMENTS, WORK, BudgetTokens, Chunks, Folder, Out, Requests, Work
from bench.phases import WARM_UP, percentile
from bench.served import Answer, Caller, serving
from bench.tenants import Tenant, shared_corpus
from server.settings import Settings

SHARES = (0.001, 0.05, 0.5)
TOP = 100
WAYS: dict[str, bool | None] = {"served": None, "approximate": False, "exact": True}
"""Whether a search is exact; None is what the service chooses by the size of the tenant's part."""

MILLI = 1000.0


@dataclass(frozen=True, slots=True)
class Row:
    """
    What one tenant gets.

    Attributes:
        share: Of the index's chunks.
        recall: Mean part of the exact search's hits that a search finds, by way.
        worst: The least of any question, by way.
        search_ms: Median of a vector search, by way.
        p50_ms: Of whole requests, over loopback gRPC.
        p99_ms: The same.
    """

    share: float
    chunks: int
    recall: dict[str, float]
    worst: dict[str, float]
    search_ms: dict[str, float]
    p50_ms: float
    p99_ms: float


def recall(
    folder: Folder = DOCUMENTS,
    chunks: Chunks = 30_000,
    shares: Annotated[
        list[float] | None,
        typer.Option("--share", min=0.0, max=1.0, help="Of a tenant; repeatable."),
    ] = None,
    budget: BudgetTokens = 4096,
    requests: Requests = 300,
    out: Out = None,
    work: Work = WORK,
) -> None:
    """
    Measure recall@100 of vector searches in tenants' parts, and the latency of their requests.
    """
    console, settings = Console(highlight=False, width=120), Settings()
    install_tokenizers(settings.tokenizer_dir)
    with indexing(console) as progress:
        made, tenants = shared_corpus(
            folder,
            chunks,
            shares or SHARES,
            model_dir=settings.model_dir,
            work=work,
            progress=progress,
        )
    questions = list(itertools.islice(made.questions(), WARM_UP + requests))
    vectors = asyncio.run(OnnxEmbedder(settings.model_dir).embed(questions[WARM_UP:]))
    found = {one.name: asyncio.run(_searched(made, one, vectors)) for one in tenants}
    with serving(made.data_dir) as served:
        times = asyncio.run(_asked(served.address, made, tenants, questions, budget))
    rows = [_row(one, found[one.name], times[one.name]) for one in tenants]
    _show(console, made.chunks, rows)
    write_json(
        out, {"chunks": made.chunks, "requests": requests, "tenants": [asdict(one) for one in rows]}
    )


@dataclass(frozen=True, slots=True)
class _Found:
    keys: list[frozenset[str]]
    seconds: list[float]


async def _searched(made: Corpus, tenant: Tenant, vectors: Sequence[Vector]) -> dict[str, _Found]:
    """
    Return what each way finds for each question, and how long it took; the ways ask by turns.
    """
    indexes = {way: EdgeIndex(made.data_dir, is_exact=exact) for way, exact in WAYS.items()}
    found = {way: _Found([], []) for way in WAYS}
    for vector in vectors:
        for way, index in indexes.items():
            state = await index.resolve(made.index, tenant.name)
            scope = ReadScope(
                made.index,
                state.version,
                readers_required=state.schema.readers_required,
                asked=Scope(tenant.name),
            )
            began = time.perf_counter()
            (hits,) = await index.search_vectors(scope, [DenseSearch(vector, TOP)])
            found[way].seconds.append(time.perf_counter() - began)
            found[way].keys.append(frozenset(one.chunk.key for one in hits if isinstance(one, Hit)))
    for index in indexes.values():
        await index.close()
    return found


async def _asked(
    address: str, made: Corpus, tenants: Sequence[Tenant], questions: Sequence[str], budget: int
) -> dict[str, list[Answer]]:
    """
    Return the answers to each tenant after the warm-up; the tenants ask by turns.
    """
    answers: dict[str, list[Answer]] = {one.name: [] for one in tenants}
    async with Caller(address, made.index, budget) as caller:
        for question in questions:
            for tenant in tenants:
                answers[tenant.name].append(await caller.ask(question, tenant=tenant.name))
    wrong = [one for found in answers.values() for one in found if one.code != "OK" or one.is_wrong]
    if wrong:
        msg = f"{len(wrong)} answers are wrong, the first: {wrong[0].code}"
        raise RuntimeError(msg)
    return {name: found[WARM_UP:] for name, found in answers.items()}


def _row(tenant: Tenant, found: dict[str, _Found], answers: Sequence[Answer]) -> Row:
    parts = {
        way: recalls(one.keys, found["exact"].keys) for way, one in found.items() if way != "exact"
    }
    seconds = [one.seconds for one in answers]
    return Row(
        share=tenant.share,
        chunks=tenant.chunks,
        recall={way: statistics.fmean(each) for way, each in parts.items()},
        worst={way: min(each) for way, each in parts.items()},
        search_ms={way: MILLI * statistics.median(one.seconds) for way, one in found.items()},
        p50_ms=MILLI * statistics.median(seconds),
        p99_ms=MILLI * percentile(seconds, 0.99),
    )


def recalls(found: Sequence[frozenset[str]], there: Sequence[frozenset[str]]) -> list[float]:
    """
    Return, for each question, which part of what is there was found; 1 where there is nothing.
    """
    return [
        len(mine & right) / len(right) if right else 1.0
        for mine, right in zip(found, there, strict=True)
    ]


def _show(console: Console, chunks: int, rows: Sequence[Row]) -> None:
    table = Table(
        "share",
        "chunks",
        *(f"recall@{TOP}, {way}" for way in WAYS if way != "exact"),
        *(f"search ms, {way}" for way in WAYS),
        "request p50 / p99 ms",
        title=f"{chunks} chunks",
    )
    for row in rows:
        table.add_row(
            f"{100 * row.share:g} %",
            f"{row.chunks:,}",
            *(f"{mean:.4f} (worst {row.worst[way]:.2f})" for way, mean in row.recall.items()),
            *(f"{value:.1f}" for value in row.search_ms.values()),
            f"{row.p50_ms:.1f} / {row.p99_ms:.1f}",
        )
    console.print(table)


if __name__ == "__main__":
    run(command(recall))
