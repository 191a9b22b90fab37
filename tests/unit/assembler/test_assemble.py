"""
The straight line over an index in memory: scope, limits, pins, exclusions, several targets.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assembler.errors import (
    FilterFieldUnknown,
    IndexBehind,
    IndexUnknown,
    IndexUnusable,
    InvalidRequest,
    MustIncludeTooLarge,
    ProfileUnknown,
    QueryTooLong,
    TokenizerUnknown,
    VersionGone,
    VersionUnknown,
    WindowLeavesNothing,
)
from assembler.filters import AnyInt, AnyString, Condition, Filter, IntRange, IsBool, IsMissing
from assembler.ports import ChatMessage
from assembler.report import AssembledContext, Disposition, Note, Signal, Stage
from assembler.request import (
    Budget,
    ChunkKey,
    Expansion,
    ExpansionMode,
    Fill,
    PromptWindow,
    Query,
    QueryVector,
    Retrieval,
    RetrievalMode,
    SourceRange,
    Target,
)
from assembler.scope import IndexVersion, Pin, Scope, VersionPolicy
from assembler.span import Span
from tests.counters import CharCounter
from tests.fakes import hash_vector
from tests.small_index import EXPENSES, SCHEMA, SECRET, TRAVEL, SmallIndex


@pytest.fixture
def small(tmp_path: Path) -> SmallIndex:
    folder = tmp_path / "docs"
    folder.mkdir()
    index = SmallIndex(folder)
    index.write(travel__md=TRAVEL, expenses__md=EXPENSES)
    index.index(
        {"path": "travel.md", "metadata": {"team": "office", "year": 2026, "page": 3}},
        {"path": "expenses.md", "metadata": {"team": "finance", "year": 2025}},
        schema=SCHEMA,
    )
    return index


def shown(context: AssembledContext) -> set[str]:
    return {source.version.source_id for passage in context.passages for source in passage.sources}


def fates(context: AssembledContext) -> set[Disposition]:
    return {one.disposition for one in context.candidates}


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


async def test_the_filter_reaches_every_read(small: SmallIndex) -> None:
    finance = Filter(all_of=(Condition("fields.team", AnyString(("finance",))),))

    context = await small.ask(scope=Scope(filter=finance))

    assert shown(context) == {"expenses.md"}


@pytest.mark.parametrize(
    "condition",
    [
        Condition("fields.page", AnyInt((3,))),
        Condition("fields.team", AnyInt((3,))),
        Condition("fields.team", IsBool(value=True)),
        Condition("fields.year", AnyString(("2026",))),
        Condition("fields.year", IntRange(0, 1, is_time=True)),
        Condition("fields.year", IsMissing()),
    ],
)
async def test_a_condition_that_disagrees_with_the_schema_is_refused(
    small: SmallIndex, condition: Condition
) -> None:
    with pytest.raises(FilterFieldUnknown, match=r"targets\[0\].scope.filter"):
        await small.ask(scope=Scope(filter=Filter(none_of=(condition,))))


async def test_int_conditions_are_accepted_for_int_fields(small: SmallIndex) -> None:
    both = Filter(
        any_of=(
            Condition("fields.year", AnyInt((2025,))),
            Condition("fields.year", IntRange(2026, 2027)),
        )
    )

    assert shown(await small.ask(scope=Scope(filter=both))) == {"travel.md", "expenses.md"}


async def test_unknown_names_are_errors(small: SmallIndex) -> None:
    with pytest.raises(IndexUnknown):
        await small.ask(targets=(Target("nope"),))
    with pytest.raises(TokenizerUnknown):
        await small.ask(budget=Budget("gpt-9", PromptWindow(10, 0)))
    with pytest.raises(ProfileUnknown):
        await small.ask(profile="nope")


async def test_index_versions_are_asked_for_exactly_or_at_least(small: SmallIndex) -> None:
    state = await small.store.resolve("docs", "")
    now, next_one = state.version, IndexVersion(state.version.generation, 2)

    assert (await small.ask(scope=Scope(exactly=now))).index_versions == (now,)
    assert (await small.ask(scope=Scope(at_least=now))).index_versions == (now,)
    with pytest.raises(IndexBehind):
        await small.ask(scope=Scope(at_least=next_one))
    with pytest.raises(VersionGone):
        await small.ask(scope=Scope(exactly=next_one))
    with pytest.raises(VersionGone):
        await small.ask(scope=Scope(exactly=IndexVersion("other", 1)))


async def test_pinned_versions_are_read_or_named_as_unknown_or_gone(small: SmallIndex) -> None:
    small.write(travel__md=TRAVEL.replace("180", "190"))
    small.index(version="2", keep_versions=1, schema=SCHEMA)
    old = (await small.store.rows("docs", "", "travel.md"))[0].version

    def pinned(version: str) -> Scope:
        return Scope(versions=VersionPolicy.PINNED, pins=(Pin("travel.md", version),))

    context = await small.ask("Oslo limit", scope=pinned(old), limit=400)
    assert "180" in context.context
    assert "190" not in context.context
    assert context.passages[0].sources[0].state.name == "SUPERSEDED"
    with pytest.raises(VersionUnknown):
        await small.ask(scope=pinned("9"))
    small.index(version="2", schema=SCHEMA)
    with pytest.raises(VersionGone):
        await small.ask(scope=pinned(old))


async def test_readers_hide_a_source_and_its_versions(small: SmallIndex) -> None:
    small.write(secret__md=SECRET)
    small.index({"path": "secret.md", "version": "1", "readers": ["managers"]}, schema=SCHEMA)
    pin = Scope(versions=VersionPolicy.PINNED, pins=(Pin("secret.md", "1"),))

    assert shown(await small.ask("band of level three")) == set()
    assert shown(await small.ask("band", scope=Scope(principals=("managers",)))) == {"secret.md"}
    with pytest.raises(VersionUnknown):
        await small.ask(scope=pin)


async def test_readers_are_optional_until_one_is_named(small: SmallIndex) -> None:
    small.write(secret__md=SECRET)
    small.index(
        {"path": "secret.md", "readers": ["managers"]}, schema=SCHEMA, readers_required=False
    )

    assert "secret.md" not in shown(await small.ask("band of level three", limit=900))
    assert "secret.md" in shown(
        await small.ask("band of level", scope=Scope(principals=("managers",)), limit=900)
    )


async def test_equal_text_of_two_sources_is_shown_once_and_cites_both(small: SmallIndex) -> None:
    small.write(copy__md=EXPENSES)
    small.index(schema=SCHEMA)

    context = await small.ask("Fines are never paid", limit=400, fill=Fill.FULL)

    assert context.context.count("Fines are never paid.") == 1
    both = [one for one in context.passages if len(one.sources) > 1]
    assert {source.version.source_id for source in both[0].sources} == {"copy.md", "expenses.md"}
    assert Disposition.DUPLICATE in fates(context)


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


async def test_dissimilar_candidates_are_below_score_and_bm25_alone_passes(
    small: SmallIndex,
) -> None:
    context = await small.ask(retrieval=Retrieval(min_similarity=0.999))

    assert Disposition.BELOW_SCORE in fates(context)
    dense = [one for one in context.candidates if one.disposition is Disposition.BELOW_SCORE]
    assert all(any(s.signal is Signal.DENSE for s in one.scores) for one in dense)


async def test_limits_of_sections_and_sources_are_named(small: SmallIndex) -> None:
    context = await small.ask(retrieval=Retrieval(section_limit=1), limit=900)
    assert Disposition.SECTION_LIMIT in fates(context)

    shared = await small.ask(retrieval=Retrieval(max_source_share=0.003), limit=900, fill=Fill.FULL)
    assert Disposition.SOURCE_SHARE in fates(shared)


async def test_auto_stops_at_the_price_and_full_does_not(small: SmallIndex) -> None:
    auto = await small.ask(limit=900, profile="priced")
    full = await small.ask(limit=900, profile="priced", fill=Fill.FULL)

    assert Disposition.UNDER_PRICE in fates(auto)
    assert auto.budget.context < full.budget.context


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


async def test_several_targets_share_one_budget_within_their_bounds(small: SmallIndex) -> None:
    small.index(index="other")
    targets = (
        Target("docs", max_context_tokens=30),
        Target("other", weight=0.01, min_context_tokens=20),
    )

    context = await small.ask(targets=targets, limit=120, fill=Fill.FULL)

    tokens = {0: 0, 1: 0}
    for passage in context.passages:
        tokens[passage.sources[0].target] += passage.tokens
    assert tokens[0] <= 35
    assert tokens[1] >= 15
    assert len(context.index_versions) == 2


async def test_messages_are_counted_with_the_context_inserted(small: SmallIndex) -> None:
    frame = (ChatMessage("system", "Use this:\n{{context}}"), ChatMessage("user", "Refunds?"))
    budget = Budget("chars", PromptWindow(120, 30, frame))

    context = await small.ask(budget=budget)

    filled = [ChatMessage("system", f"Use this:\n{context.context}"), frame[1]]
    total = CharCounter().count_messages(filled)
    assert total == context.budget.frame + context.budget.context <= 90


@pytest.mark.parametrize("content", ["none", "{{context}} {{context}}"])
async def test_the_placeholder_must_stand_exactly_once(small: SmallIndex, content: str) -> None:
    window = PromptWindow(100, 0, (ChatMessage("user", content),))

    with pytest.raises(InvalidRequest, match="placeholder"):
        await small.ask(budget=Budget("chars", window))


async def test_a_window_that_leaves_nothing_is_refused_with_the_arithmetic(
    small: SmallIndex,
) -> None:
    with pytest.raises(WindowLeavesNothing) as caught:
        await small.ask(budget=Budget("chars", PromptWindow(100, 60, None, 40)))

    assert caught.value.facts["window_tokens"] == "100"


async def test_a_safety_ratio_divides_the_limit_and_is_declared(small: SmallIndex) -> None:
    budget = Budget("chars", PromptWindow(100, 0), safety_ratio=2.0)

    context = await small.ask(budget=budget)

    assert context.budget.limit == 50
    assert context.budget.is_proxy


async def test_metadata_is_returned_where_it_is_asked_for(small: SmallIndex) -> None:
    context = await small.ask("Oslo limit", metadata_fields=("page", "nope"))

    travel = next(
        source
        for passage in context.passages
        for source in passage.sources
        if source.version.source_id == "travel.md"
    )
    assert travel.metadata == (("page", 3),)


async def test_a_hit_from_outside_the_scope_is_denied(small: SmallIndex) -> None:
    inner = small.store.search_text

    async def leaking(scope, searches):
        wide = replace(scope, asked=replace(scope.asked, filter=Filter()))
        return await inner(wide, searches)

    small.store.search_text = leaking  # type: ignore[method-assign]
    finance = Filter(all_of=(Condition("fields.team", AnyString(("finance",))),))

    context = await small.ask(scope=Scope(filter=finance))

    assert Disposition.SCOPE_DENIED in fates(context)
    assert shown(context) <= {"expenses.md"}


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


async def test_vectors_alone_need_no_embedder(small: SmallIndex) -> None:
    small.assembler._look._embedders = {}
    vector = QueryVector(hash_vector("trains", 8), "fake")

    context = await small.ask(
        queries=(Query("", vector=vector),), retrieval=Retrieval(mode=RetrievalMode.DENSE)
    )

    assert context.candidates


async def test_a_target_may_have_less_than_it_is_promised(small: SmallIndex) -> None:
    context = await small.ask(
        targets=(Target("docs", min_context_tokens=10_000),), limit=900, fill=Fill.FULL
    )

    assert context.budget.context < 900


async def test_a_pinned_chunk_from_outside_the_scope_is_not_visible(small: SmallIndex) -> None:
    key = (await small.ask("Fines")).candidates[0].chunk_key
    inner = small.store.chunks

    async def leaking(scope, keys):
        return await inner(replace(scope, asked=replace(scope.asked, source_ids=())), keys)

    small.store.chunks = leaking  # type: ignore[method-assign]

    with pytest.raises(InvalidRequest, match="visible"):
        await small.ask(must_include=(ChunkKey(key),), scope=Scope(source_ids=("other",)))


async def test_a_query_that_is_too_long_is_named_by_its_place_in_the_request(
    small: SmallIndex,
) -> None:
    async def refusing(texts):
        raise QueryTooLong(len(texts) - 1, tokens=900, most=256)

    small.embedder.embed = refusing  # type: ignore[method-assign]
    vector = QueryVector(hash_vector("trains", 8), "fake")

    with pytest.raises(QueryTooLong, match=r"queries\[1\].text: has 900 tokens"):
        await small.ask(queries=(Query("a", vector=vector), Query("b")))
