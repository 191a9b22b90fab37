"""
Reranking on the straight line: who asks for it, what it costs, and what happens when it fails.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assembler.errors import InvalidRequest, RerankerUnavailable
from assembler.report import AssembledContext, Degradation, Signal, Stage
from assembler.request import ChunkKey, Fill, Query, QueryVector, Retrieval, RetrievalMode
from tests.fakes import FakeReranker, hash_vector
from tests.small_index import EXPENSES, TRAVEL, SmallIndex

ON, OFF = Retrieval(rerank=True), Retrieval(rerank=False)
DOWN = RerankerUnavailable("no")


@pytest.fixture
def small(tmp_path: Path) -> SmallIndex:
    folder = tmp_path / "docs"
    folder.mkdir()
    index = SmallIndex(folder)
    index.write(travel__md=TRAVEL, expenses__md=EXPENSES)
    index.index()
    index.profiles["reranked"] = replace(index.profiles["default"], name="reranked", rerank=True)
    return index


def give(small: SmallIndex, reranker: FakeReranker | None) -> None:
    small.assembler._look._reranker = reranker


def likes(*words: str) -> FakeReranker:
    return FakeReranker(lambda _, text: float(sum(word in text for word in words)))


def first_chunk(context: AssembledContext) -> str:
    return context.passages[0].text


def ran(context: AssembledContext) -> set[Stage]:
    return {time.stage for time in context.stages}


async def test_reranking_changes_what_is_chosen(small: SmallIndex) -> None:
    give(small, likes("Oslo", "Bergen"))

    without = await small.ask("Refunds tickets")
    context = await small.ask("Refunds tickets", retrieval=ON)

    assert "Oslo" not in first_chunk(without)
    assert "Oslo" in first_chunk(context)
    signals = {one.signal: one.value for one in context.passages[0].scores}
    assert signals[Signal.RERANK] == 2.0
    assert Stage.RERANK in ran(context)
    assert context.degradations == ()
    assert len(context.candidates) == len(without.candidates)


async def test_it_costs_nothing_when_nobody_asks(small: SmallIndex) -> None:
    reranker = FakeReranker()
    plain = await small.ask()
    give(small, reranker)

    silent = await small.ask()
    refused = await small.ask(profile="reranked", retrieval=OFF)

    assert reranker.calls == []
    assert Stage.RERANK not in ran(silent) | ran(refused)
    assert replace(silent, stages=()) == replace(plain, stages=())
    assert refused.context == plain.context


async def test_the_profile_may_ask(small: SmallIndex) -> None:
    reranker = likes("Oslo")
    give(small, reranker)

    context = await small.ask("Refunds tickets", profile="reranked")

    assert "Oslo" in first_chunk(context)
    assert len(reranker.calls) == 1


async def test_every_query_is_asked_with_the_same_texts_and_its_weight(small: SmallIndex) -> None:
    reranker = FakeReranker(lambda query, text: float(query in text))
    give(small, reranker)
    queries = (Query("Oslo", weight=1.0), Query("Receipts", weight=9.0))

    context = await small.ask(queries=queries, retrieval=ON)

    assert [query for query, _ in reranker.calls] == ["Oslo", "Receipts"]
    assert reranker.calls[0][1] == reranker.calls[1][1]
    assert "Receipts" in first_chunk(context)


async def test_only_the_first_candidates_are_read(small: SmallIndex) -> None:
    reranker = FakeReranker()
    give(small, reranker)
    small.profiles["default"] = replace(small.profiles["default"], rerank_limit=2)

    context = await small.ask(retrieval=ON, limit=900)

    assert [len(texts) for _, texts in reranker.calls] == [2]
    assert len(context.candidates) > 2
    read = [Signal.RERANK in {s.signal for s in one.scores} for one in context.candidates]
    assert read == [True, True] + [False] * (len(read) - 2)


async def test_what_is_read_stands_under_its_headings(small: SmallIndex) -> None:
    reranker = FakeReranker()
    give(small, reranker)

    await small.ask("Oslo", retrieval=ON)

    assert any(text.startswith("Travel > Flights\n") for text in reranker.calls[0][1])


async def test_excluded_text_is_not_read_and_stays_out(small: SmallIndex) -> None:
    reranker = likes("Oslo")
    give(small, reranker)
    shown = await small.ask("Oslo", retrieval=ON)

    keys = tuple(ChunkKey(key) for key in shown.passages[0].chunk_keys)
    context = await small.ask("Oslo", retrieval=ON, exclude=keys)

    assert not any("Oslo" in text for text in reranker.calls[-1][1])
    assert "Oslo" not in context.context


async def test_a_request_that_asks_without_a_reranker_is_refused_with_the_remedy(
    small: SmallIndex,
) -> None:
    with pytest.raises(InvalidRequest, match=r"retrieval\.rerank: .*setting `reranker`"):
        await small.ask(retrieval=ON)


async def test_a_request_that_asks_needs_text_in_every_query(small: SmallIndex) -> None:
    give(small, FakeReranker())
    vector = QueryVector(hash_vector("trains", 8), "fake")
    retrieval = Retrieval(mode=RetrievalMode.DENSE, rerank=True)

    with pytest.raises(InvalidRequest, match=r"queries\[1\]\.text"):
        await small.ask(queries=(Query("a"), Query(" ", vector=vector)), retrieval=retrieval)


async def test_a_reranker_that_fails_is_an_error_where_the_request_asks(small: SmallIndex) -> None:
    give(small, FakeReranker(error=DOWN))

    with pytest.raises(RerankerUnavailable):
        await small.ask(retrieval=ON)


@pytest.mark.parametrize("reranker", [FakeReranker(error=DOWN), None])
async def test_what_only_the_profile_asks_for_is_skipped_and_declared(
    small: SmallIndex, reranker: FakeReranker | None
) -> None:
    give(small, reranker)

    context = await small.ask(profile="reranked")

    assert context.degradations == (Degradation.RERANK_SKIPPED,)
    assert context.context == (await small.ask()).context


async def test_a_profile_that_asks_skips_queries_without_text(small: SmallIndex) -> None:
    reranker = FakeReranker()
    give(small, reranker)
    vector = QueryVector(hash_vector("trains", 8), "fake")
    dense = Retrieval(mode=RetrievalMode.DENSE)

    some = await small.ask(
        queries=(Query("", vector=vector), Query("Oslo")), retrieval=dense, profile="reranked"
    )
    none = await small.ask(queries=(Query("", vector=vector),), retrieval=dense, profile="reranked")

    assert [query for query, _ in reranker.calls] == ["Oslo"]
    assert some.degradations == ()
    assert none.degradations == (Degradation.RERANK_SKIPPED,)


async def test_nothing_found_is_nothing_read(small: SmallIndex) -> None:
    reranker = FakeReranker()
    give(small, reranker)

    context = await small.ask(
        "zzz", retrieval=Retrieval(mode=RetrievalMode.SPARSE, rerank=True), fill=Fill.FULL
    )

    assert (context.context, reranker.calls, context.degradations) == ("", [], ())


async def test_the_fingerprint_knows_whether_and_by_what_was_reranked(small: SmallIndex) -> None:
    prints = set()
    for reranker, name in (
        (FakeReranker(), "fake"),
        (FakeReranker(), "other"),
        (FakeReranker(error=DOWN), "fake"),
    ):
        reranker.identity = name
        give(small, reranker)
        prints.add((await small.ask(profile="reranked")).request_fingerprint)

    assert len(prints) == 3
