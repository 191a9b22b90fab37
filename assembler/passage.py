"""
A passage on its way to the prompt: spans of one source version in touching sections.
"""

from __future__ import annotations

from dataclasses import dataclass

from assembler.expand import Evidence
from assembler.model import VersionKey
from assembler.parent import Parent
from assembler.report import Note
from assembler.span import Span


@dataclass(frozen=True, slots=True)
class Alias:
    """
    A range of another source version whose text equals a range that is kept.

    Attributes:
        kept: The version and the span that stands in the context.
        parent: Where the equal text comes from; `span` has the same length as the kept one.
    """

    kept: VersionKey
    kept_span: Span
    parent: Parent
    span: Span


@dataclass(frozen=True, slots=True)
class Passage:
    """
    One or more spans of one source version, with the best evidence behind them.

    Attributes:
        parents: The touching sections that the spans lie in, in source order.
        spans: Disjoint, not touching, without outer white space, in source order.
        lead: The best evidence in it; None where the caller pinned the text.
        evidence: All evidence chosen in it, best first.
    """

    version: VersionKey
    target: int
    parents: tuple[Parent, ...]
    spans: tuple[Span, ...]
    lead: Evidence | None
    evidence: tuple[Evidence, ...]
    notes: tuple[Note, ...]

    @property
    def rank(self) -> int:
        """
        Return the rank of the best evidence; what the caller pinned comes first.
        """
        return -1 if self.lead is None else self.lead.candidate.rank

    def slice(self, span: Span) -> str:
        """
        Return the text of a range that lies in the passage's sections.
        """
        first = self.parents[0].section
        if first.span.contains(span):
            return first.slice(span)
        return "".join(
            parent.section.slice(part)
            for parent in self.parents
            if (part := parent.section.span.intersection(span)) is not None
        )
