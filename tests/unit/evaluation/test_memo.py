"""
A remembered port answers as the port does, and asks it once.
"""

from __future__ import annotations

from dataclasses import dataclass

from evaluation.memo import MOST_ANSWERS, Memo


@dataclass(frozen=True)
class Asked:
    words: list[str]


class Port:
    name = "port"

    async def doubled(self, values: list[int], *, times: int = 2) -> list[int]:
        return [times * value for value in values]

    async def length(self, asked: Asked) -> int:
        return len(asked.words)


async def test_equal_arguments_are_asked_once() -> None:
    memo = Memo(Port())

    answers = [await memo.doubled([1, 2]) for _ in range(3)]
    other = await memo.doubled([1, 2], times=3)

    assert answers == [[2, 4]] * 3
    assert other == [3, 6]
    assert memo.asked == 2
    assert memo.name == "port"


async def test_records_that_cannot_be_hashed_are_told_apart() -> None:
    memo = Memo(Port())

    assert await memo.length(Asked(["a"])) == await memo.length(Asked(["a"])) == 1
    assert await memo.length(Asked(["a", "b"])) == 2
    assert memo.asked == 2


async def test_the_oldest_answers_go() -> None:
    memo = Memo(Port())
    for value in range(MOST_ANSWERS + 1):
        await memo.doubled([value])

    assert await memo.doubled([0]) == [0]
    assert memo.asked == MOST_ANSWERS + 2
