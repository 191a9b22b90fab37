"""
The promise, line by line: the limit is kept, and it is used.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assembler.report import Disposition
from assembler.request import Expansion, ExpansionMode, Fill, Layout
from tests.counters import CharCounter, JoinCounter
from tests.property.cases import Case, assembled, cases, thorough
from tests.strategies import candidates, corpora, fills, layouts


@thorough
@given(cases())
def test_the_final_string_never_counts_more_than_the_limit(case: Case) -> None:
    context = case.context

    recount = CharCounter().count(context.context)

    assert recount == context.budget.context <= case.limit
    assert context.budget.unused == case.limit - recount
    assert context.budget.text + context.budget.headings + context.budget.markers == recount


@thorough
@given(cases(counter=JoinCounter()))
def test_a_tokenizer_that_counts_joined_text_higher_changes_nothing(case: Case) -> None:
    recount = JoinCounter().count(case.context.context)

    assert recount == case.context.budget.context <= case.limit


@thorough
@given(st.data())
def test_growth_takes_nothing_from_chosen_evidence(data: st.DataObject) -> None:
    corpus = data.draw(corpora())
    ranked = data.draw(candidates(corpus))
    limit = data.draw(st.integers(1, 250))
    layout = data.draw(layouts)
    fill = data.draw(fills)
    shared = {"limit": limit, "layout": layout, "fill": fill}

    plain = assembled(corpus, ranked, expansion=Expansion(ExpansionMode.CHUNK), **shared)
    grown = assembled(corpus, ranked, expansion=Expansion(ExpansionMode.AUTO), **shared)

    def chosen(case: Case) -> set[tuple[str, str]]:
        return {
            item.candidate.identity
            for home in case.packed.filling.chosen.values()
            for item in home.evidence
        }

    if plain.packed.filling.room == grown.packed.filling.room:
        assert chosen(plain) <= chosen(grown)


@thorough
@given(cases(fill=Fill.FULL))
def test_full_leaves_less_unused_than_the_cheapest_skipped_step_and_sixteen(case: Case) -> None:
    skipped = case.packed.filling.cheapest_skipped

    if skipped is not None and case.context.passages:
        assert case.context.budget.unused < skipped + 16


def test_an_empty_context_is_the_answer_to_a_budget_too_small_for_anything() -> None:
    from hypothesis import find  # noqa: PLC0415 - used once, to get any corpus

    corpus = find(corpora(), lambda found: bool(found[0].chunks))
    ranked = find(candidates(corpus), bool)

    case = assembled(
        corpus, ranked, limit=1, layout=Layout(), expansion=Expansion(), fill=Fill.FULL
    )

    assert case.context.context == ""
    assert {one.disposition for one in case.context.candidates} == {Disposition.OVER_BUDGET}
