"""
How much is taken: scores, shares, the price, bounds of targets and the prompt's window.
"""

from __future__ import annotations

import pytest

from assembler.errors import InvalidRequest, WindowLeavesNothing
from assembler.ports import ChatMessage
from assembler.report import Disposition, Signal
from assembler.request import Budget, Fill, PromptWindow, Retrieval, Target
from tests.counters import CharCounter
from tests.small_index import SmallIndex
from tests.unit.assembler.contexts import fates


async def test_dissimilar_candidates_are_below_score_and_bm25_alone_passes(
    small: SmallIndex,
) -> None:
    context = await small.ask(retrieval=Retrieval(min_similarity=0.999))

    assert Disposition.BELOW_SCORE in fates(context)
    dense = [one for one in context.candidates if one.disposition is Disposition.BELOW_SCORE]
    assert all(any(s.signal is Signal.DENSE for s in one.scores) for one in dense)


async def test_limits_of_sections_and_sources_are_named(small: SmallIndex) -> None:
    context = await small.ask(retrieval=Retrieval(section_limit=1), limit=900)
    assert Disposition.SECTION_LIMIT in fates(context)

    shared = await small.ask(retrieval=Retrieval(max_source_share=0.003), limit=900, fill=Fill.FULL)
    assert Disposition.SOURCE_SHARE in fates(shared)


async def test_auto_stops_at_the_price_and_full_does_not(small: SmallIndex) -> None:
    auto = await small.ask(limit=900, profile="priced")
    full = await small.ask(limit=900, profile="priced", fill=Fill.FULL)

    assert Disposition.UNDER_PRICE in fates(auto)
    assert auto.budget.context < full.budget.context


async def test_several_targets_share_one_budget_within_their_bounds(small: SmallIndex) -> None:
    small.index(index="other")
    targets = (
        Target("docs", max_context_tokens=30),
        Target("other", weight=0.01, min_context_tokens=20),
    )

    context = await small.ask(targets=targets, limit=120, fill=Fill.FULL)

    tokens = {0: 0, 1: 0}
    for passage in context.passages:
        tokens[passage.sources[0].target] += passage.tokens
    assert tokens[0] <= 35
    assert tokens[1] >= 15
    assert len(context.index_versions) == 2


async def test_messages_are_counted_with_the_context_inserted(small: SmallIndex) -> None:
    frame = (ChatMessage("system", "Use this:\n{{context}}"), ChatMessage("user", "Refunds?"))
    budget = Budget("chars", PromptWindow(120, 30, frame))

    context = await small.ask(budget=budget)

    filled = [ChatMessage("system", f"Use this:\n{context.context}"), frame[1]]
    total = CharCounter().count_messages(filled)
    assert total == context.budget.frame + context.budget.context <= 90


@pytest.mark.parametrize("content", ["none", "{{context}} {{context}}"])
async def test_the_placeholder_must_stand_exactly_once(small: SmallIndex, content: str) -> None:
    window = PromptWindow(100, 0, (ChatMessage("user", content),))

    with pytest.raises(InvalidRequest, match="placeholder"):
        await small.ask(budget=Budget("chars", window))


async def test_a_window_that_leaves_nothing_is_refused_with_the_arithmetic(
    small: SmallIndex,
) -> None:
    with pytest.raises(WindowLeavesNothing) as caught:
        await small.ask(budget=Budget("chars", PromptWindow(100, 60, None, 40)))

    assert caught.value.facts["window_tokens"] == "100"


async def test_a_safety_ratio_divides_the_limit_and_is_declared(small: SmallIndex) -> None:
    budget = Budget("chars", PromptWindow(100, 0), safety_ratio=2.0)

    context = await small.ask(budget=budget)

    assert context.budget.limit == 50
    assert context.budget.is_proxy


async def test_a_target_may_have_less_than_it_is_promised(small: SmallIndex) -> None:
    context = await small.ask(
        targets=(Target("docs", min_context_tokens=10_000),), limit=900, fill=Fill.FULL
    )

    assert context.budget.context < 900
