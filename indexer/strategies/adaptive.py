"""
`adaptive`: headed parts as they are; too long ones split where they change, too short ones joined
with the more similar neighbour.
"""

from __future__ import annotations

from collections.abc import Sequence

from assembler.span import Span
from indexer.strategies.fit import pieces_of, prefix_of
from indexer.strategies.pieces import Cut, CutPart, SourceToCut, Values
from indexer.strategies.vectors import neighbour_similarities, sentences_of, vectors_of


def cut_adaptively(source: SourceToCut, values: Values) -> Cut:
    """
    Return sections by headings, whole where they are at most `size` long.
    """
    size = min(int(values["size"]), source.room_tokens)
    least = min(int(values["least"]), size)
    cutter = source.cutter(size)
    cut: list[CutPart] = []
    for part in source.sections(cutter, int(values["section_tokens"]), by_headings=True):
        spans = [part.span]
        if source.ruler.tokens(part.span) > size:
            sentences = sentences_of(source, cutter, part.span)
            alike = [float(one) for one in neighbour_similarities(vectors_of(source, sentences))]
            spans = _joined(source, _split(source, sentences, alike, size, least), size, least)
        prefix = prefix_of(source, part.heading_path, size)
        cut.append(CutPart(part, pieces_of(source, cutter, spans, prefix=prefix, size=size)))
    return Cut(tuple(cut), cutter)


def _split(
    source: SourceToCut,
    sentences: Sequence[Span],
    alike: Sequence[float],
    size: int,
    least: int,
) -> list[Span]:
    """
    Return the sentences in runs of at most so many tokens, parted where they are least alike.

    A place that leaves less than `least` on a side is taken only where there is no other.
    """
    found: list[Span] = []
    waiting = [(0, len(sentences))]
    while waiting:
        first, end = waiting.pop()
        run = Span(sentences[first].start, sentences[end - 1].end)
        if end - first == 1 or source.ruler.tokens(run) <= size:
            found.append(run)
            continue

        def order(place: int, run: Span = run) -> tuple[bool, float, int]:
            border = sentences[place].start
            sides = (Span(run.start, border), Span(border, run.end))
            is_small = min(source.ruler.tokens(side) for side in sides) < least
            return is_small, alike[place - 1], place

        place = min(range(first + 1, end), key=order)
        waiting += [(place, end), (first, place)]
    return found


def _joined(source: SourceToCut, runs: Sequence[Span], size: int, least: int) -> list[Span]:
    """
    Return the runs, those shorter than `least` joined with the more similar neighbour they fit to.
    """
    spans = list(runs)
    vectors = list(vectors_of(source, spans))
    at = 0
    while at < len(spans):
        if len(spans) == 1 or source.ruler.tokens(spans[at]) >= least:
            at += 1
            continue
        fits = [
            other
            for other in (at - 1, at + 1)
            if 0 <= other < len(spans)
            and source.ruler.tokens(spans[at].union(spans[other])) <= size
        ]
        if not fits:
            at += 1
            continue
        similar = max(fits, key=lambda one: (round(float(vectors[at] @ vectors[one]), 6), -one))
        low = min(at, similar)
        spans[low : low + 2] = [spans[low].union(spans[low + 1])]
        vectors[low : low + 2] = [vectors_of(source, [spans[low]])[0]]
        at = low
    return spans
