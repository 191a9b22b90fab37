"""
What a run would do, and what it would cost; it writes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from adapters.document_embedder import DocumentEmbedder
from adapters.part_reader import PartReader
from adapters.store import IndexStore
from assembler.profile import PROFILES
from indexer.cut_source import CutSource
from indexer.index import cut_wanted
from indexer.ports import ChatModel, Progress
from indexer.prepare import Prepared, prepare
from indexer.read_source import Unreadable
from indexer.request import IndexRequest, Summary

SAMPLE = 32
"""Inputs that are embedded to learn how fast this machine is."""


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """
    What a run would do.

    Attributes:
        index_version: What is served now; "" for a new index.
        generation: Where the run would write.
        is_new_generation: Whether that is another one, into which everything is written.
        added: Sources that the index does not have.
        changed: Sources that are written again.
        ended: Sources of which nothing stays readable.
        readers: Sources whose readers alone change.
        unchanged: Source versions that stay as they are.
        chunks: Chunks that would be written.
        embedded: Those whose vector has to be made.
        reembedded: Of these, those of sources that the index has.
        tokens: Tokens of the model in what has to be embedded.
        seconds: How long that would take, by a sample.
        unreadable: Files that would be left out, and why.
    """

    index_version: str
    generation: str
    is_new_generation: bool
    added: tuple[str, ...]
    changed: tuple[str, ...]
    ended: tuple[str, ...]
    readers: tuple[str, ...]
    unchanged: int
    chunks: int
    embedded: int
    reembedded: int
    tokens: int
    seconds: float
    unreadable: tuple[Unreadable, ...]

    @property
    def reused(self) -> int:
        """
        Return how many chunks have their vector already.
        """
        return self.chunks - self.embedded


def plan_index(
    request: IndexRequest,
    store: IndexStore,
    embedder: DocumentEmbedder,
    progress: Progress,
    *,
    profiles: Collection[str] = tuple(PROFILES),
    clock: Callable[[], float] = time.perf_counter,
    chat: ChatModel | None = None,
) -> IndexPlan:
    """
    Return what a run would do now; `profiles` are the names that requests may name, `chat` knows
    what a model that writes has answered before.

    Raises:
        InvalidRequest: The run would be refused.
    """
    summary = Summary()
    with store.reading(request.index, request.tenant) as part:
        prepared = prepare(request, part, embedder, summary, progress, profiles=profiles)
        known = {row.source_id for row in part.ledger.rows if part.ledger.revision < row.to_rev}
        chunks, new, again = 0, dict[str, str](), 0
        for number, one in enumerate(prepared.write):
            read = prepared.reads[one.name]
            cut = cut_wanted(read, one, request, prepared.manifest, 1, embedder, chat)
            missing = _missing(part, prepared, cut, new)
            chunks += len(cut.drafts)
            again += len(missing) if one.file.source_id in known else 0
            new |= missing
            progress("planning", number + 1, len(prepared.write))
        ledger = part.ledger
    written = {one.file.source_id for one in prepared.write}
    stays = {row.source_id for row in prepared.plan.unchanged}
    tokens, seconds = _cost(list(new.values()), embedder, clock)
    return IndexPlan(
        index_version=f"{ledger.generation}.{ledger.revision}" if ledger.revision else "",
        generation=prepared.manifest.generation,
        is_new_generation=prepared.is_new and ledger.revision > 0,
        added=tuple(sorted(written - known)),
        changed=tuple(sorted(written & known)),
        ended=tuple(sorted({end.row.source_id for end in prepared.plan.ends} - written - stays)),
        readers=tuple(sorted(prepared.readers.keys() - written)),
        unchanged=summary.unchanged,
        chunks=chunks,
        embedded=len(new),
        reembedded=again,
        tokens=tokens,
        seconds=seconds,
        unreadable=tuple(summary.unreadable),
    )


def _missing(
    part: PartReader, prepared: Prepared, cut: CutSource, planned: dict[str, str]
) -> dict[str, str]:
    inputs = {draft.input_sha256: draft.embedding_input for draft in cut.drafts}
    source_id, target = cut.file.source_id, prepared.manifest
    stored = part.reusable_inputs(source_id, cut.content_sha256, inputs.keys(), target)
    return {key: text for key, text in inputs.items() if key not in stored and key not in planned}


def _cost(
    inputs: Sequence[str], embedder: DocumentEmbedder, clock: Callable[[], float]
) -> tuple[int, float]:
    """
    Return the tokens of the inputs, and the seconds that they would take.
    """
    if not inputs:
        return 0, 0.0
    counts = [embedder.count(text) for text in inputs]
    taken = range(0, len(inputs), max(len(inputs) // SAMPLE, 1))
    started = clock()
    embedder.embed_documents([inputs[number] for number in taken])
    seconds = clock() - started
    sampled = sum(counts[number] for number in taken)
    return sum(counts), seconds * sum(counts) / max(sampled, 1)
