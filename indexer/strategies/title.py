"""
The document's title before each chunk, in what is embedded alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from indexer.strategies.pieces import Cut, Piece, SourceToCut
from indexer.strategies.prefix import with_prefix

SETTING = "title"
WRITTEN = "chunks embedded with the title of their document"
MISSING = "chunks embedded without the title of their document, for want of room"


def with_titles(source: SourceToCut, cut: Cut) -> Cut:
    """
    Return the text cut alike, with its title before each chunk that does not stand below a heading
    of the same words.

    Args:
        source: The text; one without a title stays as it is.
        cut: As a strategy cut it.
    """
    title = " ".join(source.title.split())
    if not title:
        return cut
    counts: Counter[str] = Counter(cut.counts)
    parts = tuple(
        part
        if title in part.part.heading_path
        else replace(part, pieces=tuple(_titled(source, title, one, counts) for one in part.pieces))
        for part in cut.parts
    )
    return replace(cut, parts=parts, counts=+counts)


def _titled(source: SourceToCut, title: str, piece: Piece, counts: Counter[str]) -> Piece:
    prefix = with_prefix(title, piece.prefix) if piece.prefix else title
    told = with_prefix(prefix, piece.span.slice(source.text))
    if source.embedder.count(told) > source.most_tokens:
        counts[MISSING] += 1
        return piece
    counts[WRITTEN] += 1
    return replace(piece, prefix=prefix)
