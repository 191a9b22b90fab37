"""
Drop spans whose text is exactly equal to that of a better passage; the kept one cites both.

Equal means equal after no change at all, outer white space aside, which is never shown. A repeat
inside one source version is content and stays.
"""

from __future__ import annotations

from collections.abc import Sequence

from assembler.model import VersionKey
from assembler.parent import Parent
from assembler.passage import Alias, Passage
from assembler.span import Span


def drop_duplicates(passages: Sequence[Passage]) -> tuple[tuple[Passage, ...], tuple[Alias, ...]]:
    """
    Return the passages, best first, without spans that equal a span of another source version.

    Returns:
        The passages that still have a span, and one alias per dropped span.
    """
    by_text: dict[str, tuple[VersionKey, Span]] = {}
    kept: list[Passage] = []
    aliases: list[Alias] = []
    for passage in sorted(passages, key=lambda one: (one.rank, one.target, one.spans)):
        spans = []
        for span in passage.spans:
            text = passage.slice(span)
            version, first = by_text.setdefault(text, (passage.version, span))
            if version == passage.version:
                spans.append(span)
            else:
                aliases.append(Alias(version, first, _home(passage, span), span))
        if spans:
            kept.append(passage if len(spans) == len(passage.spans) else _only(passage, spans))
    return tuple(kept), tuple(aliases)


def _home(passage: Passage, span: Span) -> Parent:
    return next(parent for parent in passage.parents if parent.section.span.overlaps(span))


def _only(passage: Passage, spans: Sequence[Span]) -> Passage:
    return Passage(
        version=passage.version,
        target=passage.target,
        parents=tuple(
            parent
            for parent in passage.parents
            if any(parent.section.span.overlaps(span) for span in spans)
        ),
        spans=tuple(spans),
        lead=passage.lead,
        evidence=passage.evidence,
        notes=passage.notes,
    )
