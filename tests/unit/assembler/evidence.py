"""
Sections, evidence and rules of small texts, for tests of single steps of the core.
"""

from __future__ import annotations

import itertools

from assembler.budget import Measure
from assembler.expand import Evidence, expand
from assembler.model import Border, Chunk, Provenance, VersionKey
from assembler.pack import Packed, Pinned, Work, pack
from assembler.parent import Parent
from assembler.rank import Candidate, Support, version_key
from assembler.request import Expansion, Fill, Layout, Target
from assembler.rules import Rules, share_of
from assembler.span import Span
from tests.counters import CharCounter
from tests.sections import plain_section
from tests.strategies import sha256

LAYOUT = Layout()
NO_SUPPORT = Support({}, {}, 0.25)


def parent_of(text: str, *cuts: int, source: str = "a", borders: tuple[Border, ...] = ()) -> Parent:
    """
    Return a section that is a whole text, with chunks between the cuts.
    """
    edges = (0, *cuts, len(text))
    origin = Provenance("", source, "1", sha256(text), None, 1)
    spans = tuple(Span(a, b) for a, b in itertools.pairwise(edges))
    section = plain_section(text, spans, origin, key=f"{source}-section", borders=borders)
    return Parent(section, VersionKey("docs", "", source, "1", sha256(text)), 0)


def evidence_of(parent: Parent, number: int, rank: int, score: float = 1.0) -> Evidence:
    """
    Return a chunk of the section as evidence.
    """
    span = parent.section.chunk_spans[number]
    text = parent.section.slice(span)
    origin = parent.section.provenance
    chunk = Chunk(
        f"{origin.source_id}-{number}", origin, parent.section.key, span, number, sha256(text)
    )
    candidate = Candidate(rank, 0, "docs", version_key("docs", chunk), chunk, score, (), (0,), None)
    found, lost = expand(
        [candidate], {("docs", parent.section.key): parent.section}, {}, Expansion(), []
    )
    assert not lost
    return found[0]._replace(parent=parent)


def rules(limit: int = 1000) -> Rules:
    return Rules(
        limit,
        share_of(limit, 1.0),
        (Target("docs"),),
        Fill.FULL,
        0.0,
    )


def packed(*evidence: Evidence, limit: int = 1000, pins: tuple[Pinned, ...] = ()) -> Packed:
    work = Work(evidence, pins, rules(limit), LAYOUT, support=NO_SUPPORT)
    return pack(work, Measure(CharCounter(), limit, 0, None))
