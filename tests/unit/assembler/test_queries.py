"""
What is searched with: modes, given vectors, and models that are not there.
"""

from __future__ import annotations

import pytest

from assembler.errors import IndexUnusable, InvalidRequest, QueryTooLong
from assembler.report import Signal
from assembler.request import Query, QueryVector, Retrieval, RetrievalMode
from tests.fakes import hash_vector
from tests.small_index import SmallIndex


async def test_every_mode_finds_with_its_own_signals(small: SmallIndex) -> None:
    for mode, signal in ((RetrievalMode.DENSE, Signal.DENSE), (RetrievalMode.SPARSE, Signal.BM25)):
        context = await small.ask(retrieval=Retrieval(mode=mode))
        signals = {score.signal for one in context.candidates for score in one.scores}
        assert signal in signals
        assert signals.isdisjoint({Signal.DENSE, Signal.BM25} - {signal})


async def test_a_given_vector_must_be_of_the_index(small: SmallIndex) -> None:
    good = QueryVector(hash_vector("trains", 8), "fake")

    found = await small.ask(queries=(Query("trains", vector=good), Query("fines")))
    assert found.candidates
    with pytest.raises(InvalidRequest, match="model"):
        await small.ask(queries=(Query("a", vector=QueryVector((0.1,) * 8, "other")),))
    with pytest.raises(InvalidRequest, match="dimensions"):
        await small.ask(queries=(Query("a", vector=QueryVector((0.1,), "fake")),))


async def test_an_index_of_another_model_is_unusable_without_vectors(small: SmallIndex) -> None:
    small.assembler._look._embedders = {}

    with pytest.raises(IndexUnusable, match="send query vectors"):
        await small.ask()
    assert (await small.ask(retrieval=Retrieval(mode=RetrievalMode.SPARSE))).candidates


async def test_vectors_alone_need_no_embedder(small: SmallIndex) -> None:
    small.assembler._look._embedders = {}
    vector = QueryVector(hash_vector("trains", 8), "fake")

    context = await small.ask(
        queries=(Query("", vector=vector),), retrieval=Retrieval(mode=RetrievalMode.DENSE)
    )

    assert context.candidates


async def test_a_query_that_is_too_long_is_named_by_its_place_in_the_request(
    small: SmallIndex,
) -> None:
    async def refusing(texts):
        raise QueryTooLong(len(texts) - 1, tokens=900, most=256)

    small.embedder.embed = refusing  # type: ignore[method-assign]
    vector = QueryVector(hash_vector("trains", 8), "fake")

    with pytest.raises(QueryTooLong, match=r"queries\[1\].text: has 900 tokens"):
        await small.ask(queries=(Query("a", vector=vector), Query("b")))
