"""
What one context is worth, by where the evidence stands: the same measures for all systems.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from assembler.span import Span, union_of
from evaluation.question_set import Evidence

FULLY = 0.98
"""The part of every evidence range that has to be there."""

HIT_PASSAGES = 5
SHINGLE_WORDS = 8
"""A text is repeated where so many words in a row stand again."""

Place: TypeAlias = tuple[str, Span]
"""A document's id and a range of it."""


@dataclass(frozen=True, slots=True)
class ShownPassage:
    """
    One passage of a context.

    Attributes:
        block: Its place in the context.
        ranges: What of which document it shows.
        echoes: Ranges of other documents that it is cited for, whose equal text it shows.
    """

    block: Span
    ranges: tuple[Place, ...]
    echoes: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Shown:
    """
    What one system put into one context.

    Attributes:
        ranges: What of which document is shown, in the order of the context.
        text: The whole context, markers and headings included.
        tokens: Its tokens, counted whole.
        passages: The ranges by passage, in order; () where each range is a passage of its own and
            nobody knows where it stands.
    """

    ranges: tuple[Place, ...]
    text: str
    tokens: int
    passages: tuple[ShownPassage, ...] = ()

    def __post_init__(self) -> None:
        """
        Refuse passages that are not the ranges.
        """
        if self.passages:
            inside = tuple(place for one in self.passages for place in one.ranges)
            if inside != self.ranges:
                msg = "the passages' ranges are not the context's ranges"
                raise ValueError(msg)

    @classmethod
    def of(cls, passages: Sequence[ShownPassage], text: str, tokens: int) -> Shown:
        """
        Return the context that consists of these passages.
        """
        ranges = tuple(place for one in passages for place in one.ranges)
        return cls(ranges, text, tokens, tuple(passages))

    @property
    def echoes(self) -> tuple[Place, ...]:
        """
        Return the ranges of other documents whose equal text is shown.
        """
        return tuple(place for one in self.passages for place in one.echoes)

    @property
    def source_chars(self) -> int:
        """
        Return how many characters of documents are shown, repeated ones counted again.
        """
        return sum(span.length for _, span in self.ranges)


def covered(evidence: Sequence[Evidence], shown: Shown) -> Mapping[str, tuple[Span, ...]]:
    """
    Return what of which document counts as shown: by range, and evidence that stands verbatim.
    """
    spans: dict[str, list[Span]] = {}
    for doc_id, span in (*shown.ranges, *shown.echoes):
        spans.setdefault(doc_id, []).append(span)
    for one in evidence:
        if one.text in shown.text:
            spans.setdefault(one.doc_id, []).append(one.span)
    return {doc_id: union_of(found) for doc_id, found in spans.items()}


def evidence_chars(evidence: Sequence[Evidence], shown: Shown | None = None) -> int:
    """
    Return the characters of the evidence, or those of them that a context shows, each once.
    """
    there = None if shown is None else covered(evidence, shown)
    total = 0
    for doc_id in {one.doc_id for one in evidence}:
        wanted = union_of(one.span for one in evidence if one.doc_id == doc_id)
        if there is None:
            total += sum(span.length for span in wanted)
        else:
            total += sum(_shared(span, there.get(doc_id, ())) for span in wanted)
    return total


def evidence_recall(evidence: Sequence[Evidence], shown: Shown) -> float:
    """
    Return the part of the evidence's characters that is in the context.
    """
    return evidence_chars(evidence, shown) / evidence_chars(evidence)


def is_fully_covered(evidence: Sequence[Evidence], shown: Shown) -> bool:
    """
    Return whether at least `FULLY` of every evidence range is in the context.
    """
    there = covered(evidence, shown)
    return all(
        _shared(one.span, there.get(one.doc_id, ())) >= FULLY * one.span.length for one in evidence
    )


def precision(evidence: Sequence[Evidence], shown: Shown) -> float:
    """
    Return the part of the context's source characters that is evidence; 0 for an empty context.
    """
    if not shown.source_chars:
        return 0.0
    return min(evidence_chars(evidence, shown) / shown.source_chars, 1.0)


def first_evidence(evidence: Sequence[Evidence], shown: Shown) -> int | None:
    """
    Return the 1-based number of the first passage with evidence, None where no passage has any.
    """
    passages: Sequence[ShownPassage] = shown.passages or [
        ShownPassage(Span(0, 1), (place,)) for place in shown.ranges
    ]
    for number, passage in enumerate(passages, start=1):
        text = passage.block.slice(shown.text) if shown.passages else ""
        places = (*passage.ranges, *passage.echoes)
        for one in evidence:
            by_range = any(doc == one.doc_id and span.overlaps(one.span) for doc, span in places)
            if by_range or one.text in text:
                return number
    return None


def reciprocal_rank(evidence: Sequence[Evidence], shown: Shown) -> float:
    """
    Return 1 over the number of the first passage with evidence, 0 without one.
    """
    first = first_evidence(evidence, shown)
    return 1.0 / first if first else 0.0


def is_hit(evidence: Sequence[Evidence], shown: Shown, within: int = HIT_PASSAGES) -> bool:
    """
    Return whether one of the first passages has evidence.
    """
    first = first_evidence(evidence, shown)
    return first is not None and first <= within


def sections_reached(shown: Shown, sections: Mapping[str, Sequence[Span]]) -> int:
    """
    Return how many sections the context shows something of.

    Args:
        shown: The context.
        sections: The sections of every document that is shown.
    """
    reached = {
        (doc_id, section)
        for doc_id, span in shown.ranges
        for section in sections[doc_id]
        if section.overlaps(span)
    }
    return len(reached)


def duplication_ratio(text: str) -> float:
    """
    Return the part of a text's runs of `SHINGLE_WORDS` words that stand in it before already.
    """
    words = text.split()
    runs = [tuple(words[at : at + SHINGLE_WORDS]) for at in range(len(words) - SHINGLE_WORDS + 1)]
    return 1.0 - len(set(runs)) / len(runs) if runs else 0.0


def attainable_recall(evidence_tokens: int, budget: int) -> float:
    """
    Return the evidence recall that so many tokens allow at most.
    """
    return min(1.0, budget / evidence_tokens)


def _shared(span: Span, joined: Sequence[Span]) -> int:
    parts = (span.intersection(one) for one in joined)
    return sum(part.length for part in parts if part is not None)
