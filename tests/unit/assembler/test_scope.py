"""
What may be read: filters, index versions, source versions and readers.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from assembler.errors import (
    FilterFieldUnknown,
    IndexBehind,
    InvalidRequest,
    VersionGone,
    VersionUnknown,
)
from assembler.filters import AnyInt, AnyString, Condition, Filter, IntRange, IsBool, IsMissing
from assembler.report import Disposition
from assembler.scope import IndexVersion, Pin, Scope, VersionPolicy
from tests.small_index import SCHEMA, SECRET, TRAVEL, SmallIndex
from tests.unit.assembler.contexts import fates, shown


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


async def test_index_versions_are_asked_for_exactly_or_at_least(small: SmallIndex) -> None:
    state = await small.store.resolve("docs", "")
    now, next_one = state.version, IndexVersion(state.version.generation, 2)

    assert (await small.ask(scope=Scope(exactly=now))).index_versions == (now,)
    assert (await small.ask(scope=Scope(at_least=now))).index_versions == (now,)
    with pytest.raises(IndexBehind):
        await small.ask(scope=Scope(at_least=next_one))
    with pytest.raises(IndexBehind):
        await small.ask(scope=Scope(at_least=IndexVersion("other", 2)))
    with pytest.raises(InvalidRequest, match=r"'other\.1', which index 'docs' never had") as never:
        await small.ask(scope=Scope(at_least=IndexVersion("other", 1)))
    assert never.value.field == "targets[0].scope.at_least"
    with pytest.raises(VersionGone, match="any more or at all; there are"):
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
