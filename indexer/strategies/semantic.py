"""
`semantic`: cut where neighbouring sentences differ most in meaning.

A sentence is embedded with those around it; the text is cut where the distance to the next is
above a percentile of all distances of the text.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from assembler.span import Span
from indexer.strategies.fit import pieces_of, prefix_of
from indexer.strategies.pieces import Cut, CutPart, SourceToCut, Values
from indexer.strategies.vectors import neighbour_similarities, sentences_of, vectors_of


def cut_by_distance(source: SourceToCut, values: Values) -> Cut:
    """
    Return sections by headings and paragraphs, each cut at the text's break points.
    """
    size = min(int(values["size"]), source.room_tokens)
    cutter = source.cutter(size)
    by_headings = bool(values["headings"])
    parts = source.sections(cutter, int(values["section_tokens"]), by_headings=by_headings)
    sentences = sentences_of(source, cutter, source.whole)
    breaks = break_points(
        source, sentences, around=int(values["around"]), percentile=float(values["percentile"])
    )
    cut: list[CutPart] = []
    for part in parts:
        inside = [one for one in breaks if part.span.start < one < part.span.end]
        edges = [part.span.start, *inside, part.span.end]
        runs = [Span(start, end) for start, end in itertools.pairwise(edges)]
        spans = [piece for run in runs for piece in cutter.cut(run, size)]
        prefix = prefix_of(source, part.heading_path, size)
        cut.append(CutPart(part, pieces_of(source, cutter, spans, prefix=prefix, size=size)))
    return Cut(tuple(cut), cutter)


def break_points(
    source: SourceToCut, sentences: Sequence[Span], *, around: int, percentile: float
) -> list[int]:
    """
    Return where sentences begin that are further from the one before than the percentile.

    Args:
        source: The text.
        sentences: Of the whole text, in order.
        around: Sentences before and after that are embedded with each.
        percentile: Of the text's distances; the higher, the fewer breaks.
    """
    if len(sentences) < 2:  # noqa: PLR2004 - no neighbours
        return []
    last = len(sentences) - 1
    groups = [
        Span(sentences[max(at - around, 0)].start, sentences[min(at + around, last)].end)
        for at in range(len(sentences))
    ]
    distances = 1.0 - neighbour_similarities(vectors_of(source, groups))
    threshold = float(np.percentile(distances, percentile))
    return [
        sentences[at + 1].start for at, distance in enumerate(distances) if distance > threshold
    ]
