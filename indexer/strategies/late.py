"""
`late`: cut at paragraphs and sentences; a chunk's vector is of its tokens in the whole document.
"""

from __future__ import annotations

from assembler.errors import InvalidRequest
from indexer.strategies.fit import pieces_of, prefix_of
from indexer.strategies.pieces import Cut, CutPart, SourceToCut, Values

NAME = "late"
OVERLAP = "window_overlap"
VERSION = "1"


def cut_for_late(source: SourceToCut, values: Values) -> Cut:
    """
    Return sections by headings and paragraphs, in each pieces that end at paragraphs and sentences.

    Raises:
        InvalidRequest: The model does not pool by mean, so that no part has a vector of its own.
    """
    pooling = source.embedder.spec.pooling
    if pooling != "mean":
        raise InvalidRequest(
            "strategy", f"late needs an embedding model that pools by mean; this one by {pooling}"
        )
    size = min(int(values["size"]), source.room_tokens)
    cutter = source.cutter(size)
    by_headings = bool(values["headings"])
    cut: list[CutPart] = []
    for part in source.sections(cutter, int(values["section_tokens"]), by_headings=by_headings):
        prefix = prefix_of(source, part.heading_path, size)
        spans = cutter.cut(part.span, size)
        cut.append(CutPart(part, pieces_of(source, cutter, spans, prefix=prefix, size=size)))
    return Cut(tuple(cut), cutter)
