"""
Restated baselines on our own index: the same chunks, the same searches, no ranking of ours.

`SAME` are the honest lines: they differ from the product by ranking, packing and layout only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from assembler.model import Hit
from assembler.span import Span
from bench.quality.fuse import Fusion, Ranked, by_distribution, by_ranks, by_weights
from bench.quality.packing import Item, Packer
from bench.quality.stored import StoredDocument
from evaluation.measures import Shown

LISTS = (100, 200)
FUSIONS: Mapping[str, Fusion] = {
    "rrf k=2": by_ranks(2),
    "rrf k=60": by_ranks(60),
    "dbsf": by_distribution,
    "weights .6/.4": by_weights,
}
SAME = tuple(
    name if limit == LISTS[0] else f"{name}, {limit}" for limit in LISTS for name in FUSIONS
)
PARENTS, AUTO_MERGE = "whole parents", "auto-merge"
WINDOW, SEGMENTS = "window ±1", "segment value"
NAMES = (*SAME, PARENTS, AUTO_MERGE, WINDOW, SEGMENTS)

MERGE_CANDIDATES = 50
MERGE_SHARE = 0.5
WINDOW_CHUNKS = 1
PENALTY = 0.2
"""What a chunk of a segment has to be worth, of the best possible score."""

SEGMENT_CHUNKS = 15

Searches = Mapping[int, tuple[Sequence[Hit], Sequence[Hit]]]
"""Vector hits and BM25 hits by how many of each were asked for."""


def contexts(
    searches: Searches,
    document_of: Mapping[str, StoredDocument],
    packer: Packer,
    budget: int,
) -> Iterator[tuple[str, Shown]]:
    """
    Return what each baseline shows, by its name.

    Args:
        searches: For each of `LISTS`.
        document_of: The document of each hit by chunk key.
        packer: Counts as the product's limit is counted.
        budget: Most tokens of each context.
    """
    for limit in LISTS:
        for name, fuse in FUSIONS.items():
            items = [
                Item(document_of[chunk.key], chunk.span, chunk.span)
                for chunk, _ in fuse(*searches[limit])
            ]
            label = name if limit == LISTS[0] else f"{name}, {limit}"
            yield label, packer.pack(items, budget)
    ranked = by_weights(*searches[LISTS[0]])
    yield PARENTS, packer.pack(_parents(ranked, document_of), budget, stops=True)
    yield AUTO_MERGE, packer.pack(_merged(ranked, document_of), budget)
    yield WINDOW, packer.pack(_windows(ranked, document_of), budget)
    yield SEGMENTS, packer.pack(_segments(ranked, document_of), budget)


def _parents(ranked: Ranked, document_of: Mapping[str, StoredDocument]) -> Iterator[Item]:
    """
    Return whole sections in the order of their best chunk.
    """
    for chunk, _ in ranked:
        document = document_of[chunk.key]
        span = document.section_of(chunk.span).span
        yield Item(document, span, span)


def _merged(ranked: Ranked, document_of: Mapping[str, StoredDocument]) -> Iterator[Item]:
    """
    Return chunks, and in their place the section of which at least half of the chunks are hits.
    """
    best = ranked[:MERGE_CANDIDATES]
    hits = Counter(chunk.section_key for chunk, _ in best)
    for chunk, _ in best:
        document = document_of[chunk.key]
        section = document.section_of(chunk.span)
        whole = hits[chunk.section_key] >= MERGE_SHARE * len(section.chunk_spans)
        span = section.span if whole else chunk.span
        yield Item(document, span, span)


def _windows(ranked: Ranked, document_of: Mapping[str, StoredDocument]) -> Iterator[Item]:
    """
    Return each chunk with its neighbours in the document.
    """
    for chunk, _ in ranked:
        document = document_of[chunk.key]
        first = max(chunk.ordinal - WINDOW_CHUNKS, 0)
        last = min(chunk.ordinal + WINDOW_CHUNKS, len(document.chunks) - 1)
        span = Span(document.chunks[first].start, document.chunks[last].end)
        yield Item(document, span, chunk.span)


def _segments(ranked: Ranked, document_of: Mapping[str, StoredDocument]) -> Iterator[Item]:
    """
    Return the segments of documents whose chunks are together worth most, best first.

    A chunk is worth its score of the best possible 1, less a penalty; one that was not found is
    worth the penalty less than nothing.
    """
    documents = {one.doc_id: one for one in document_of.values()}
    values = {name: [-PENALTY] * len(one.chunks) for name, one in documents.items()}
    for chunk, score in ranked:
        values[document_of[chunk.key].doc_id][chunk.ordinal] = score - PENALTY
    found = [
        (-worth, name, first, last)
        for name, worths in values.items()
        for worth, first, last in best_segments(worths, 0, len(worths))
    ]
    for _, name, first, last in sorted(found):
        chunks = documents[name].chunks
        span = Span(chunks[first].start, chunks[last - 1].end)
        yield Item(documents[name], span, span)


def best_segments(
    values: Sequence[float], start: int, end: int
) -> Iterator[tuple[float, int, int]]:
    """
    Return disjoint ranges with the greatest positive sums: the best one, then left and right of it.

    Args:
        values: What each chunk is worth.
        start: The first chunk that is looked at.
        end: One more than the last.
    """
    waiting = [(start, end)]
    while waiting:
        low, high = waiting.pop()
        best = max(
            (
                (sum(values[first:last]), -first, -last)
                for first in range(low, high)
                if values[first] > 0.0
                for last in range(first + 1, min(first + SEGMENT_CHUNKS, high) + 1)
            ),
            default=(0.0, 0, 0),
        )
        if best[0] > 0.0:
            first, last = -best[1], -best[2]
            yield best[0], first, last
            waiting += [(low, first), (last, high)]
