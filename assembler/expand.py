"""
Widen candidates towards their parent sections: the ladder of spans that each could be shown as.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from assembler.model import Chunk, Section
from assembler.orphans import orphans, sha256_of
from assembler.parent import Parent
from assembler.rank import Candidate
from assembler.report import Note
from assembler.request import Expansion, ExpansionMode
from assembler.sentence import NOTHING_WANTED, Wanted
from assembler.span import Span


class Evidence(NamedTuple):
    """
    A candidate in its parent, with the spans it can be shown as, widest first.

    Attributes:
        chunk_span: The candidate's own span, or the whole sentences around it.
        ladder: Spans of one section, each inside the one before; the best sentence is the last
            rung, looked for only where it is come to.
        forced: The chunk's own span where it is only a part of one sentence: to be shown only when
            that sentence alone exceeds the whole limit.
    """

    candidate: Candidate
    parent: Parent
    chunk_span: Span
    ladder: tuple[Span, ...]
    forced: Span | None
    notes: tuple[Note, ...]
    wanted: Wanted = NOTHING_WANTED

    @property
    def last_rungs(self) -> Iterator[Span]:
        """
        Yield the best sentence, where that is less than the last of the ladder.
        """
        sentence = self.wanted.best_sentence(self.parent, self.chunk_span)
        if sentence is not None and sentence != self.ladder[-1]:
            yield sentence


def expand(
    candidates: Sequence[Candidate],
    sections: Mapping[tuple[str, str], Section],
    own_texts: Mapping[tuple[str, str], str],
    expansion: Expansion,
    queries: Sequence[str],
    matched: AbstractSet[tuple[str, str]] = frozenset(),
) -> tuple[tuple[Evidence, ...], tuple[Candidate, ...]]:
    """
    Return the candidates as evidence in their order, and those that have no usable text at all.

    A section that is absent, or that does not match its chunk by hash and offsets, never loses the
    chunk: its own text is used and a note says why.

    Args:
        candidates: Best first.
        sections: Sections by index name and key; what is missing was not readable.
        own_texts: Texts of chunks by index name and chunk key, for those without a usable section.
        expansion: The unit that is asked for.
        queries: Texts by which the best sentence of a chunk is chosen.
        matched: Candidates by index name and chunk key whose section was found to match before.
    """
    problems = [
        None if one.identity in matched else _problem(one, sections.get(one.home))
        for one in candidates
    ]
    unusable = [one for one, problem in zip(candidates, problems, strict=True) if problem]
    alone = orphans(unusable, own_texts)
    parents: dict[tuple[str, str], Parent] = {}
    placed: list[tuple[Candidate, Parent, Note | None]] = []
    lost: list[Candidate] = []
    for candidate, problem in zip(candidates, problems, strict=True):
        parent = alone.get(candidate.identity) if problem else parents.get(candidate.home)
        if parent is None and problem is None:
            parent = Parent(sections[candidate.home], candidate.version, candidate.target)
            parents[candidate.home] = parent
        if parent is None:
            lost.append(candidate)
        else:
            placed.append((candidate, parent, problem))
    found = [(parent, one.chunk.span) for one, parent, _ in placed if not one.is_implied]
    wanted = Wanted(queries, found)
    evidence = (_evidence(*one, expansion, wanted) for one in placed)
    return tuple(evidence), tuple(lost)


def mismatch(chunk: Chunk, section: Section | None) -> Note | None:
    """
    Return why a section cannot be used for a chunk, or None where it can.
    """
    problem = _misplaced(chunk, section)
    if problem is None and section is not None:
        text = section.slice(chunk.span)
        return None if sha256_of(text) == chunk.text_sha256 else Note.PARENT_MISMATCH
    return problem


def _problem(candidate: Candidate, section: Section | None) -> Note | None:
    """
    Return why a section cannot be used; what it alone says is there has no hash to compare with.
    """
    check = _misplaced if candidate.is_implied else mismatch
    return check(candidate.chunk, section)


def _misplaced(chunk: Chunk, section: Section | None) -> Note | None:
    if section is None:
        return Note.PARENT_MISSING
    there, own = section.provenance, chunk.provenance
    same_text = there is own or (
        there.content_sha256 == own.content_sha256
        and there.source_id == own.source_id
        and there.version == own.version
        and there.fields == own.fields
    )
    whole = len(section.text) == section.span.length
    if same_text and whole and section.span.contains(chunk.span):
        return None
    return Note.PARENT_MISMATCH


def _evidence(
    candidate: Candidate,
    parent: Parent,
    problem: Note | None,
    expansion: Expansion,
    wanted: Wanted,
) -> Evidence:
    own = candidate.chunk.span
    chunk_span = parent.completed(own)
    ladder = _ladder(parent, chunk_span, expansion)
    forced = None if chunk_span == own else own
    notes = () if problem is None else (problem,)
    return Evidence(candidate, parent, chunk_span, ladder, forced, notes, wanted)


def _ladder(parent: Parent, chunk_span: Span, expansion: Expansion) -> tuple[Span, ...]:
    if expansion.mode in (ExpansionMode.AUTO, ExpansionMode.CHUNK):
        return (chunk_span,)
    if expansion.mode is ExpansionMode.WINDOW:
        wider = [parent.completed(parent.window(chunk_span, expansion.window_chunks))]
    else:
        wider = [parent.section.span, parent.completed(parent.window(chunk_span, 1))]
    return tuple(dict.fromkeys((*wider, chunk_span)))
