"""
`cluster`: small pieces grouped so that what stands together is as alike as can be.

The way of Chroma's report on chunking: of all ways to group neighbouring pieces into chunks of a
limited size, the one whose pieces are most alike inside their chunks, each similarity counted from
the mean of the text; found by dynamic programming.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assembler.span import Span
from indexer.strategies.fit import pieces_of, prefix_of
from indexer.strategies.pieces import Cut, CutPart, SourceToCut, Values
from indexer.strategies.recursive import levels_of, split_recursively
from indexer.strategies.vectors import DIGITS, Floats, vectors_of


def cut_by_clusters(source: SourceToCut, values: Values) -> Cut:
    """
    Return sections by headings and paragraphs, each grouped from small pieces.
    """
    size = min(int(values["size"]), source.room_tokens)
    piece = min(int(values["piece"]), size)
    cutter = source.cutter(size)
    by_headings = bool(values["headings"])
    parts = source.sections(cutter, int(values["section_tokens"]), by_headings=by_headings)
    levels = levels_of(source.text, cutter)
    length = source.ruler.tokens
    pieces = [
        split_recursively(part.span, levels, size=piece, overlap=0, length=length) for part in parts
    ]
    vectors = vectors_of(source, [span for inside in pieces for span in inside])
    mean = mean_similarity(vectors)
    cut: list[CutPart] = []
    done = 0
    for part, inside in zip(parts, pieces, strict=True):
        own = vectors[done : done + len(inside)]
        done += len(inside)
        lengths = [length(span) for span in inside]
        most = max(size // piece, 1)
        groups = best_groups(own, lengths, mean=mean, most_pieces=most, size=size)
        spans = [Span(inside[first].start, inside[last].end) for first, last in groups]
        prefix = prefix_of(source, part.heading_path, size)
        cut.append(CutPart(part, pieces_of(source, cutter, spans, prefix=prefix, size=size)))
    return Cut(tuple(cut), cutter)


def mean_similarity(vectors: Floats) -> float:
    """
    Return the mean cosine of all pairs of different rows, 0 where there is no pair.
    """
    count = len(vectors)
    if count < 2:  # noqa: PLR2004 - a pair
        return 0.0
    total = vectors.sum(axis=0)
    return float((total @ total - np.sum(vectors * vectors)) / (count * (count - 1)))


def best_groups(
    vectors: Floats, lengths: Sequence[int], *, mean: float, most_pieces: int, size: int
) -> list[tuple[int, int]]:
    """
    Return the first and last piece of each group, in order; equally good: smaller groups.

    Args:
        vectors: One row per piece.
        lengths: Tokens of each piece.
        mean: A similarity counts by how far it is above this.
        most_pieces: Of a group.
        size: Most tokens of a group of several pieces.
    """
    count = len(vectors)
    best = np.zeros(count + 1)
    first_of = list(range(count))
    for last in range(count):
        best[last + 1] = best[last]
        reward, tokens = 0.0, lengths[last]
        for first in range(last - 1, max(last - most_pieces, -1), -1):
            tokens += lengths[first]
            if tokens > size:
                break
            alike = vectors[first + 1 : last + 1] @ vectors[first] - mean
            # each pair stands twice in the matrix of similarities
            reward += 2.0 * float(alike.sum())
            # the pairs among later pieces are in `reward` already: groups grow to the left
            if round(best[first] + reward, DIGITS) > round(best[last + 1], DIGITS):
                best[last + 1], first_of[last] = best[first] + reward, first
    groups: list[tuple[int, int]] = []
    last = count - 1
    while last >= 0:
        groups.append((first_of[last], last))
        last = first_of[last] - 1
    return groups[::-1]
