"""
Grow chosen passages towards their whole sections with what room is left.

Growth never removes, shrinks or reorders chosen evidence; each step adds a neighbouring chunk.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Mapping

from assembler.expand import Parent
from assembler.fill import Filling
from assembler.model import VersionKey
from assembler.report import Note
from assembler.span import Span, covers

Scores = Mapping[tuple[VersionKey, int], float]
"""Fused score by source version and chunk ordinal."""


def grow(filling: Filling, scores: Scores) -> None:
    """
    Take growth steps, the best value per token first, until none is worth its price or fits.

    The value of a step is the neighbour's own fused score or, where no search returned it, the
    profile's neighbour weight times the value of the chunk beside it.
    """
    queue: list[tuple[float, str, int, int, int, Parent, float]] = []
    serial = itertools.count()

    def offer(parent: Parent, index: int, step: int, beside: float) -> None:
        spans = parent.section.chunk_spans
        while 0 <= index < len(spans):
            home = filling.home(parent)
            value = scores.get((parent.version, parent.section.first_chunk_ordinal + index))
            if value is None:
                value = filling.rules.profile.neighbour * beside
            if home is None or not covers(home.joined, spans[index]):
                cost = max(filling.parts.cost(parent, spans[index], home), 1)
                order = (-value / cost, parent.section.key, index, step, next(serial))
                heapq.heappush(queue, (*order, parent, value))
                return
            index, beside = index + step, value

    for home in sorted(filling.chosen.values(), key=lambda one: one.parent.section.key):
        if not home.evidence:
            continue
        beside = home.evidence[0].candidate.score
        shown = [
            index
            for index, span in enumerate(home.parent.section.chunk_spans)
            if any(span.overlaps(other) for other in home.spans)
        ]
        for index in shown:
            value = scores.get(
                (home.parent.version, home.parent.section.first_chunk_ordinal + index), beside
            )
            offer(home.parent, index + 1, 1, value)
            offer(home.parent, index - 1, -1, value)

    while queue:
        _, _, index, step, _, parent, value = heapq.heappop(queue)
        span = parent.completed(parent.section.chunk_spans[index])
        if _grown(filling, parent, span, value):
            offer(parent, index + step, step, value)


def _grown(filling: Filling, parent: Parent, span: Span, value: float) -> bool:
    """
    Return whether the span is shown now.
    """
    home = filling.home(parent)
    if home is not None and covers(home.joined, span):
        return True
    if filling.is_barred(parent, span) or filling.conflicts(parent, span):
        return False
    if filling.twin(parent, span) is not None:
        return False
    cost = filling.parts.cost(parent, span, home)
    if not filling.is_worth(value, cost) or filling.refusal(parent, cost) is not None:
        return False
    filling.take(parent, span, cost).notes[Note.GROWN] = None
    return True
