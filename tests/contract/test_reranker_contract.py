"""
What every reranker promises, held against the fake, a tiny model of the test's own and an endpoint
in either dialect.
"""

from __future__ import annotations

import asyncio
import math

import pytest

from adapters.cross_encoder import CrossEncoderReranker
from adapters.remote_reranker import Dialect
from assembler.ports import Reranker
from tests.contract.rerank_endpoint import TEXTS, Endpoint, remote
from tests.fakes import FakeReranker
from tests.tiny_model import WORDS


@pytest.fixture(params=["fake", "cross_encoder", "tei", "cohere"])
def reranker(request: pytest.FixtureRequest) -> Reranker:
    if request.param == "fake":
        return FakeReranker()
    if request.param == "cross_encoder":
        made: CrossEncoderReranker = request.getfixturevalue("cross_encoder")
        return made
    return remote(Endpoint(), dialect=Dialect(request.param), model="m")


class TestEveryReranker:
    async def test_every_text_gets_one_finite_score(self, reranker: Reranker) -> None:
        scores = await reranker.rerank("is a refund paid", TEXTS)

        assert len(scores) == len(TEXTS)
        assert all(map(math.isfinite, scores))
        assert len(set(scores)) > 2

    async def test_a_score_follows_its_text_whatever_the_order(self, reranker: Reranker) -> None:
        forward = await reranker.rerank("is a refund paid", TEXTS)
        backward = await reranker.rerank("is a refund paid", TEXTS[::-1])

        assert list(backward)[::-1] == list(forward)

    async def test_a_score_does_not_depend_on_what_else_is_read(self, reranker: Reranker) -> None:
        among = await reranker.rerank("is a refund paid", TEXTS)

        alone = [(await reranker.rerank("is a refund paid", [text]))[0] for text in TEXTS]

        assert alone == pytest.approx(list(among), abs=1e-5)

    async def test_no_texts_get_no_scores(self, reranker: Reranker) -> None:
        assert list(await reranker.rerank("a", [])) == []

    async def test_any_characters_are_read(self, reranker: Reranker) -> None:
        scores = await reranker.rerank(
            "\ud800", ["\ud800", "[SEP] [PAD]", "\x00", "e\u0301 " * 400]
        )

        assert all(map(math.isfinite, scores))

    async def test_calls_may_overlap(self, reranker: Reranker) -> None:
        expected = [list(await reranker.rerank(word, TEXTS)) for word in WORDS]

        made = await asyncio.gather(*(reranker.rerank(word, TEXTS) for word in WORDS))

        assert [list(row) for row in made] == expected

    def test_it_has_an_identity(self, reranker: Reranker) -> None:
        assert reranker.identity
