"""
How files would be cut, chunk by chunk; nothing is embedded and nothing written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from adapters.document_embedder import DocumentEmbedder
from adapters.head import Head
from adapters.ledger import tenant_ledger
from adapters.store import IndexStore
from indexer.build_report import begins
from indexer.configuration import chunker_for
from indexer.cut_source import CutSource
from indexer.index import cut_wanted
from indexer.ports import ChatModel, Progress
from indexer.prepare import manifest_of
from indexer.read_all import read_all
from indexer.request import IndexRequest, Summary


@dataclass(frozen=True, slots=True)
class ShownChunk:
    """
    A chunk, and why it begins where it does.

    Attributes:
        section: The ordinal of its section.
        tokens: Of the embedding model in its text.
        input_tokens: The same of what is embedded, prefix and special tokens included.
    """

    section: int
    heading_path: tuple[str, ...]
    start: int
    end: int
    tokens: int
    input_tokens: int
    why: str
    text: str


def cut_files(
    request: IndexRequest,
    store: IndexStore | None,
    embedder: DocumentEmbedder,
    summary: Summary,
    progress: Progress,
    *,
    chat: ChatModel | None = None,
) -> Iterator[CutSource]:
    """
    Yield every source of the request, cut as it asks, else as the index in the store has it, else
    as a new one would; what cannot be read goes into the summary.

    Raises:
        InvalidRequest: An unknown strategy or setting, or a value that does not go.
    """
    present, ledger = None, tenant_ledger(Head(), (), ())
    if store is not None:
        with store.reading(request.index, request.tenant) as part:
            present, ledger = part.manifest, part.ledger
    schema = present.fields if present else {}
    manifest = manifest_of(embedder.spec, schema, chunker_for(request, present, embedder))
    reads, _ = read_all(request, schema, ledger, summary, progress)
    for read in reads.values():
        yield cut_wanted(read, read.wanted, request, manifest, 1, embedder, chat)


def shown(cut: CutSource, embedder: DocumentEmbedder) -> list[ShownChunk]:
    """
    Return the chunks of a source in order.
    """
    sections = {section.key: section for section in cut.sections}
    return [
        ShownChunk(
            section=sections[draft.chunk.section_key].ordinal,
            heading_path=sections[draft.chunk.section_key].heading_path,
            start=draft.chunk.span.start,
            end=draft.chunk.span.end,
            tokens=draft.tokens,
            input_tokens=embedder.count(draft.embedding_input),
            why=why,
            text=draft.text,
        )
        for draft, why in zip(cut.drafts, begins(cut), strict=True)
    ]
