from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.records import LedgerRow, Retention, TenantLedger
from adapters.retention import REMEMBERED_VERSIONS, kept_revisions, ledger_after, unseen
from assembler.errors import InvalidRequest
from assembler.filters import FieldValue
from tests.contract.corpus import Source
from tests.contract.desired import minutes, summary_of


def ledger_of(*revisions: int, rows: tuple[LedgerRow, ...] = ()) -> TenantLedger:
    summaries = tuple(summary_of(revision) for revision in revisions)
    return TenantLedger("", revisions[-1], readers_required=False, rows=rows, revisions=summaries)


def kept(revisions: int, seconds: float, at: float) -> tuple[int, ...]:
    return kept_revisions(ledger_of(1, 2, 4, 5), Retention(revisions, seconds), minutes(at))


def test_the_last_revisions_are_kept() -> None:
    assert kept(1, 0.0, at=5) == (5,)
    assert kept(3, 0.0, at=5) == (2, 4, 5)
    assert kept(9, 0.0, at=5) == (1, 2, 4, 5)


def test_what_was_replaced_lately_is_kept_too() -> None:
    # Revision 2 was replaced at minute 4, when 4 was published.
    assert kept(1, 180.0, at=6.9) == (2, 4, 5)
    assert kept(1, 180.0, at=7.1) == (4, 5)
    assert kept(1, 180.0, at=8.1) == (5,)
    assert kept(3, 60.0, at=9) == (2, 4, 5)


def test_a_ledger_without_revisions_keeps_none() -> None:
    empty = TenantLedger(None, 0, readers_required=False, rows=(), revisions=())
    assert kept_revisions(empty, Retention(), minutes(0)) == ()


@pytest.mark.parametrize("wrong", [{"revisions": 0}, {"retired_seconds": -1.0}])
def test_a_retention_without_the_head_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidRequest, match=r"retained_revisions|retired_seconds"):
        Retention(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("numbers", [(3,), (2, 3), (2, 5), (1, 4, 5, 8), ()])
def test_unseen_is_what_no_kept_revision_sees(numbers: tuple[int, ...]) -> None:
    filters = unseen(numbers)
    for start in range(1, 10):
        for end in range(start + 1, 11):

            def value_of(key: str, start: int = start, end: int = end) -> FieldValue:
                return {"from_rev": start, "to_rev": end}[key]

            is_seen = any(start <= number < end for number in numbers)
            matched = [one for one in filters if one.accepts(value_of)]
            assert len(matched) == (not is_seen), (start, end)


def test_of_collected_versions_the_last_are_remembered() -> None:
    source = Source("cats", ("Cats sleep.",))
    ended = [source.row(number) for number in range(1, REMEMBERED_VERSIONS + 3)]
    newest = REMEMBERED_VERSIONS + 3
    rows = tuple(replace(row, to_rev=row.from_rev + 1) for row in ended)
    ledger = ledger_of(1, newest, rows=(*rows, source.row(newest)))

    after = ledger_after(ledger, (newest,))

    assert len(after.rows) == REMEMBERED_VERSIONS + 1
    assert min(row.from_rev for row in after.rows) == 3
    assert [row.chunks for row in after.rows if row.from_rev < newest] == [0] * REMEMBERED_VERSIONS
