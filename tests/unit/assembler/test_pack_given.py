"""
The caller's own passages.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from assembler.errors import InvalidRequest
from assembler.report import Disposition
from assembler.request import Budget, ContextTokens, Fill, GivenPassage, PackRequest
from assembler.span import Span
from tests.small_index import SmallIndex

TEXT = "Refunds are possible. Members are never refunded. Ask support."


@pytest.fixture
def small(tmp_path: Path) -> SmallIndex:
    return SmallIndex(tmp_path)


def given(start: int, end: int, **more: object) -> GivenPassage:
    return GivenPassage(TEXT[start:end], "refunds.md", "1", Span(start, end), **more)


def asked(*passages: GivenPassage, limit: int = 200, **more: object) -> PackRequest:
    return PackRequest(passages, Budget("chars", ContextTokens(limit)), fill=Fill.FULL, **more)


async def test_touching_passages_of_one_version_become_one(small: SmallIndex) -> None:
    context = await small.assembler.pack_passages(asked(given(22, 62), given(0, 30)))

    assert context.context.count("Members are never refunded.") == 1
    assert len(context.passages) == 1
    assert {one.disposition for one in context.candidates} == {
        Disposition.PACKED,
        Disposition.MERGED,
    }


async def test_a_gap_between_passages_is_marked(small: SmallIndex) -> None:
    context = await small.assembler.pack_passages(asked(given(0, 21), given(50, 62)))

    assert "Members" not in context.context
    assert len(context.passages) == 2


async def test_passages_without_a_range_are_never_merged(small: SmallIndex) -> None:
    one = GivenPassage("Refunds are possible.", "a.md", score=0.5)
    other = GivenPassage("Members are never refunded.", "a.md", score=0.9, title="T", uri="u")
    same = GivenPassage("Refunds are possible.", "b.md")

    context = await small.assembler.pack_passages(asked(one, other, same))

    assert [p.text for p in context.passages] == [other.text, one.text]
    assert [s.version.source_id for s in context.passages[1].sources] == ["a.md", "b.md"]
    assert context.passages[0].scores[0].value == 0.9


async def test_disagreeing_passages_are_refused_by_name(small: SmallIndex) -> None:
    wrong = GivenPassage("REFUNDS", "refunds.md", "1", Span(0, 7))

    with pytest.raises(InvalidRequest, match=r"passages\[1\].text: disagrees with passages\[0\]"):
        await small.assembler.pack_passages(asked(given(0, 21), wrong))
    with pytest.raises(InvalidRequest, match=r"passages\[0\].range"):
        await small.assembler.pack_passages(
            asked(GivenPassage("Refunds", "refunds.md", "1", Span(0, 9)))
        )


async def test_no_passages_give_an_empty_context(small: SmallIndex) -> None:
    context = await small.assembler.pack_passages(asked())

    assert (context.context, context.candidates) == ("", ())


async def test_what_does_not_fit_is_over_budget(small: SmallIndex) -> None:
    context = await small.assembler.pack_passages(
        asked(given(0, 62), GivenPassage("Short.", "b.md"), limit=8)
    )

    assert "Short." in context.context
    assert context.candidates[0].disposition is Disposition.OVER_BUDGET


@pytest.mark.parametrize(
    "scores", [(-1.0, -5.0), (-0.1, -0.2), (0.0, 0.0), (3.0, None), (-2.0, None), (None, None)]
)
async def test_scores_of_any_sign_pack_under_auto(
    small: SmallIndex, scores: tuple[float | None, float | None]
) -> None:
    passages = tuple(
        GivenPassage(f"Fact {n} stands here.", f"s{n}", score=score)
        for n, score in enumerate(scores)
    )
    request = PackRequest(passages, Budget("chars", ContextTokens(200)))

    context = await small.assembler.pack_passages(request)

    assert [passage.text for passage in context.passages] == [p.text for p in passages]


async def test_a_long_passage_is_not_priced_out(small: SmallIndex) -> None:
    request = PackRequest(
        (GivenPassage("word " * 900, "a", score=1.0),), Budget("chars", ContextTokens(5000))
    )

    assert (await small.assembler.pack_passages(request)).passages
