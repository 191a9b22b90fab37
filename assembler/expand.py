"""
Widen candidates towards their parent sections: the ladder of spans that each could be shown as.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assembler.model import Chunk, Section
from assembler.orphans import orphans, sha256_of
from assembler.parent import Parent
from assembler.rank import Candidate
from assembler.report import Note
from assembler.request import Expansion, ExpansionMode
from assembler.sentence import NOTHING_WANTED, Wanted
from assembler.span import Span


@dataclass(frozen=True, slots=True)
class Evidence:
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
    """
    problems = {one.identity: mismatch(one.chunk, sections.get(_home(one))) for one in candidates}
    parents: dict[tuple[str, str], Parent] = {}
    alone = orphans([one for one in candidates if problems[one.identity] is not None], own_texts)
    placed: list[tuple[Candidate, Parent]] = []
    lost: list[Candidate] = []
    for candidate in candidates:
        home = _home(candidate)
        if problems[candidate.identity] is None:
            if home not in parents:
                parents[home] = Parent(sections[home], candidate.version, candidate.target)
            placed.append((candidate, parents[home]))
        elif candidate.identity in alone:
            placed.append((candidate, alone[candidate.identity]))
        else:
            lost.append(candidate)
    wanted = Wanted(queries, [(parent, one.chunk.span) for one, parent in placed])
    evidence = [
        _evidence(one, parent, problems[one.identity], expansion, wanted) for one, parent in placed
    ]
    return tuple(evidence), tuple(lost)


def mismatch(chunk: Chunk, section: Section | None) -> Note | None:
    """
    Return why a section cannot be used for a chunk, or None where it can.
    """
    if section is None:
        return Note.PARENT_MISSING
    same_text = section.provenance.content_sha256 == chunk.provenance.content_sha256
    same_source = section.provenance.source_id == chunk.provenance.source_id
    if not (same_text and same_source and section.span.contains(chunk.span)):
        return Note.PARENT_MISMATCH
    its, own = section.provenance, chunk.provenance
    if (its.version, its.fields) != (own.version, own.fields):
        return Note.PARENT_MISMATCH
    if len(section.text) != section.span.length:
        return Note.PARENT_MISMATCH
    if sha256_of(section.slice(chunk.span)) != chunk.text_sha256:
        return Note.PARENT_MISMATCH
    return None


def _home(candidate: Candidate) -> tuple[str, str]:
    return candidate.index, candidate.chunk.section_key


def _evidence(
    candidate: Candidate,
    parent: Parent,
    problem: Note | None,
    expansion: Expansion,
    wanted: Wanted,
) -> Evidence:
    own = candidate.chunk.span
    chunk_span = parent.completed(own)
    ladder: list[Span] = []
    if expansion.mode is ExpansionMode.SECTION:
        ladder = [parent.section.span, parent.completed(parent.window(chunk_span, 1))]
    elif expansion.mode is ExpansionMode.WINDOW:
        ladder = [parent.completed(parent.window(chunk_span, expansion.window_chunks))]
    ladder.append(chunk_span)
    steps = tuple(
        span for index, span in enumerate(ladder) if index == 0 or span != ladder[index - 1]
    )
    return Evidence(
        candidate=candidate,
        parent=parent,
        chunk_span=chunk_span,
        ladder=steps,
        forced=own if parent.is_cut(own) else None,
        notes=() if problem is None else (problem,),
        wanted=wanted,
    )
