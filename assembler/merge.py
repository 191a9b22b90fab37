"""
Join chosen spans of one source version into passages: never across versions, text sliced once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assembler.expand import Evidence
from assembler.model import VersionKey
from assembler.parent import Parent
from assembler.passage import Passage
from assembler.report import Note
from assembler.span import Span, covers, trimmed, union_of


@dataclass(slots=True)
class Chosen:
    """
    What is chosen in one section.

    Attributes:
        spans: Joined spans of evidence, growth and pinned text.
        joined: Everything shown, with what is carried along: header rows, lead-ins, fences.
        evidence: Evidence shown here, in the order it was chosen.
    """

    parent: Parent
    spans: tuple[Span, ...] = ()
    joined: tuple[Span, ...] = ()
    evidence: list[Evidence] = field(default_factory=list)
    notes: dict[Note, None] = field(default_factory=dict)

    def add(self, span: Span) -> None:
        """
        Choose one more span, and what a part of a block carries with it.
        """
        self.spans = union_of((*self.spans, span))
        self.joined = union_of((*self.spans, *carried(self.parent, self.spans)))


def carried(parent: Parent, spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """
    Return the leads of the blocks that the spans show a part of without their lead.
    """
    if not parent.section.blocks:
        return ()
    return tuple(
        block.lead
        for block in parent.section.blocks
        if any(span.overlaps(block.span) and not _only_lead(span, block.lead) for span in spans)
        and parent.section.span.contains(block.lead)
        and not covers(spans, block.lead)
    )


def _only_lead(span: Span, lead: Span) -> bool:
    return lead.contains(span)


def merge(chosen: Mapping[tuple[VersionKey, str], Chosen]) -> tuple[Passage, ...]:
    """
    Return one passage per section, or per run of sections whose shown text touches.

    Covers exactly the chosen code points, less outer white space; sections of different source
    versions never share a passage.
    """
    homes = sorted(
        chosen.values(),
        key=lambda home: (_version_order(home.parent.version), home.parent.section.span),
    )
    runs: list[list[Chosen]] = []
    for home in homes:
        if runs and _touch(runs[-1][-1], home):
            runs[-1].append(home)
        else:
            runs.append([home])
    passages = (_passage(run) for run in runs)
    return tuple(passage for passage in passages if passage is not None)


def _version_order(version: VersionKey) -> tuple[str, str, str, str, str]:
    return (
        version.index,
        version.tenant,
        version.source_id,
        version.version,
        version.content_sha256,
    )


def _touch(before: Chosen, after: Chosen) -> bool:
    return (
        before.parent.version == after.parent.version
        and before.parent.section.span.end <= after.parent.section.span.start
        and bool(before.joined and after.joined)
        and before.joined[-1].touches(after.joined[0])
    )


def _passage(run: Sequence[Chosen]) -> Passage | None:
    evidence = sorted(
        (item for home in run for item in home.evidence), key=lambda item: item.candidate.rank
    )
    notes = dict.fromkeys(note for home in run for note in home.notes)
    first = run[0].parent
    bare = Passage(
        version=first.version,
        target=first.target,
        parents=tuple(home.parent for home in run),
        spans=union_of(span for home in run for span in home.joined),
        lead=evidence[0] if evidence else None,
        evidence=tuple(evidence),
        notes=tuple(notes),
    )
    return retrimmed(bare, bare.spans)


def retrimmed(passage: Passage, spans: Sequence[Span]) -> Passage | None:
    """
    Return the passage with these spans, outer white space left out, or None where none is left.
    """
    kept = tuple(
        shorter
        for span in spans
        if (shorter := trimmed(span, passage.slice(span), span.start)) is not None
    )
    if not kept:
        return None
    return Passage(
        version=passage.version,
        target=passage.target,
        parents=passage.parents,
        spans=kept,
        lead=passage.lead,
        evidence=passage.evidence,
        notes=passage.notes,
    )
