"""
Citations and the account: what stands where, and what became of every candidate.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from assembler.expand import Evidence
from assembler.fill import LEAST_TOKENS
from assembler.model import MetadataValue, VersionKey
from assembler.pack import Packed
from assembler.parent import Parent
from assembler.passage import Alias
from assembler.rank import Candidate
from assembler.render import Block
from assembler.report import (
    CandidateReport,
    CitedPassage,
    CitedSource,
    Disposition,
    PlacedSpan,
)
from assembler.span import Span, covers, union_of

CandidateId = tuple[str, str]
"""Index name and chunk key."""

YIELDING = frozenset((Disposition.BELOW_SCORE, Disposition.SECTION_LIMIT))
"""What is said of a candidate that was left out only where others do not show all of it."""


def cite(
    packed: Packed,
    *,
    homes: Mapping[CandidateId, int],
    revisions: Mapping[int, int],
    metadata_fields: Sequence[str],
    count: Callable[[str], int],
) -> tuple[CitedPassage, ...]:
    """
    Return the passages as they stand in the context, each with all the sources it stands for.

    Args:
        packed: The rendered context.
        homes: The block of each candidate that is shown, best first; see `homes_of`.
        revisions: Revision read per target, by which a version's state is told.
        metadata_fields: Names of the metadata to return per source.
        count: The caller's tokenizer.
    """
    context = packed.rendered.text
    cited = []
    keys: dict[int, list[str]] = {}
    for (_, key), home in homes.items():
        keys.setdefault(home, []).append(key)
    for number, block in enumerate(packed.rendered.blocks):
        passage = block.passage
        evidence = _evidence_of(block)
        notes = dict.fromkeys((*passage.notes, *(n for one in evidence for n in one.notes)))
        sources = [_source(passage.parents[0], block.spans, revisions, metadata_fields)]
        sources += _twins(block, packed.aliases, revisions, metadata_fields)
        cited.append(
            CitedPassage(
                marker=block.marker,
                block=block.place,
                text=block.body.slice(context),
                tokens=count(block.place.slice(context)),
                sources=tuple(sources),
                scores=passage.lead.candidate.scores if passage.lead else (),
                queries=tuple(sorted({q for one in evidence for q in one.candidate.queries})),
                chunk_keys=tuple(keys.get(number, ())),
                notes=tuple(notes),
            )
        )
    return tuple(cited)


def homes_of(
    packed: Packed,
    candidates: Sequence[Candidate],
    evidence: Sequence[Evidence],
    settled: Mapping[CandidateId, Disposition],
) -> dict[CandidateId, int]:
    """
    Return the number of the block that shows each candidate, whole or stepped down; those that are
    not shown, or must not be seen to be, have none.
    """
    places, parents = _places(packed), _parents(packed, evidence)
    stepped = {
        one.candidate.identity: number
        for number, block in enumerate(packed.rendered.blocks)
        for one in _evidence_of(block)
    }
    homes: dict[CandidateId, int] = {}
    for one in candidates:
        identity = one.identity
        fate = settled.get(identity)
        if fate is not None and fate not in YIELDING:
            continue
        near = places.get(one.version)
        shown = _block_with(near, one, parents) if near else None
        if shown is None and fate is None:
            shown = stepped.get(identity)
        if shown is not None:
            homes[identity] = shown
    return homes


def account(
    packed: Packed,
    candidates: Sequence[Candidate],
    evidence: Sequence[Evidence],
    settled: Mapping[CandidateId, Disposition],
    homes: Mapping[CandidateId, int],
) -> tuple[CandidateReport, ...]:
    """
    Return exactly one disposition per candidate.

    Args:
        packed: The rendered context.
        candidates: Every distinct chunk that a search returned.
        evidence: Those that packing was given.
        settled: What was decided before packing.
        homes: The block of each candidate that is shown; see `homes_of`.
    """
    parents = _parents(packed, evidence)
    echoed: dict[VersionKey, tuple[Span, ...]] = {}
    for alias in packed.aliases:
        version = alias.parent.version
        echoed[version] = union_of((*echoed.get(version, ()), alias.span))
    notes_of = {one.candidate.identity: one.notes for one in evidence}
    leads: dict[int, CandidateId] = {}
    for is_settled in (False, True):  # one that was left out is the best only where no other is
        for identity, home in homes.items():
            if (identity in settled) is is_settled:
                leads.setdefault(home, identity)
    reports = []
    for candidate in candidates:
        identity = candidate.identity
        fate, shown = settled.get(identity), homes.get(identity)
        notes = notes_of.get(identity, ())
        if shown is not None:
            fate = Disposition.PACKED if leads[shown] == identity else Disposition.MERGED
            notes = (*notes, *packed.filling.stepped_down.get(identity, ()))
        elif fate is None and candidate.version in echoed:
            is_echo = covers(echoed[candidate.version], _visible(candidate, parents))
            fate = Disposition.DUPLICATE if is_echo else None
        if fate is None:
            fate = packed.filling.reasons.get(identity) or _unread(candidate, packed)
        reports.append(CandidateReport(candidate, fate, notes))
    return tuple(reports)


def _unread(candidate: Candidate, packed: Packed) -> Disposition:
    """
    Return why a candidate that packing never came to is not in the context.
    """
    worth = packed.filling.is_worth(candidate.score, LEAST_TOKENS)
    return Disposition.OVER_BUDGET if worth else Disposition.UNDER_PRICE


def _places(packed: Packed) -> dict[VersionKey, list[tuple[Span, int]]]:
    """
    Return the shown spans of each source version in order, with the number of their block.
    """
    places: dict[VersionKey, list[tuple[Span, int]]] = {}
    for number, block in enumerate(packed.rendered.blocks):
        known = places.setdefault(block.passage.version, [])
        known += [(one.source, number) for one in block.spans]
    for spans in places.values():
        spans.sort()
    return places


def _parents(packed: Packed, evidence: Sequence[Evidence]) -> dict[VersionKey, list[Parent]]:
    """
    Return the sections of which anything is known here, by their source version.
    """
    shown = (one for block in packed.rendered.blocks for one in block.passage.parents)
    known = (*shown, *(alias.parent for alias in packed.aliases), *(one.parent for one in evidence))
    found: dict[VersionKey, list[Parent]] = {}
    for parent in {id(one): one for one in known}.values():
        found.setdefault(parent.version, []).append(parent)
    return found


def _block_with(
    places: Sequence[tuple[Span, int]],
    candidate: Candidate,
    parents: Mapping[VersionKey, Sequence[Parent]],
) -> int | None:
    """
    Return the first block that shows a candidate, all of it but outer white space, or None.

    Two blocks may share it.
    """
    span = candidate.chunk.span
    first = max(bisect_right(places, (span, 0)) - 1, 0)
    near = [
        one
        for one in takewhile(lambda one: one[0].start < span.end, places[first:])
        if one[0].overlaps(span)
    ]
    if not near or not covers(union_of(shown for shown, _ in near), _visible(candidate, parents)):
        return None
    return min(number for _, number in near)


def _visible(candidate: Candidate, parents: Mapping[VersionKey, Sequence[Parent]]) -> Span:
    """
    Return the candidate's span without outer white space, where its text is known.
    """
    span = candidate.chunk.span
    for parent in parents.get(candidate.version, ()):
        if parent.section.span.contains(span):
            text = parent.section.slice(span)
            first = len(text) - len(text.lstrip())
            kept = len(text.rstrip())
            return Span(span.start + first, span.start + kept) if kept else span
    return span


def _evidence_of(block: Block) -> tuple[Evidence, ...]:
    """
    Return the block's evidence of which at least a part is still shown.
    """
    return tuple(
        one
        for one in block.passage.evidence
        if any(span.source.overlaps(one.chunk_span) for span in block.spans)
    )


def _source(
    parent: Parent,
    spans: tuple[PlacedSpan, ...],
    revisions: Mapping[int, int],
    metadata_fields: Sequence[str],
) -> CitedSource:
    section = parent.section
    values: list[tuple[str, MetadataValue]] = [
        (name, section.metadata[name]) for name in metadata_fields if name in section.metadata
    ]
    return CitedSource(
        target=parent.target,
        version=parent.version,
        title=section.title,
        uri=section.uri,
        heading_path=section.heading_path,
        metadata=tuple(values),
        state=section.provenance.state_at(revisions[parent.target]),
        spans=spans,
    )


def _twins(
    block: Block,
    aliases: Sequence[Alias],
    revisions: Mapping[int, int],
    metadata_fields: Sequence[str],
) -> list[CitedSource]:
    """
    Return the other source versions whose equal text was dropped in favour of this block.

    A repeat inside the block's own version may be dropped too, after it was equal to another
    version's text that itself was dropped for the block; the block's own spans stand for it.
    """
    found: dict[VersionKey, tuple[Parent, dict[Span, PlacedSpan]]] = {}
    for alias in aliases:
        if alias.kept != block.passage.version or alias.kept == alias.parent.version:
            continue
        for placed in block.spans:
            shared = placed.source.intersection(alias.kept_span)
            if shared is None:
                continue
            there = _shifted(shared, alias.span.start - alias.kept_span.start)
            here = _shifted(shared, placed.context.start - placed.source.start)
            _, spans = found.setdefault(alias.parent.version, (alias.parent, {}))
            spans[there] = PlacedSpan(there, here)
    return [
        _source(parent, tuple(spans[span] for span in sorted(spans)), revisions, metadata_fields)
        for parent, spans in found.values()
    ]


def _shifted(span: Span, by: int) -> Span:
    return Span(span.start + by, span.end + by)
