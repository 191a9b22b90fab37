"""
Equal text of several sources: small texts, worked out by hand.
"""

from __future__ import annotations

from assembler.dedup import drop_duplicates
from assembler.passage import Passage
from assembler.span import Span
from tests.unit.assembler.evidence import evidence_of, packed, parent_of


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


def test_what_a_larger_span_shows_as_a_chunk_is_dropped_whatever_its_rank() -> None:
    larger, other = parent_of("Own. Same.\n", 5), parent_of("Same.", source="b")
    first = Passage(other.version, 0, (other,), (Span(0, 5),), evidence_of(other, 0, 0), (), ())
    second = Passage(
        larger.version, 0, (larger,), (Span(0, 10),), evidence_of(larger, 1, 1), (), ()
    )

    kept, aliases = drop_duplicates([first, second])

    assert kept == (second,)
    assert [(one.kept, one.kept_span, one.span) for one in aliases] == [
        (larger.version, Span(5, 10), Span(0, 5))
    ]


def test_a_chunk_inside_a_span_that_is_chosen_is_not_chosen_again() -> None:
    larger, other = parent_of("Own. Same.\n", 5), parent_of("Same.", source="b")
    whole = evidence_of(larger, 1, 0)._replace(chunk_span=Span(0, 11), ladder=(Span(0, 11),))
    item = evidence_of(other, 0, 1)

    result = packed(whole, item)

    assert result.rendered.text.count("Same.") == 1
    assert [(one.parent.version, one.kept_span) for one in result.aliases] == [
        (other.version, Span(5, 10))
    ]


def test_a_wider_unit_that_would_repeat_another_source_is_stepped_down() -> None:
    one, other = parent_of("Own. Same.", 5), parent_of("Same. Else.", 6, source="b")
    whole = evidence_of(one, 1, 0)._replace(ladder=(Span(0, 10), Span(5, 10)))
    item = evidence_of(other, 1, 1)._replace(ladder=(Span(0, 11), Span(6, 11)))

    result = packed(whole, item)

    assert result.rendered.text.count("Same.") == 1
    assert [one.spans for one in result.passages] == [(Span(0, 10),), (Span(6, 11),)]


def test_an_alias_of_what_is_dropped_itself_leads_on_to_what_is_kept() -> None:
    larger = parent_of("Own. Same.\n", 5)
    other, third = parent_of("Same.", source="b"), parent_of("Same.", source="c")
    last = evidence_of(larger, 0, 2)._replace(chunk_span=Span(0, 11), ladder=(Span(0, 11),))

    result = packed(evidence_of(other, 0, 0), evidence_of(third, 0, 1), last)

    assert result.rendered.text.count("Same.") == 1
    assert {(one.parent.version, one.kept, one.kept_span) for one in result.aliases} == {
        (parent.version, larger.version, Span(5, 10)) for parent in (other, third)
    }
