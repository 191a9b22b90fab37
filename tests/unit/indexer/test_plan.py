from __future__ import annotations

from pathlib import Path

from adapters.records import LedgerRow
from indexer.plan import Plan, Wanted, make_plan, with_active
from indexer.sources import SourceFile


def wanted(version: str, *, active: bool | None = None, source: str = "rules") -> Wanted:
    file = SourceFile(
        Path(f"{version}.md"), source, "text/plain", version=version, is_active=active
    )
    return Wanted(file, version, content_sha256=version, described_sha256="d")


def row(version: str, from_rev: int = 1) -> LedgerRow:
    return LedgerRow(
        source_id="rules",
        version=version,
        content_sha256=version,
        source_set="default",
        described_sha256="d",
        language="en",
        title="",
        uri="",
        media_type="text/plain",
        chars=1,
        sections=1,
        chunks=1,
        tokens=1,
        readers=None,
        from_rev=from_rev,
    )


def planned(*versions: Wanted, keep: int = 0, untouched: tuple[str, ...] = ()) -> Plan:
    return make_plan(
        with_active(versions),
        [row("1")],
        revision=1,
        source_set="default",
        removed=frozenset(),
        touches_all=False,
        keep_versions=keep,
        untouched=dict.fromkeys(untouched),
    )


def active(*versions: Wanted) -> list[str]:
    return [one.version for one in with_active(versions) if one.is_active]


def test_the_marked_version_is_active_wherever_it_stands() -> None:
    assert active(wanted("1", active=True), wanted("2")) == ["1"]
    assert active(wanted("1"), wanted("2", active=True), wanted("3")) == ["2"]
    assert active(wanted("1"), wanted("2")) == ["2"]


def test_a_version_that_is_marked_as_not_active_is_not() -> None:
    assert active(wanted("1"), wanted("2", active=False)) == ["1"]
    assert active(wanted("1", active=False), wanted("2", active=False)) == []


def test_a_draft_published_beside_the_active_version_leaves_it_active() -> None:
    plan = planned(wanted("2", active=False), keep=1)

    assert [(one.version, one.is_active) for one in plan.write] == [("2", False)]
    assert plan.ends == ()


def test_a_new_active_version_takes_over_from_one_whose_file_cannot_be_read() -> None:
    plan = planned(wanted("2"), untouched=("rules",))

    assert [(end.row.version, end.is_removed) for end in plan.ends] == [("1", False)]
    assert [one.version for one in plan.unchanged] == ["1"]
