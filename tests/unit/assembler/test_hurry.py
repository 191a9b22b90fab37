"""
Near the deadline optional work is left out, and the context says so.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assembler.assemble import GROWTH_SECONDS
from assembler.look import RERANK_SECONDS
from assembler.report import Degradation, Note
from assembler.request import Expansion, ExpansionMode, Fill, Retrieval, RetrievalMode
from tests.fakes import FakeReranker
from tests.small_index import SmallIndex

TEXT = (
    "# Rules\n\nRefunds of tickets take a week. Nobody waits longer than that.\n\n"
    + "\n\n".join(
        f"Rule {number} says that forms of kind {number} go to desk {number}."
        for number in range(9)
    )
)


@pytest.fixture
def small(tmp_path: Path) -> SmallIndex:
    folder = tmp_path / "docs"
    folder.mkdir()
    index = SmallIndex(folder)
    index.write(rules__md=TEXT)
    index.index()
    index.profiles["reranked"] = replace(index.profiles["default"], name="reranked", rerank=True)
    return index


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        (None, ()),
        (GROWTH_SECONDS + 0.001, ()),
        (GROWTH_SECONDS, (Degradation.GROWTH_SKIPPED,)),
        (0.001, (Degradation.GROWTH_SKIPPED,)),
    ],
)
async def test_passages_are_grown_while_there_is_time(
    small: SmallIndex, left: float | None, expected: tuple[Degradation, ...]
) -> None:
    # one chunk is found, and with a least similarity those beside it are no candidates
    narrow = Retrieval(mode=RetrievalMode.SPARSE, chunk_limit=1, min_similarity=0.1)
    context = await small.ask(time_left=lambda: left, fill=Fill.FULL, retrieval=narrow, limit=700)

    grown = [Note.GROWN in passage.notes for passage in context.passages]
    assert context.degradations == expected
    assert grown
    assert any(grown) == (not expected)


async def test_what_would_not_grow_anyway_is_not_said_to_be_left_out(small: SmallIndex) -> None:
    context = await small.ask(
        time_left=lambda: 0.001, expansion=Expansion(ExpansionMode.CHUNK), limit=700
    )

    assert context.degradations == ()


@pytest.mark.parametrize(("left", "is_read"), [(RERANK_SECONDS + 0.001, True), (0.2, False)])
async def test_candidates_are_reranked_while_there_is_time(
    small: SmallIndex, left: float, *, is_read: bool
) -> None:
    reranker = FakeReranker()
    small.assembler._look._reranker = reranker

    context = await small.ask(time_left=lambda: left, retrieval=Retrieval(rerank=True))

    assert bool(reranker.calls) == is_read
    assert (Degradation.RERANK_SKIPPED in context.degradations) != is_read
