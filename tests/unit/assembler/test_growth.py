"""
Where passages grow and where they stop: small texts, worked out by hand.
"""

from __future__ import annotations

from dataclasses import replace

from assembler.choose import choose
from assembler.estimate import PartCounts
from assembler.fill import Filling
from assembler.grow import growth
from assembler.merge import merge
from assembler.span import Span
from tests.counters import CharCounter
from tests.unit.assembler.evidence import LAYOUT, NO_SUPPORT, evidence_of, packed, parent_of, rules


def test_growth_takes_no_text_that_is_shown_already() -> None:
    one = parent_of("Alpha. Same text here. ", 7)
    other = parent_of("Beta. Same text here. ", 6, source="b")

    result = packed(evidence_of(one, 0, 0), evidence_of(one, 1, 1), evidence_of(other, 0, 2))

    assert result.rendered.text.count("Same text here.") == 1
    assert "Beta." in result.rendered.text


def test_growth_takes_a_neighbour_of_white_space_without_showing_it() -> None:
    parent = parent_of("Alpha.   \n \n", 6)

    assert packed(evidence_of(parent, 0, 0)).rendered.text == "[1]\nAlpha."


def test_growth_stops_at_what_is_barred_or_shown_elsewhere() -> None:
    one = parent_of("Alpha. Beta. Gamma. ", 7, 13)
    twin = parent_of("Zeta. Beta. ", 6, source="b")
    barred = replace(rules(), forbidden=lambda _: (Span(14, 16),))
    filling = Filling(PartCounts(CharCounter().count, LAYOUT), barred, 1000)
    evidence = [evidence_of(one, 1, 0), evidence_of(twin, 0, 1)]

    choose(filling, evidence, growth(evidence, {}, NO_SUPPORT))

    assert merge(filling.chosen)[0].spans == (Span(0, 12),)
    assert merge(filling.chosen)[1].spans == (Span(0, 5),)
