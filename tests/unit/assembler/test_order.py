"""
In which order passages stand.
"""

from __future__ import annotations

from assembler.order import order
from assembler.passage import Passage
from assembler.request import (
    Order,
)
from assembler.span import Span
from tests.unit.assembler.evidence import evidence_of, parent_of


def test_orders_place_ranks_as_they_say() -> None:
    parents = [parent_of(f"Text {n}.", source=f"s{9 - n}") for n in range(5)]
    passages = [
        Passage(p.version, 0, (p,), (Span(0, 7),), evidence_of(p, 0, rank), (), ())
        for rank, p in enumerate(parents)
    ]

    def ranks(how: Order) -> list[int]:
        return [passage.rank for passage in order(passages, how)]

    assert ranks(Order.RELEVANCE) == [0, 1, 2, 3, 4]
    assert ranks(Order.EDGES) == [0, 2, 4, 3, 1]
    assert ranks(Order.DOCUMENT) == [4, 3, 2, 1, 0]
