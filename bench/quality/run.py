"""
Ask every question of a job at every budget, in as many processes as are given.
"""

from __future__ import annotations

import asyncio
import functools
import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import cast

from adapters.edge_index import EdgeIndex
from adapters.embedder import OnnxEmbedder
from adapters.token_counters import TokenizerFolder
from assembler.model import Hit, PointKind
from assembler.ports import ChunkIndex, DenseSearch, Embedder, IndexCatalog, SparseSearch
from assembler.request import Fill
from assembler.resolve import read_scope
from assembler.scope import Scope
from bench.quality import baselines
from bench.quality.measured import Measured, Row, measured
from bench.quality.options import TOKENIZER, Job
from bench.quality.packing import Packer
from bench.quality.product import Product, ablated
from bench.quality.stored import StoredDocument, StoredDocuments
from evaluation.measures import Shown
from evaluation.memo import Memo, MemoIndex
from evaluation.question_set import Question, QuestionSet, read_set

FULL, AUTO = "ours, full", "ours, auto"
SYSTEM_OF = {Fill.FULL: FULL, Fill.AUTO: AUTO}
BATCHES = 24
"""Parts that the questions are dealt out in, per process."""


class Runner:
    """
    Everything open that questions of one job need.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._set = limited(read_set(job.folder, job.questions), job.limit)
        self._edge = EdgeIndex(job.data_dir)
        memo = MemoIndex(self._edge)
        self._catalog = cast("IndexCatalog", memo)
        self._chunk_index = cast("ChunkIndex", memo)
        self._embedder = cast("Embedder", Memo(OnnxEmbedder(job.model_dir, threads=1)))
        counters = TokenizerFolder(job.tokenizer_dir)
        self._count = counters.get(TOKENIZER).count
        self._packer = Packer(self._count)
        self._stored = StoredDocuments(
            self._catalog, self._chunk_index, job.index, self._set.documents
        )
        self._product = Product(
            index=job.index,
            catalog=self._catalog,
            chunk_index=self._chunk_index,
            embedder=self._embedder,
            counters=counters,
            stored=self._stored,
            documents=self._set.documents,
            options=job.options,
        )
        self._loop = asyncio.Runner()

    def check(self) -> None:
        """
        Check that the stored texts are those that the evidence counts in.

        Raises:
            EvidenceMoved: One is not.
        """
        self._loop.run(self._stored.check(self._set.questions))

    def rows(self, numbers: Sequence[int]) -> list[Row]:
        """
        Return what was measured of the questions at these positions.
        """
        return [row for number in numbers for row, _ in self.contexts(number)]

    def contexts(self, number: int) -> list[tuple[Row, Shown]]:
        """
        Return every system's contexts of the question at a position, measured.
        """
        return self._loop.run(self._asked(number))

    def tokens(self, question: Question, budget: int, fill: Fill) -> int:
        """
        Return the tokens of a question's context; the question need not be of the set.
        """
        shown, _ = self._loop.run(self._product.ask(question, budget, fill))
        return shown.tokens

    def close(self) -> None:
        """
        Close every file.
        """
        self._loop.run(self._edge.close())
        self._loop.close()

    async def _asked(self, number: int) -> list[tuple[Row, Shown]]:
        options, question = self._job.options, self._set.questions[number]
        await self._stored.check([question])
        found = []
        for budget in options.budgets:
            for fill in options.fill.fills:
                shown, seconds = await self._product.ask(question, budget, fill)
                measure = await self._measured(question, shown, budget, seconds)
                found.append((Row(SYSTEM_OF[fill], budget, number, measure), shown))
            for name in ablated(options.profile) if options.ablations else ():
                shown, seconds = await self._product.ask(question, budget, Fill.FULL, name)
                measure = await self._measured(question, shown, budget, seconds)
                found.append((Row(name, budget, number, measure), shown))
        if options.baselines:
            found += await self._baselines(number, question)
        return found

    async def _measured(
        self, question: Question, shown: Shown, budget: int, seconds: float
    ) -> Measured:
        documents = {doc_id: await self._stored.document(doc_id) for doc_id, _ in shown.ranges}
        return measured(
            question,
            shown,
            budget=budget,
            evidence_tokens=sum(self._count(one.text) for one in question.evidence),
            sections={doc_id: one.section_spans for doc_id, one in documents.items()},
            seconds=seconds,
        )

    async def _baselines(self, number: int, question: Question) -> list[tuple[Row, Shown]]:
        searches = await self._searches(question, self._product.scope(question))
        document_of: dict[str, StoredDocument] = {}
        for hits in (*searches[max(searches)], *searches[min(searches)]):
            for hit in hits:
                origin = hit.chunk.provenance
                name = self._stored.doc_id(origin.source_id, origin.version)
                document_of[hit.chunk.key] = await self._stored.document(name)
        rows: list[tuple[Row, Shown]] = []
        for budget in self._job.options.budgets:
            started = time.perf_counter()
            for name, shown in baselines.contexts(searches, document_of, self._packer, budget):
                seconds = time.perf_counter() - started
                found = await self._measured(question, shown, budget, seconds)
                rows.append((Row(name, budget, number, found), shown))
                started = time.perf_counter()
        return rows

    async def _searches(self, question: Question, asked: Scope) -> baselines.Searches:
        state = await self._catalog.resolve(self._job.index, asked.tenant)
        scope = read_scope(state, asked, "bench")
        (vector,) = await self._embedder.embed([question.text])
        found: dict[int, tuple[Sequence[Hit], Sequence[Hit]]] = {}
        for limit in baselines.LISTS:
            (dense,) = await self._chunk_index.search_vectors(scope, [DenseSearch(vector, limit)])
            (sparse,) = await self._chunk_index.search_text(
                scope, [SparseSearch(question.text, PointKind.CHUNK, limit)]
            )
            found[limit] = (dense, cast("Sequence[Hit]", sparse))
        return found


def limited(question_set: QuestionSet, limit: int | None) -> QuestionSet:
    """
    Return the set with its first so many questions.
    """
    questions = question_set.questions[:limit]
    return QuestionSet(question_set.name, question_set.documents, questions)


def measure(job: Job, questions: int, processes: int, tell: Callable[[int], None]) -> list[Row]:
    """
    Return what was measured of all questions, in their order for each system and budget.

    Args:
        job: What is asked of which index.
        questions: How many there are.
        processes: How many of them work; one stays in this process.
        tell: Told how many questions more are done.

    Raises:
        EvidenceMoved: A stored text is not the one that the evidence counts in.
    """
    rows: list[Row] = []
    runner = Runner(job)
    try:
        runner.check()
        for number in range(questions if processes == 1 else 0):
            rows += runner.rows([number])
            tell(1)
    finally:
        runner.close()
    if processes == 1:
        return rows
    parts = [range(at, questions, processes * BATCHES) for at in range(processes * BATCHES)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        asked = {pool.submit(_part, job, tuple(part)): len(part) for part in parts if part}
        for done in as_completed(asked):
            rows += done.result()
            tell(asked[done])
    return sorted(rows, key=lambda row: row.question)


@functools.cache
def _runner(job: Job) -> Runner:
    return Runner(job)


def _part(job: Job, numbers: Sequence[int]) -> list[Row]:
    return _runner(job).rows(numbers)
