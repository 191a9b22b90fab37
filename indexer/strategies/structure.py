"""
`structure`: headed parts; inside them pieces that end at paragraphs and sentences.
"""

from __future__ import annotations

from indexer.strategies.fit import fitted
from indexer.strategies.pieces import Cut, CutPart, Piece, SourceToCut, Values
from indexer.strategies.prefix import heading_prefix, shortened, with_prefix

SECTION_TOKENS = 700
CHUNK_TOKENS = 128
CHUNK_AIM_TOKENS = 112
HEADING_SHARE = 4
"""A heading prefix takes at most one part in so many of a chunk's tokens."""

LEAST_CHUNK_TOKENS = 16


def cut_by_structure(source: SourceToCut, values: Values) -> Cut:
    """
    Return sections by headings and chunks by paragraphs and sentences.
    """
    most = min(int(values["chunk_tokens"]), source.most_tokens)
    share = int(values["heading_share"])
    cutter = source.cutter(most - most // share - source.embedder.count(""))
    parts = source.sections(cutter, int(values["section_tokens"]), by_headings=True)
    cut: list[CutPart] = []
    for part in parts:
        path = shortened(part.heading_path, source.embedder, most // share)
        prefix = heading_prefix(path)
        taken = source.embedder.count(with_prefix(prefix, ""))
        aim = max(min(int(values["chunk_aim_tokens"]), most - taken), LEAST_CHUNK_TOKENS)
        spans = cutter.cut(part.span, aim)
        pieces = fitted(source, cutter, spans, prefix=prefix, aim=aim, most=most)
        cut.append(CutPart(part, tuple(Piece(span, prefix) for span in pieces)))
    return Cut(tuple(cut), cutter)
