"""
The promise, line by line: every candidate is accounted for, equal input gives equal bytes, and no
source can pass for the frame around it.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assembler.order import order
from assembler.report import Disposition, Note
from assembler.request import Expansion, ExpansionMode, Fill, Format, Headings, Layout, Order
from tests.property.cases import Case, assembled, cases, thorough
from tests.strategies import candidates, corpora, expansions, fills, layouts


@thorough
@given(cases())
def test_a_missing_parent_never_loses_the_child(case: Case) -> None:
    dispositions = {one.chunk_key: one for one in case.context.candidates}

    assert not any(one.disposition is Disposition.INVALID for one in dispositions.values())
    for passage in case.context.passages:
        for key in passage.chunk_keys:
            if Note.PARENT_MISSING in dispositions[key].notes:
                assert Note.PARENT_MISSING in passage.notes


@thorough
@given(cases())
def test_every_candidate_has_exactly_one_disposition(case: Case) -> None:
    context = case.context
    packed = [one for one in context.candidates if one.disposition is Disposition.PACKED]

    assert len({one.chunk_key for one in context.candidates}) == len(context.candidates)
    assert len(packed) == len(context.passages)


@thorough
@given(st.data())
def test_equal_input_gives_equal_bytes(data: st.DataObject) -> None:
    corpus = data.draw(corpora())
    ranked = data.draw(candidates(corpus))
    choices = {
        "limit": data.draw(st.integers(1, 250)),
        "layout": data.draw(layouts),
        "expansion": data.draw(expansions),
        "fill": data.draw(fills),
    }

    first = assembled(corpus, ranked, **choices)
    second = assembled(tuple(reversed(corpus)), ranked, **choices)

    assert first.context.context == second.context.context
    assert first.context.context_sha256 == second.context.context_sha256


@thorough
@given(cases(layout=Layout(Order.RELEVANCE, Format.XML, Headings.PATH)))
def test_source_text_cannot_close_its_own_xml_block(case: Case) -> None:
    context = case.context.context
    if not case.context.passages:
        return
    tag = context[1:].split(" ", 1)[0]

    assert context.count(f"</{tag}>") == len(case.context.passages)
    assert context.count(f"<{tag} id=") == len(case.context.passages)


@thorough
@given(cases(layout=Layout(Order.RELEVANCE, Format.MARKDOWN, Headings.PATH)))
def test_source_text_cannot_look_like_a_marker(case: Case) -> None:
    lines = case.context.context.split("\n")
    markers = [passage.marker for passage in case.context.passages]

    for marker in markers:
        assert sum(line.lstrip().startswith(marker) for line in lines) == 1


@pytest.mark.parametrize("how", Order)
@thorough
@given(
    cases(limit=2000, expansion=Expansion(ExpansionMode.CHUNK, 1), fill=Fill.FULL),
    st.integers(0, 2**32),
)
def test_each_order_is_a_permutation(how: Order, case: Case, seed: int) -> None:
    random = Random(seed)
    passages = [
        replace(passage, lead=None) if random.random() < 0.3 else passage  # pinned: ranks tie
        for passage in case.packed.passages
    ]

    ordered = order(passages, how)

    assert sorted(map(id, ordered)) == sorted(map(id, passages))
    assert order(random.sample(passages, len(passages)), how) == ordered
