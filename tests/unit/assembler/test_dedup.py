"""
Equal text of several sources: small texts, worked out by hand.
"""

from __future__ import annotations

from assembler.dedup import drop_duplicates
from assembler.passage import Passage
from assembler.span import Span
from tests.unit.assembler.evidence import evidence_of, parent_of


def test_a_passage_keeps_the_spans_that_are_no_duplicates() -> None:
    one = parent_of("Same. Own.", 6)
    other = parent_of("Same. .... Else.", 6, 11, source="b")
    first = Passage(one.version, 0, (one,), (Span(0, 5),), evidence_of(one, 0, 0), (), ())
    second = Passage(
        other.version, 0, (other,), (Span(0, 5), Span(11, 16)), evidence_of(other, 0, 1), (), ()
    )

    kept, aliases = drop_duplicates([second, first])

    assert [passage.spans for passage in kept] == [(Span(0, 5),), (Span(11, 16),)]
    assert [(alias.kept, alias.span) for alias in aliases] == [(one.version, Span(0, 5))]


def test_a_repeat_inside_one_version_is_content() -> None:
    parent = parent_of("Same. .... Same.", 6, 11)
    passage = Passage(parent.version, 0, (parent,), (Span(0, 5), Span(11, 16)), None, (), ())

    kept, aliases = drop_duplicates([passage])

    assert kept == (passage,)
    assert aliases == ()


def test_a_passage_of_duplicates_alone_is_dropped() -> None:
    one, other = parent_of("Same."), parent_of("Same.", source="b")
    first = Passage(one.version, 0, (one,), (Span(0, 5),), evidence_of(one, 0, 0), (), ())
    second = Passage(other.version, 0, (other,), (Span(0, 5),), evidence_of(other, 0, 1), (), ())

    kept, aliases = drop_duplicates([second, first])

    assert kept == (first,)
    assert len(aliases) == 1
