"""
Widen candidates towards their parent sections: the ladder of spans that each could be shown as.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from assembler.model import Border, BorderKind, Chunk, Section, VersionKey
from assembler.rank import Candidate
from assembler.rebuild import Piece, rebuild
from assembler.report import Note
from assembler.request import Expansion, ExpansionMode
from assembler.span import Span

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Parent:
    """
    A section as the core cuts it, whole or rebuilt from a chunk whose section cannot be used.
    """

    section: Section
    version: VersionKey
    target: int

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """
        Return the offsets at which paragraphs and sentences begin, the section's own included.
        """
        whole = (border.offset for border in self.section.borders if _is_whole(border))
        return tuple(sorted({self.section.span.start, *whole}))

    @cached_property
    def forced(self) -> frozenset[int]:
        """
        Return the offsets at which a piece of an overlong sentence begins.
        """
        return frozenset(border.offset for border in self.section.borders if not _is_whole(border))

    def sentences(self, within: Span) -> tuple[Span, ...]:
        """
        Return the whole sentences that lie inside a span, in order.
        """
        ends = (*self.starts[1:], self.section.span.end)
        return tuple(
            Span(start, end)
            for start, end in zip(self.starts, ends, strict=True)
            if within.start <= start and end <= within.end
        )

    def completed(self, span: Span) -> Span:
        """
        Return the span widened to the whole of the overlong sentences it begins or ends in.
        """
        start, end = span.start, span.end
        if start in self.forced:
            start = max(offset for offset in self.starts if offset <= start)
        if end in self.forced:
            after = [offset for offset in self.starts if offset >= end]
            end = min(after, default=self.section.span.end)
        return Span(start, end)

    def is_cut(self, span: Span) -> bool:
        """
        Return whether the span begins or ends inside a sentence.
        """
        return span.start in self.forced or span.end in self.forced

    def window(self, span: Span, chunks: int) -> Span:
        """
        Return the span with so many chunks of the section on either side.
        """
        inside = [
            index for index, chunk in enumerate(self.section.chunk_spans) if chunk.overlaps(span)
        ]
        if not inside:
            return span
        low = max(inside[0] - chunks, 0)
        high = min(inside[-1] + chunks, len(self.section.chunk_spans) - 1)
        spans = self.section.chunk_spans
        return Span(min(spans[low].start, span.start), max(spans[high].end, span.end))


@dataclass(frozen=True, slots=True)
class Evidence:
    """
    A candidate in its parent, with the spans it can be shown as, widest first.

    Attributes:
        chunk_span: The candidate's own span, or the whole sentences around it.
        ladder: Spans of one section, each inside the one before.
        forced: The chunk's own span where it is only a part of one sentence: to be shown only when
            that sentence alone exceeds the whole limit.
    """

    candidate: Candidate
    parent: Parent
    chunk_span: Span
    ladder: tuple[Span, ...]
    forced: Span | None
    notes: tuple[Note, ...]


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
    texts = [
        sections[_home(one)].slice(one.chunk.span)
        for one in candidates
        if problems[one.identity] is None
    ]
    wanted = _weights(queries, texts)
    parents: dict[tuple[str, str], Parent] = {}
    orphans = _orphans([one for one in candidates if problems[one.identity] is not None], own_texts)
    evidence: list[Evidence] = []
    lost: list[Candidate] = []
    for candidate in candidates:
        problem = problems[candidate.identity]
        if problem is None:
            home = _home(candidate)
            if home not in parents:
                parents[home] = Parent(sections[home], candidate.version, candidate.target)
            evidence.append(_evidence(candidate, parents[home], (), expansion, wanted))
            continue
        parent = orphans.get(candidate.identity)
        if parent is None:
            lost.append(candidate)
        else:
            evidence.append(_evidence(candidate, parent, (problem,), expansion, wanted))
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
    if section.provenance.version != chunk.provenance.version:
        return Note.PARENT_MISMATCH
    if len(section.text) != section.span.length:
        return Note.PARENT_MISMATCH
    if _sha256(section.slice(chunk.span)) != chunk.text_sha256:
        return Note.PARENT_MISMATCH
    return None


def _home(candidate: Candidate) -> tuple[str, str]:
    return candidate.index, candidate.chunk.section_key


def _orphans(
    candidates: Sequence[Candidate], own_texts: Mapping[tuple[str, str], str]
) -> dict[tuple[str, str], Parent]:
    by_version: dict[VersionKey, list[Candidate]] = {}
    for candidate in candidates:
        text = own_texts.get(candidate.identity)
        if text is not None and _sha256(text) == candidate.chunk.text_sha256:
            by_version.setdefault(candidate.version, []).append(candidate)
    found: dict[tuple[str, str], Parent] = {}
    for version, members in by_version.items():
        pieces = [
            Piece(one.chunk.span, own_texts[one.identity])
            for one in members
            if len(own_texts[one.identity]) == one.chunk.span.length
        ]
        for run in rebuild(pieces).runs:
            inside = [one for one in members if run.span.contains(one.chunk.span)]
            inside = [
                one for one in inside if _sha256(run.slice(one.chunk.span)) == one.chunk.text_sha256
            ]
            first = min(inside, key=lambda one: one.chunk.span)
            cuts = tuple(sorted({one.chunk.span for one in inside}))
            parent = Parent(orphan(first.chunk, run.text, cuts), version, first.target)
            found.update({one.identity: parent for one in inside})
    return found


def orphan(chunk: Chunk, text: str, cuts: tuple[Span, ...] = ()) -> Section:
    """
    Return a section that holds nothing but a chunk's own text, or that of touching chunks.

    Args:
        chunk: The first of them.
        text: Their text together.
        cuts: Their spans, where there are several.
    """
    return Section(
        key=chunk.key,
        provenance=chunk.provenance,
        span=Span(chunk.span.start, chunk.span.start + len(text)),
        ordinal=0,
        text=text,
        text_sha256=_sha256(text),
        heading_path=(),
        title="",
        uri="",
        media_type="",
        language="",
        first_chunk_ordinal=chunk.ordinal,
        chunk_spans=cuts or (chunk.span,),
        borders=(),
    )


def _evidence(
    candidate: Candidate,
    parent: Parent,
    notes: tuple[Note, ...],
    expansion: Expansion,
    wanted: Mapping[str, float],
) -> Evidence:
    own = candidate.chunk.span
    chunk_span = parent.completed(own)
    ladder: list[Span] = []
    if expansion.mode is ExpansionMode.SECTION:
        ladder = [parent.section.span, parent.completed(parent.window(chunk_span, 1))]
    elif expansion.mode is ExpansionMode.WINDOW:
        ladder = [parent.completed(parent.window(chunk_span, expansion.window_chunks))]
    ladder.append(chunk_span)
    sentence = _best_sentence(parent, chunk_span, wanted)
    if sentence is not None:
        ladder.append(sentence)
    steps = tuple(
        span for index, span in enumerate(ladder) if index == 0 or span != ladder[index - 1]
    )
    return Evidence(
        candidate=candidate,
        parent=parent,
        chunk_span=chunk_span,
        ladder=steps,
        forced=own if parent.is_cut(own) else None,
        notes=notes,
    )


def _weights(queries: Sequence[str], texts: Sequence[str]) -> dict[str, float]:
    """
    Return the queries' words with what each says of a text: little where most candidates have it.

    The weight is the inverse document frequency (Spaerck Jones, 1972) over the candidates' texts.
    """
    folded = [text.casefold() for text in texts]
    words = {word for query in queries for word in _words(query)}
    return {
        word: math.log(1.0 + (len(folded) + 1) / (1 + sum(word in text for text in folded)))
        for word in words
    }


def _best_sentence(parent: Parent, within: Span, wanted: Mapping[str, float]) -> Span | None:
    sentences = parent.sentences(within)
    filled = [span for span in sentences if parent.section.slice(span).strip()]
    if not filled:
        return None

    def overlap(span: Span) -> tuple[float, int]:
        found = wanted.keys() & frozenset(_words(parent.section.slice(span)))
        return round(sum(wanted[word] for word in sorted(found)), 9), -span.start

    return max(filled, key=overlap)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _is_whole(border: Border) -> bool:
    return border.kind is not BorderKind.FORCED


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
