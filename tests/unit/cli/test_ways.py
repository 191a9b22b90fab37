"""
Ways to cut as the command line names them.
"""

from __future__ import annotations

import pytest

from assembler.errors import InvalidRequest
from cli.strategies import settings_of
from cli.ways import numbers_of, ways_of


def test_every_strategy_meets_every_size_and_overlap_that_it_knows() -> None:
    ways = ways_of(("structure", "sliding", "adaptive:least=9"), (56, 112), (0, 8))
    assert [way.name for way in ways] == [
        "structure chunk_tokens=64 chunk_aim_tokens=56",
        "structure",
        "sliding size=56 overlap=0",
        "sliding size=56 overlap=8",
        "sliding overlap=0",
        "sliding overlap=8",
        "adaptive size=56 least=9",
        "adaptive least=9",
    ]


def test_settings_of_a_way_stand_behind_its_name() -> None:
    (way,) = ways_of(("sliding:size=40,overlap=4",))
    assert (way.chunker.settings["size"], way.chunker.settings["overlap"]) == (40, 4)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("best",), "'best' is not one of"),
        (("fixed:size",), "'size' is not key=value"),
        (("fixed:size=1,size=2",), "size is given twice"),
    ],
)
def test_ways_that_do_not_go_are_refused(words: tuple[str, ...], problem: str) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        ways_of(words)


def test_numbers_stand_with_commas_between() -> None:
    assert numbers_of("sizes", "64,128,64", 1) == (64, 128)
    assert numbers_of("sizes", "", 1) == ()
    assert settings_of(None) == {}
    with pytest.raises(InvalidRequest, match="sizes: must be whole numbers"):
        numbers_of("sizes", "64;128", 1)
    with pytest.raises(InvalidRequest, match="sizes: must be at least 1"):
        numbers_of("sizes", "0", 1)
