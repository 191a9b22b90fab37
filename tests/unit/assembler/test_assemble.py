"""
The straight line over an index in memory: from a question to cited text and its account.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assembler.errors import IndexUnknown, ProfileUnknown, TokenizerUnknown
from assembler.report import Disposition, Note, Stage
from assembler.request import Budget, Fill, PromptWindow, Retrieval, Target
from assembler.scope import Scope
from tests.counters import CharCounter
from tests.small_index import EXPENSES, SCHEMA, SmallIndex
from tests.unit.assembler.contexts import fates


async def test_a_question_is_answered_with_counted_and_cited_text(small: SmallIndex) -> None:
    context = await small.ask("Business class flights", limit=100)

    assert "Business class is never paid." in context.context
    assert context.budget.context == CharCounter().count(context.context)
    assert context.passages[0].marker == "[1]"
    assert {time.stage for time in context.stages} >= {Stage.EMBED, Stage.SEARCH, Stage.PACK}
    assert context.index_versions[0].revision == 1


async def test_equal_requests_have_equal_fingerprints_and_others_do_not(small: SmallIndex) -> None:
    first, second = await small.ask(limit=90), await small.ask(limit=90)
    other = await small.ask(limit=91)

    assert first.request_fingerprint == second.request_fingerprint != other.request_fingerprint
    assert first.context == second.context


async def test_nothing_found_is_an_empty_context_with_its_account(small: SmallIndex) -> None:
    context = await small.ask(scope=Scope(tenant="nobody"))

    assert (context.context, context.passages, context.candidates) == ("", (), ())
    assert context.budget.context == 0


async def test_unknown_names_are_errors(small: SmallIndex) -> None:
    with pytest.raises(IndexUnknown):
        await small.ask(targets=(Target("nope"),))
    with pytest.raises(TokenizerUnknown):
        await small.ask(budget=Budget("gpt-9", PromptWindow(10, 0)))
    with pytest.raises(ProfileUnknown):
        await small.ask(profile="nope")


async def test_equal_text_of_two_sources_is_shown_once_and_cites_both(small: SmallIndex) -> None:
    small.write(copy__md=EXPENSES)
    small.index(schema=SCHEMA)

    context = await small.ask("Fines are never paid", limit=400, fill=Fill.FULL)

    assert context.context.count("Fines are never paid.") == 1
    both = [one for one in context.passages if len(one.sources) > 1]
    assert {source.version.source_id for source in both[0].sources} == {"copy.md", "expenses.md"}
    assert Disposition.DUPLICATE in fates(context)


async def test_metadata_is_returned_where_it_is_asked_for(small: SmallIndex) -> None:
    context = await small.ask("Oslo limit", metadata_fields=("page", "nope"))

    travel = next(
        source
        for passage in context.passages
        for source in passage.sources
        if source.version.source_id == "travel.md"
    )
    assert travel.metadata == (("page", 3),)


async def test_missing_and_mismatching_sections_fall_back_to_the_chunk(small: SmallIndex) -> None:
    inner = small.store.sections

    async def damaged(scope, keys):
        found = await inner(scope, keys)
        return [replace(one, text="x" * len(one.text)) for one in found[1:]]

    small.store.sections = damaged  # type: ignore[method-assign]

    context = await small.ask(limit=900, fill=Fill.FULL)

    notes = {note for one in context.candidates for note in one.notes}
    assert {Note.PARENT_MISSING, Note.PARENT_MISMATCH} <= notes
    assert "Fines are never paid." in context.context


async def test_a_chunk_without_any_text_is_invalid(small: SmallIndex) -> None:
    async def nothing(scope, keys):
        return {}

    async def no_sections(scope, keys):
        return []

    small.store.sections = no_sections  # type: ignore[method-assign]
    small.store.chunk_texts = nothing  # type: ignore[method-assign]

    context = await small.ask()

    assert fates(context) == {Disposition.INVALID}
    assert context.context == ""


async def test_the_rest_of_the_sections_is_read_when_room_is_left(small: SmallIndex) -> None:
    context = await small.ask(limit=30, fill=Fill.FULL, retrieval=Retrieval(chunk_limit=100))

    assert context.budget.context <= 30
    assert len(context.candidates) == len({one.chunk_key for one in context.candidates})


async def test_sections_beyond_the_first_read_are_read_when_duplicates_leave_room(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    small = SmallIndex(folder)
    same = "Refunds of tickets are given within a month and a day, always, to everybody.\n"
    small.write(**{f"copy{n}__txt": same for n in range(12)}, other__txt="Refunds: other rule.\n")
    small.index()

    context = await small.ask("Tickets month everybody", limit=60, fill=Fill.FULL)

    assert "other rule" in context.context
    assert len(context.passages[0].sources) == 12
