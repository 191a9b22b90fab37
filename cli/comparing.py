"""
Cut, embed, search and ask, one way to cut after the other; what is done is kept for the next run.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from adapters.edge_index import EdgeIndex
from adapters.edge_store import EdgeStore
from adapters.embedder import OnnxEmbedder
from adapters.token_counters import TokenizerFolder
from assembler.assemble import ContextAssembler
from assembler.profile import PROFILES
from assembler.request import Target
from assembler.span import union_of
from cli.ways import Way
from evaluation.budget_recall import budget_recall
from evaluation.chunk_search import ChunkOf, search_chunks
from evaluation.comparison import Compared, measured_chunks
from evaluation.question_set import Question
from evaluation.team_questions import document_name
from evaluation.vector_cache import CachedEmbedder
from indexer.cut_source import CutSource, cut_source
from indexer.index import run_index
from indexer.ports import ChatModel, Progress
from indexer.read_all import ReadSource
from indexer.request import IndexRequest
from indexer.strategies import late
from indexer.strategies.registry import check_limit
from indexer.windows import BITS

COMPARED = TypeAdapter(Compared)
Reads = Mapping[tuple[str, str], ReadSource]
BITS_PER_BYTE = 8
BLOCK_BYTES = 512
"""Files of the embedded engine are longer than what they take on disk."""


@dataclass(frozen=True, slots=True)
class Asked:
    """
    What every way is measured on.

    Attributes:
        request: Names the documents.
        reads: Their texts.
        top: Chunks that a question retrieves.
        budgets: Tokens of contexts; () to make no index and ask nothing of it.
    """

    request: IndexRequest
    reads: Reads
    questions: tuple[Question, ...]
    top: int
    budgets: tuple[int, ...]
    tokenizer: str

    @property
    def digest(self) -> str:
        """
        Return a hash of all of it.
        """
        shape = [
            sorted((*name, read.language) for name, read in self.reads.items()),
            [[one.text, *map(repr, one.evidence), *one.scope_doc_ids] for one in self.questions],
            [self.top, self.budgets, self.tokenizer],
        ]
        return hashlib.sha256(json.dumps(shape).encode()).hexdigest()


class Bench:
    """
    Measures ways to cut on the same documents and questions.
    """

    def __init__(
        self,
        asked: Asked,
        *,
        model_dir: Path,
        tokenizer_dir: Path,
        work: Path,
        threads: int,
        chat: ChatModel | None = None,
    ) -> None:
        self._asked = asked
        self._work = work
        self._model = OnnxEmbedder(model_dir, threads=threads)
        self._embedder = CachedEmbedder(self._model, work / "vectors.sqlite")
        self._tokenizer_dir = tokenizer_dir
        self._chat = chat

    def check(self, ways: Sequence[Way]) -> None:
        """
        Refuse ways whose chunks the model does not take, before anything is done.

        Raises:
            InvalidRequest: Names the setting.
        """
        most = self._model.spec.max_tokens
        for way in ways:
            check_limit(way.chunker, most, most - self._model.count(""))

    async def measured(self, way: Way, progress: Progress) -> tuple[Compared, bool]:
        """
        Return what a way is worth, and whether an earlier run had measured it.
        """
        shape = (self._asked.digest, way.chunker.fingerprint, self._model.spec.model.sha256)
        digest = hashlib.sha256(json.dumps(shape).encode()).hexdigest()[:16]
        path = self._work / "results" / f"{digest}.json"
        try:
            return COMPARED.validate_json(path.read_bytes()), True
        except (OSError, ValidationError):
            pass
        compared = await self._measured(way, digest, progress)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(COMPARED.dump_json(compared))
        return compared, False

    async def _measured(self, way: Way, digest: str, progress: Progress) -> Compared:
        before = self._embedder.embedded
        started = time.perf_counter()
        cuts: dict[str, CutSource] = {}
        for number, (name, read) in enumerate(self._asked.reads.items(), start=1):
            cuts[document_name(*name)] = self._cut(read, way)
            progress("cutting", number, len(self._asked.reads))
        cut_seconds = time.perf_counter() - started
        chunks = [
            ChunkOf(doc_id, draft.chunk.span, draft.embedding_input)
            for doc_id, cut in cuts.items()
            for draft in cut.drafts
        ]
        if way.chunker.name == late.NAME:
            vectors = self._vectors_in_whole(cuts.values(), progress)
        else:
            vectors = self._vectors(chunks, progress)
        searched = search_chunks(
            self._asked.questions,
            chunks,
            chunk_vectors=vectors,
            question_vectors=await self._model.embed([one.text for one in self._asked.questions]),
            top=self._asked.top,
        )
        contexts: dict[str, tuple[float, ...]] = {}
        index_bytes: int | None = None
        if self._asked.budgets:
            contexts, index_bytes = await self._contexts(way, digest, progress)
        dimension = self._model.spec.model.dimension
        return Compared(
            name=way.name,
            strategy=way.chunker.name,
            settings=way.chunker.settings,
            measured={**measured_chunks(searched.scores, self._asked.top), **contexts},
            chunks=len(chunks),
            sections=sum(len(cut.sections) for cut in cuts.values()),
            mean_tokens=sum(self._model.count(one.embedding_input) for one in chunks) / len(chunks),
            duplication_ratio=_distinct(chunks) / sum(one.span.length for one in chunks),
            vector_bytes=len(chunks) * dimension * BITS["float32"] // BITS_PER_BYTE,
            index_bytes=index_bytes,
            cut_seconds=cut_seconds,
            search_milliseconds=1000 * searched.search_seconds / len(self._asked.questions),
            embedded=self._embedder.embedded - before,
        )

    def _cut(self, read: ReadSource, way: Way) -> CutSource:
        return cut_source(
            read.wanted.file,
            read.text,
            tenant="",
            language=read.language,
            fields={},
            revision=1,
            is_active=True,
            embedder=self._embedder,
            chunker=way.chunker,
            chat=self._chat,
        )

    def _vectors(self, chunks: Sequence[ChunkOf], progress: Progress) -> list[Sequence[float]]:
        done = 0

        def tell(count: int) -> None:
            nonlocal done
            done = min(done + count, len(chunks))
            progress("embedding", done, len(chunks))

        inputs = [one.embedding_input for one in chunks]
        return list(self._embedder.embed_documents(inputs, tell))

    def _vectors_in_whole(
        self, cuts: Collection[CutSource], progress: Progress
    ) -> list[Sequence[float]]:
        """
        Return vectors of chunks whose tokens are read in the whole of their text.
        """
        found: list[Sequence[float]] = []
        for number, cut in enumerate(cuts, start=1):
            spans = [(one.chunk.span.start, one.chunk.span.end) for one in cut.drafts]
            overlap = cut.drafts[0].window_overlap or 0
            found += self._embedder.embed_spans(cut.text, spans, overlap)
            progress("embedding", number, len(cuts))
        return found

    async def _contexts(
        self, way: Way, digest: str, progress: Progress
    ) -> tuple[dict[str, tuple[float, ...]], int]:
        """
        Make the index of a way and ask it.
        """
        index, data_dir = f"compare-{digest}", self._work / "indexes"
        request = IndexRequest(
            index=index,
            paths=self._asked.request.paths,
            sources_file=self._asked.request.sources_file,
            language=self._asked.request.language,
            strategy=way.chunker.name,
            strategy_settings=way.chunker.settings,
        )
        run_index(request, EdgeStore(data_dir), self._embedder, progress, chat=self._chat)
        edge = EdgeIndex(data_dir)
        counters = TokenizerFolder(self._tokenizer_dir)
        assembler = ContextAssembler(
            catalog=edge,
            index=edge,
            embedder=self._model,
            counters=counters,
            profiles=PROFILES,
            clock=time.perf_counter,
        )
        total, done = len(self._asked.questions) * len(self._asked.budgets), 0

        def tell(count: int) -> None:
            nonlocal done
            done += count
            progress("asking", done, total)

        found = await budget_recall(
            assembler,
            self._asked.questions,
            Target(index),
            budgets=self._asked.budgets,
            counter=counters.get(self._asked.tokenizer),
            name=document_name,
            sources=lambda one: tuple(json.loads(name)[0] for name in one.scope_doc_ids),
            tell=tell,
        )
        files = (data_dir / index).rglob("*")
        return found, sum(one.stat().st_blocks * BLOCK_BYTES for one in files)


def _distinct(chunks: Sequence[ChunkOf]) -> int:
    """
    Return the characters that lie in any chunk.
    """
    by_document: dict[str, list[ChunkOf]] = {}
    for one in chunks:
        by_document.setdefault(one.doc_id, []).append(one)
    return sum(
        span.length
        for inside in by_document.values()
        for span in union_of(one.span for one in inside)
    )
