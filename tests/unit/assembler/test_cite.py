"""
What becomes of candidates, where a case is rare: small texts, worked out by hand.
"""

from __future__ import annotations

from dataclasses import replace

from assembler.cite import account, cite, homes_of
from assembler.passage import Passage
from assembler.render import render
from assembler.report import Disposition
from assembler.span import Span
from tests.unit.assembler.evidence import LAYOUT, evidence_of, packed, parent_of


def test_a_candidate_of_white_space_is_invalid() -> None:
    parent = parent_of("Alpha.   \n \n", 6)
    item = evidence_of(parent, 1, 0)

    result = packed(item)

    homes = homes_of(result, [item.candidate], [item], {})
    fates = account(result, [item.candidate], [item], {}, homes)
    assert [one.disposition for one in fates] == [Disposition.INVALID]


def test_a_candidate_that_two_blocks_show_together_is_packed_in_the_first() -> None:
    parent = parent_of("alphabeta")
    item = evidence_of(parent, 0, 0)
    halves = [
        Passage(parent.version, 0, (parent,), (span,), None, (), ())
        for span in (Span(0, 5), Span(5, 9))
    ]
    result = replace(packed(item), rendered=render(halves, LAYOUT))

    homes = homes_of(result, [item.candidate], [item], {})
    fates = account(result, [item.candidate], [item], {}, homes)

    assert [one.disposition for one in fates] == [Disposition.PACKED]


def test_a_repeat_that_was_dropped_is_no_further_source_of_its_own_version() -> None:
    own = parent_of("Same.\n\nMore.\n\nSame.", 7, 14)
    other = parent_of("Same.", source="b")
    grown = evidence_of(own, 1, 2)._replace(chunk_span=Span(0, 12), ladder=(Span(0, 12),))
    items = [evidence_of(other, 0, 0), evidence_of(own, 2, 1), grown]

    result = packed(*items)

    assert [one.spans for one in result.passages] == [(Span(0, 12),)]
    assert {(one.parent.version, one.span, one.kept_span) for one in result.aliases} == {
        (other.version, Span(0, 5), Span(0, 5)),
        (own.version, Span(14, 19), Span(0, 5)),
    }
    candidates = [one.candidate for one in items]
    homes = homes_of(result, candidates, items, {})
    passage = cite(result, homes=homes, revisions={0: 1}, metadata_fields=(), count=len)[0]
    assert [(one.version, [span.source for span in one.spans]) for one in passage.sources] == [
        (own.version, [Span(0, 12)]),
        (other.version, [Span(0, 5)]),
    ]
    assert [one.disposition for one in account(result, candidates, items, {}, homes)] == [
        Disposition.DUPLICATE,
        Disposition.DUPLICATE,
        Disposition.PACKED,
    ]
