"""
What is chosen and what is not, where a case is rare: small texts, worked out by hand.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from assembler.choose import choose
from assembler.estimate import PartCounts
from assembler.fill import Filling
from assembler.grow import growth
from assembler.model import Border, BorderKind
from assembler.parent import Parent
from assembler.report import Disposition, Note
from assembler.request import (
    Fill,
    Target,
)
from assembler.rules import PRICED_TOKENS
from assembler.span import Span
from tests.counters import CharCounter
from tests.unit.assembler.evidence import LAYOUT, NO_SUPPORT, evidence_of, packed, parent_of, rules


def test_a_sentence_is_cut_where_it_alone_exceeds_the_limit() -> None:
    borders = (Border(40, BorderKind.FORCED), Border(80, BorderKind.FORCED))
    parent = parent_of("word " * 24, 40, 80, borders=borders)

    result = packed(evidence_of(parent, 1, 0), limit=20)

    assert result.rendered.text == "[1]\n" + ("word " * 8).strip()
    assert Note.CUT in result.passages[0].notes


@pytest.mark.parametrize("edge", [0, 120])
def test_a_section_that_ends_inside_a_sentence_says_so(edge: int) -> None:
    parent = parent_of("word " * 24, 40, 80, borders=(Border(edge, BorderKind.FORCED),))

    at_edge, far = (0, 2) if edge == 0 else (2, 0)

    assert packed(evidence_of(parent, at_edge, 0), limit=16).passages[0].notes == (Note.CUT,)
    assert packed(evidence_of(parent, far, 0), limit=16).passages[0].notes == ()
    grown = packed(evidence_of(parent, far, 0), limit=200).passages[0].notes
    assert set(grown) == {Note.GROWN, Note.CUT}


def test_two_texts_for_one_range_are_never_both_shown() -> None:
    one = parent_of("Alpha. Beta. Gamma.", 7, 13)
    rival = Parent(replace(one.section, key="rival", text="OTHER. TEXT. HERE!!"), one.version, 0)
    good, bad = evidence_of(one, 0, 0), evidence_of(one, 0, 1)
    chunk = bad.candidate.chunk._replace(key="rival")
    bad = bad._replace(
        parent=rival,
        candidate=bad.candidate._replace(chunk=chunk),
        chunk_span=Span(0, 9),
        ladder=(Span(0, 9),),
    )

    result = packed(good, bad)

    assert "OTHER" not in result.rendered.text
    assert result.filling.reasons["docs", "rival"] is Disposition.INVALID


def test_no_target_takes_more_than_its_part() -> None:
    parent = parent_of("Alpha beta gamma. Delta epsilon.", 18)
    filling = Filling(
        PartCounts(CharCounter().count, LAYOUT),
        replace(rules(), targets=(Target("docs", max_context_tokens=9),)),
        1000,
    )

    evidence = [evidence_of(parent, 0, 0), evidence_of(parent, 1, 1)]
    choose(filling, evidence, growth(evidence, {}, NO_SUPPORT))

    assert filling.tokens <= 9
    assert set(filling.reasons.values()) == {Disposition.OVER_BUDGET}


def test_barred_evidence_is_excluded() -> None:
    parent = parent_of("Alpha. Beta.", 7)
    barred = replace(rules(), forbidden=lambda _: (Span(0, 3),))
    filling = Filling(PartCounts(CharCounter().count, LAYOUT), barred, 1000)

    choose(filling, [evidence_of(parent, 0, 0)])

    assert set(filling.reasons.values()) == {Disposition.EXCLUDED}


def test_a_part_that_costs_more_than_it_is_worth_is_not_shown() -> None:
    good = parent_of("Best.", source="b")
    weak = parent_of("Short. " + "A long second sentence of many words goes on and on. " * 9)
    section = replace(weak.section, heading_path=("A heading of many words " * 5,))
    weak = Parent(replace(section, borders=(Border(7, BorderKind.SENTENCE),)), weak.version, 0)
    first, second = evidence_of(good, 0, 0, 1.0), evidence_of(weak, 0, 1, 0.5)
    second = second._replace(parent=weak, ladder=(second.chunk_span, Span(0, 7)))
    parts = PartCounts(CharCounter().count, LAYOUT)
    whole, part = (parts.cost(weak, span, None) for span in second.ladder)
    price = 0.5 * PRICED_TOKENS / whole
    priced = replace(rules(), fill=Fill.AUTO, price=price)
    room = parts.cost(good, first.chunk_span, None) + part
    filling = Filling(parts, priced, room)

    choose(filling, [first, second])

    assert filling.reasons["docs", "a-0"] is Disposition.UNDER_PRICE
    assert [home.parent.version.source_id for home in filling.chosen.values()] == ["b"]


@pytest.mark.parametrize("fill", list(Fill))
def test_a_part_of_the_best_is_shown_rather_than_nothing(fill: Fill) -> None:
    text = "Short. " + "A long second sentence of many words goes on and on. " * 9
    parent = parent_of(text, borders=(Border(7, BorderKind.SENTENCE),))
    best = evidence_of(parent, 0, 0, 1.0)
    best = best._replace(parent=parent, ladder=(best.chunk_span, Span(0, 7)))
    parts = PartCounts(CharCounter().count, LAYOUT)
    whole, part = (parts.cost(parent, span, None) for span in best.ladder)
    filling = Filling(parts, replace(rules(), fill=fill, price=PRICED_TOKENS / whole), part)

    choose(filling, [best])

    assert [home.joined for home in filling.chosen.values()] == [(Span(0, 7),)]
    assert not filling.reasons
