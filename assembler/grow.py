"""
Growth: the chunks beside evidence, in its sections, that are no candidates or were not chosen.

Each is worth its own fused score or, where it has none, what its neighbours, its section and its
document are worth. Growth comes after all evidence and takes nothing from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assembler.expand import Evidence
from assembler.model import VersionKey
from assembler.parent import Parent
from assembler.rank import SCORE_DIGITS, Support
from assembler.span import Span

Scores = Mapping[tuple[VersionKey, int], float]
"""Fused score by source version and chunk ordinal."""


@dataclass(frozen=True, slots=True)
class Growth:
    """
    A chunk that a passage of its section can grow by.

    Attributes:
        own: The chunk's own span.
        span: The same with the whole sentences that it begins or ends in.
    """

    parent: Parent
    own: Span
    span: Span
    score: float


def growth(evidence: Sequence[Evidence], scores: Scores, support: Support) -> tuple[Growth, ...]:
    """
    Return the chunks of the evidence's sections that are no evidence themselves, best first.

    Equal ones are ordered by section and by how near they are to its evidence.

    Args:
        evidence: Best first.
        scores: Of candidates, also those that packing was not given.
        support: What chunks that no search returned are worth.
    """
    shown: dict[tuple[str, str], tuple[Parent, set[Span]]] = {}
    for item in evidence:
        home = (item.candidate.index, item.parent.section.key)
        if home not in shown:
            shown[home] = (item.parent, set())
        shown[home][1].add(item.candidate.chunk.span)
    found: list[tuple[float, str, int, int, Growth]] = []
    for home, (parent, spans) in shown.items():
        section = parent.section
        if spans.issuperset(section.chunk_spans):
            continue
        places = [index for index, span in enumerate(section.chunk_spans) if span in spans]
        for index, span in enumerate(section.chunk_spans):
            if span in spans:
                continue
            ordinal = section.first_chunk_ordinal + index
            score = scores.get((parent.version, ordinal))
            if score is None:
                score, _ = support.implied(parent.version, home, ordinal)
            near = min((abs(index - place) for place in places), default=index)
            step = Growth(parent, span, parent.completed(span), score)
            found.append((-round(score, SCORE_DIGITS), section.key, near, index, step))
    found.sort(key=lambda entry: entry[:4])
    return tuple(entry[4] for entry in found)
