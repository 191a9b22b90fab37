"""
Remembered query vectors: each text is embedded once, whoever asks, and no one's error is another's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from adapters.remembered_queries import RememberedQueries
from assembler.errors import EmbedderUnavailable, QueryTooLong
from assembler.ports import ModelIdentity, Vector


class Slow:
    """
    Embeds a text as its length, when it is let; texts of more than nine code points are too long.
    """

    identity = ModelIdentity("lengths", "0" * 64, 1)

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.let = asyncio.Event()
        self.is_broken = False

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.asked.append(list(texts))
        await self.let.wait()
        if self.is_broken:
            raise EmbedderUnavailable("the model is away")
        for number, text in enumerate(texts):
            if len(text) > 9:
                raise QueryTooLong(number, tokens=len(text), most=9)
        return [(float(len(text)),) for text in texts]


async def started(*coroutines):
    tasks = [asyncio.create_task(one) for one in coroutines]
    for _ in range(5):
        await asyncio.sleep(0)
    return tasks


async def test_a_query_is_embedded_once_and_in_its_place() -> None:
    model = Slow()
    model.let.set()
    remembered = RememberedQueries(model)

    assert await remembered.embed(["ab", "abc", "ab"]) == [(2.0,), (3.0,), (2.0,)]
    assert await remembered.embed(["abcd", "abc"]) == [(4.0,), (3.0,)]
    assert model.asked == [["ab", "abc"], ["abcd"]]
    assert (remembered.hits, remembered.misses) == (2, 3)


async def test_equal_queries_at_once_are_embedded_once() -> None:
    model = Slow()
    remembered = RememberedQueries(model)

    tasks = await started(*(remembered.embed(["same"]) for _ in range(4)))
    model.let.set()

    assert await asyncio.gather(*tasks) == [[(4.0,)]] * 4
    assert model.asked == [["same"]]


async def test_a_caller_that_goes_away_takes_nothing_from_the_others() -> None:
    model = Slow()
    remembered = RememberedQueries(model)

    first, second = await started(remembered.embed(["same"]), remembered.embed(["same"]))
    first.cancel()
    model.let.set()

    assert await second == [(4.0,)]
    assert model.asked == [["same"]]


async def test_a_query_that_is_too_long_is_named_by_its_place() -> None:
    model = Slow()
    model.let.set()
    remembered = RememberedQueries(model)
    await remembered.embed(["known"])

    with pytest.raises(QueryTooLong) as caught:
        await remembered.embed(["known", "new", "much too long"])

    assert caught.value.position == 2


async def test_the_too_long_query_of_another_caller_spoils_none() -> None:
    model = Slow()
    remembered = RememberedQueries(model)

    wrong, right = await started(
        remembered.embed(["much too long", "fine"]), remembered.embed(["fine"])
    )
    model.let.set()

    with pytest.raises(QueryTooLong):
        await wrong
    assert await right == [(4.0,)]


async def test_an_error_is_not_remembered() -> None:
    model = Slow()
    model.let.set()
    model.is_broken = True
    remembered = RememberedQueries(model)
    with pytest.raises(EmbedderUnavailable):
        await remembered.embed(["again"])
    model.is_broken = False

    assert await remembered.embed(["again"]) == [(5.0,)]


async def test_only_so_many_vectors_are_kept() -> None:
    model = Slow()
    model.let.set()
    remembered = RememberedQueries(model, kept=1)

    for text in ("a", "bb", "bb", "a"):
        await remembered.embed([text])

    assert model.asked == [["a"], ["bb"], ["a"]]
