"""
How a run cuts: as it is asked, or as the index has it.
"""

from __future__ import annotations

from adapters.document_embedder import DocumentEmbedder
from adapters.store import ChunkerSpec, Manifest
from assembler.errors import InvalidRequest
from indexer.cut_source import CHUNKER
from indexer.request import IndexRequest
from indexer.strategies.registry import check_limit, chunker_of, kept_chunker


def chunker_for(
    request: IndexRequest, manifest: Manifest | None, embedder: DocumentEmbedder
) -> ChunkerSpec:
    """
    Return how a run cuts: as it is asked, else as the index has it.

    Raises:
        InvalidRequest: An unknown strategy or setting, a value that does not go, or nothing to cut.
    """
    asked, settings = request.strategy, request.strategy_settings
    if (asked is not None or settings) and not request.paths:
        raise InvalidRequest(
            "strategy", "decides how files are cut; give the paths of every source with it"
        )
    if asked is not None:
        chunker = chunker_of(asked, settings)
    elif manifest is not None and request.paths:
        chunker = kept_chunker(manifest.chunker, settings)
    else:
        chunker = chunker_of(CHUNKER.name, settings)
    if asked is not None or settings:
        most = embedder.spec.max_tokens
        check_limit(chunker, most, most - embedder.count(""))
    return chunker
