"""
What becomes of candidates, where a case is rare: small texts, worked out by hand.
"""

from __future__ import annotations

from dataclasses import replace

from assembler.cite import account, homes_of
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
