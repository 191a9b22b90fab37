"""
Which revisions are kept, and what no kept revision sees: pure.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from adapters.payload_keys import FROM_REV, TO_REV
from adapters.records import LedgerRow, Retention, RevisionSummary, TenantLedger
from assembler.filters import Condition, Filter, IntRange

REMEMBERED_VERSIONS = 100
"""Rows that stay of each source's collected versions: who asks for one is told that it is gone."""


def kept_revisions(ledger: TenantLedger, retention: Retention, at: float) -> tuple[int, ...]:
    """
    Return the revisions to keep: the last ones, and those retired only lately, without a gap.

    Args:
        ledger: As of its head.
        retention: How many, and how long.
        at: Now, in seconds since the Unix epoch.
    """
    revisions = ledger.revisions
    oldest = max(len(revisions) - retention.revisions, 0)
    for position, following in enumerate(revisions[1:]):
        if seconds_of(following) > at - retention.retired_seconds:
            oldest = min(oldest, position)
            break
    return tuple(summary.revision for summary in revisions[oldest:])


def seconds_of(summary: RevisionSummary) -> float:
    """
    Return when a revision was published, in seconds since the Unix epoch.
    """
    return datetime.fromisoformat(summary.published_at).timestamp()


def unseen(kept: Collection[int]) -> list[Filter]:
    """
    Return the filters that together match the points of a generation that none of its kept
    revisions sees.
    """
    numbers = sorted(kept)
    if not numbers:
        return [Filter()]
    gaps = [(after, upto) for after, upto in itertools.pairwise(numbers)]
    return [
        _inside(None, numbers[0]),
        *(_inside(after, upto) for after, upto in gaps if upto > after + 1),
        Filter(all_of=(Condition(FROM_REV, IntRange(at_least=numbers[-1] + 1)),)),
    ]


def _inside(after: int | None, upto: int) -> Filter:
    ended = Condition(TO_REV, IntRange(below=upto + 1))
    if after is None:
        return Filter(all_of=(ended,))
    return Filter(all_of=(Condition(FROM_REV, IntRange(at_least=after + 1)), ended))


def is_seen(row: LedgerRow, kept: Iterable[int]) -> bool:
    """
    Return whether one of the kept revisions of the row's generation has it.
    """
    return any(row.from_rev <= revision < row.to_rev for revision in kept)


def ledger_after(ledger: TenantLedger, kept: Collection[int]) -> TenantLedger:
    """
    Return the ledger without what only other revisions have.
    """
    numbers = {
        generation: [
            one.revision
            for one in ledger.revisions
            if one.revision in kept and one.generation == generation
        ]
        for generation in {one.generation for one in ledger.revisions}
    }
    return replace(
        ledger,
        rows=tuple(_remembered(ledger.rows, numbers.get(ledger.generation or "", ()))),
        earlier=tuple(
            row for row in ledger.earlier if is_seen(row, numbers.get(row.generation, ()))
        ),
        revisions=tuple(one for one in ledger.revisions if one.revision in kept),
    )


def _remembered(rows: Sequence[LedgerRow], kept: Sequence[int]) -> Iterable[LedgerRow]:
    """
    Return what is seen, and the last of what has been collected of each source, emptied.
    """
    count: dict[str, int] = {}
    for row in sorted(rows, key=lambda row: -row.from_rev):
        if is_seen(row, kept):
            yield row
        elif row.to_rev <= kept[0]:
            count[row.source_id] = count.get(row.source_id, 0) + 1
            if count[row.source_id] <= REMEMBERED_VERSIONS:
                yield replace(row, sections=0, chunks=0, tokens=0)
