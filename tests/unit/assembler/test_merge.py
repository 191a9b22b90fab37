"""
What shares a passage: small texts, worked out by hand.
"""

from __future__ import annotations

from dataclasses import replace

from assembler.estimate import PartCounts
from assembler.fill import Filling
from assembler.merge import merge
from assembler.parent import Parent
from assembler.span import Span
from tests.counters import CharCounter
from tests.unit.assembler.evidence import LAYOUT, parent_of, rules


def test_sections_that_touch_share_a_passage_only_within_one_version() -> None:
    whole = "First part. Second part."
    left, right = parent_of(whole), parent_of(whole)
    first = Parent(
        replace(left.section, key="l", span=Span(0, 12), text=whole[:12]), left.version, 0
    )
    second = Parent(
        replace(right.section, key="r", span=Span(12, 24), text=whole[12:]), right.version, 0
    )
    filling = Filling(PartCounts(CharCounter().count, LAYOUT), rules(), 1000)
    filling.pin(first, Span(0, 12))
    filling.pin(second, Span(12, 24))

    passages = merge(filling.chosen)

    assert [passage.spans for passage in passages] == [(Span(0, 24),)]
    assert passages[0].slice(Span(6, 18)) == whole[6:18]
