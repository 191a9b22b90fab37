"""
Text that a caller wants in the context whatever it scores, and text that must stay out.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from assembler.errors import InvalidRequest, MustIncludeTooLarge
from assembler.report import Disposition
from assembler.request import ChunkKey, Expansion, ExpansionMode, Retrieval, SourceRange
from assembler.scope import Scope
from assembler.span import Span
from tests.small_index import EXPENSES, TRAVEL, SmallIndex


async def test_pinned_text_goes_in_first_and_too_much_of_it_is_refused(small: SmallIndex) -> None:
    start = EXPENSES.index("Fines")
    span = Span(start, start + len("Fines are never paid."))
    fines = SourceRange(0, "expenses.md", None, span)

    context = await small.ask("Trains", must_include=(fines,), limit=40)

    assert "Fines are never paid." in context.context
    with pytest.raises(MustIncludeTooLarge) as caught:
        await small.ask(must_include=(SourceRange(0, "travel.md"),), limit=20)
    assert caught.value.facts["limit_tokens"] == "20"


async def test_a_chunk_can_be_pinned_by_its_key(small: SmallIndex) -> None:
    key = (await small.ask("Fines")).candidates[0].chunk_key

    context = await small.ask("Trains", must_include=(ChunkKey(key),), limit=900)

    assert key in {k for p in context.passages for k in p.chunk_keys} or context.passages
    with pytest.raises(InvalidRequest, match=r"must_include\[0\]"):
        await small.ask(must_include=(ChunkKey("nope"),))


@pytest.mark.parametrize(
    ("selector", "problem"),
    [
        (SourceRange(0, "nope.md"), "not visible"),
        (SourceRange(0, "travel.md", "9"), "in version '9'"),
        (SourceRange(0, "travel.md", None, Span(0, 10**6)), "code points"),
    ],
)
async def test_pins_of_what_is_not_there_are_refused(
    small: SmallIndex, selector: SourceRange, problem: str
) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        await small.ask(must_include=(selector,))


async def test_excluded_text_stays_out_whatever_the_unit(small: SmallIndex) -> None:
    start = TRAVEL.index("Business")
    barred = SourceRange(0, "travel.md", None, Span(start, start + 8))
    for mode in ExpansionMode:
        context = await small.ask(
            "Business class", exclude=(barred,), limit=900, expansion=Expansion(mode)
        )
        assert "Business class is never" not in context.context
    key = (await small.ask("Fines are never paid")).candidates[0].chunk_key
    without = await small.ask("Fines are never paid", exclude=(ChunkKey(key),), limit=900)
    assert {one.disposition for one in without.candidates if one.chunk_key == key} == {
        Disposition.EXCLUDED
    }


async def test_a_pinned_chunk_from_outside_the_scope_is_not_visible(small: SmallIndex) -> None:
    key = (await small.ask("Fines")).candidates[0].chunk_key
    inner = small.store.chunks

    async def leaking(scope, keys):
        return await inner(replace(scope, asked=replace(scope.asked, source_ids=())), keys)

    small.store.chunks = leaking  # type: ignore[method-assign]

    with pytest.raises(InvalidRequest, match="visible"):
        await small.ask(must_include=(ChunkKey(key),), scope=Scope(source_ids=("other",)))


async def test_what_is_demanded_and_excluded_at_once_is_refused(small: SmallIndex) -> None:
    key = (await small.ask("Fines")).candidates[0].chunk_key
    whole, part = SourceRange(0, "travel.md"), SourceRange(0, "travel.md", None, Span(3, 6))
    for include, exclude in ((whole, part), (part, whole), (ChunkKey(key), ChunkKey(key))):
        with pytest.raises(InvalidRequest, match=r"exclude: has text of source .* must_include"):
            await small.ask(must_include=(include,), exclude=(exclude,))


async def test_a_pinned_passage_names_the_candidates_that_it_shows(small: SmallIndex) -> None:
    context = await small.ask("Trains", must_include=(SourceRange(0, "travel.md"),), limit=2000)

    pinned = context.passages[0]
    shown = [one for one in context.candidates if one.chunk_key in pinned.chunk_keys]
    fates = [one.disposition for one in shown]
    assert fates.count(Disposition.PACKED) == 1
    assert set(fates) <= {Disposition.PACKED, Disposition.MERGED}
    assert sum(one.disposition is Disposition.PACKED for one in context.candidates) == len(
        context.passages
    )


async def test_what_stands_there_is_not_below_the_score(small: SmallIndex) -> None:
    whole = SourceRange(0, "travel.md")

    context = await small.ask(
        "Trains", must_include=(whole,), retrieval=Retrieval(min_similarity=0.999), limit=2000
    )

    keys = {key for one in context.passages for key in one.chunk_keys}
    fates = {one.chunk_key: one.disposition for one in context.candidates}
    assert keys
    assert {fates[key] for key in keys} <= {Disposition.PACKED, Disposition.MERGED}
    assert {fates[key] for key in fates.keys() - keys} == {Disposition.BELOW_SCORE}


async def test_a_pin_outside_the_scope_says_which_part_of_it_to_look_at(small: SmallIndex) -> None:
    narrow = Scope(source_ids=("expenses.md",))

    with pytest.raises(InvalidRequest, match="see its version_policy, filter and source_ids"):
        await small.ask(must_include=(SourceRange(0, "travel.md"),), scope=narrow)
