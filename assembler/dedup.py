"""
Drop spans whose text is exactly equal to that of a better passage; the kept one cites both.

Equal means equal after no change at all, outer white space aside, which is never shown. A span is
dropped too where a larger one of another version shows its text as a chunk. A repeat inside one
source version is content and stays.
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
    inner = _chunks_inside(passages)
    by_text: dict[str, tuple[VersionKey, Span]] = {}
    kept: list[Passage] = []
    aliases: list[Alias] = []
    for passage in sorted(passages, key=lambda one: (one.rank, one.target, one.spans)):
        spans = []
        for span in passage.spans:
            text = passage.slice(span)
            larger = inner.get(text)
            if larger is not None and larger[0] != passage.version:
                by_text.setdefault(text, larger)
            version, first = by_text.setdefault(text, (passage.version, span))
            if version == passage.version:
                spans.append(span)
            else:
                aliases.append(Alias(version, first, _home(passage, span), span))
        if spans:
            kept.append(passage if len(spans) == len(passage.spans) else _only(passage, spans))
    return tuple(kept), tuple(aliases)


def followed(aliases: Sequence[Alias]) -> tuple[Alias, ...]:
    """
    Return the aliases, those of a span that was dropped itself led on to the one that is kept.
    """
    dropped = {(one.parent.version, one.span): one for one in aliases}
    found = []
    for alias in aliases:
        kept, span = alias.kept, alias.kept_span
        for _ in aliases:
            further = dropped.get((kept, span))
            if further is None:
                break
            kept, span = further.kept, further.kept_span
        found.append(Alias(kept, span, alias.parent, alias.span))
    return tuple(found)


def _chunks_inside(passages: Sequence[Passage]) -> dict[str, tuple[VersionKey, Span]]:
    """
    Return the texts of whole spans that are shown as a chunk of a larger span too, and where.
    """
    whole = {passage.slice(span) for passage in passages for span in passage.spans}
    sizes = {len(text) for text in whole}
    found: dict[str, tuple[VersionKey, Span]] = {}
    for passage in passages:
        for parent in passage.parents:
            for chunk in parent.section.chunk_spans:
                shown = parent.visible(chunk)
                if shown is None or len(shown[1]) not in sizes or shown[1] not in whole:
                    continue
                if any(one.contains(shown[0]) and one != shown[0] for one in passage.spans):
                    found.setdefault(shown[1], (passage.version, shown[0]))
    return found


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
