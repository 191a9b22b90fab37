"""
Texts that are cut as the indexer cuts a source.
"""

from __future__ import annotations

from pathlib import Path

from adapters.document_embedder import DocumentEmbedder
from indexer.cut_source import CutSource, cut_source
from indexer.ports import ChatModel
from indexer.read_source import CODE
from indexer.sources import SourceFile
from indexer.strategies.registry import chunker_of
from tests.fakes import FakeEmbedder


def cut(
    text: str,
    name: str = "a.md",
    embedder: DocumentEmbedder | None = None,
    strategy: str = "structure",
    *,
    media_type: str | None = None,
    language: str = "en",
    titled: str = "",
    chat: ChatModel | None = None,
    **settings: object,
) -> CutSource:
    """
    Cut a text; its media type is told by the name's suffix where it is not given.
    """
    by_suffix = {".md": "text/markdown", ".txt": "text/plain"}.get(Path(name).suffix, CODE)
    return cut_source(
        SourceFile(Path(name), name, media_type or by_suffix, title=titled),
        text,
        tenant="",
        language=language,
        fields={},
        revision=1,
        is_active=True,
        embedder=embedder or FakeEmbedder(),
        chunker=chunker_of(strategy, settings),
        chat=chat,
    )


def texts_of(source: CutSource) -> list[str]:
    return [draft.text for draft in source.drafts]
