"""
What changed between two revisions: pure.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from adapters.ledger import as_of
from adapters.records import LedgerRow, RevisionSummary, TenantLedger
from assembler.errors import VersionGone


class Change(enum.Enum):
    """
    What became of a source.
    """

    ADDED = "ADDED"
    ENDED = "ENDED"
    CHANGED = "CHANGED"


@dataclass(frozen=True, slots=True)
class SourceChange:
    """
    A source that two revisions do not have alike, with the labels of its readable versions, the
    active one last.
    """

    source_id: str
    change: Change
    before: tuple[str, ...]
    after: tuple[str, ...]


def diff_revisions(ledger: TenantLedger, before: int, after: int) -> tuple[SourceChange, ...]:
    """
    Return the sources that differ, by id: their texts, labels, descriptions or active versions.

    Raises:
        VersionGone: One of the revisions is not kept.
    """
    old, new = _sources_at(ledger, before), _sources_at(ledger, after)
    changes = []
    for source_id in sorted(old.keys() | new.keys()):
        rows = old.get(source_id, ()), new.get(source_id, ())
        if {_shape(row, before) for row in rows[0]} == {_shape(row, after) for row in rows[1]}:
            continue
        kind = Change.CHANGED if all(rows) else Change.ADDED if rows[1] else Change.ENDED
        labels = _labels(rows[0], before), _labels(rows[1], after)
        changes.append(SourceChange(source_id, kind, *labels))
    return tuple(changes)


def rows_at(ledger: TenantLedger, revision: int) -> tuple[LedgerRow, ...]:
    """
    Return the rows that can be read at a kept revision.

    Raises:
        VersionGone: It is not kept.
    """
    summary = _summary(ledger, revision)
    rows = as_of((*ledger.rows, *ledger.earlier), revision)
    return tuple(
        row for row in rows if row.generation == summary.generation and revision < row.to_rev
    )


def _summary(ledger: TenantLedger, revision: int) -> RevisionSummary:
    kept = [one for one in ledger.revisions if one.generation]
    for one in kept:
        if one.revision == revision:
            return one
    raise VersionGone(str(revision), tuple(str(one.revision) for one in kept))


def _sources_at(ledger: TenantLedger, revision: int) -> dict[str, tuple[LedgerRow, ...]]:
    found: dict[str, tuple[LedgerRow, ...]] = {}
    for row in rows_at(ledger, revision):
        found[row.source_id] = (*found.get(row.source_id, ()), row)
    return found


def _shape(row: LedgerRow, revision: int) -> tuple[str, str, str, bool]:
    is_active = revision < row.active_to_rev
    return row.version, row.content_sha256, row.described_sha256, is_active


def _labels(rows: tuple[LedgerRow, ...], revision: int) -> tuple[str, ...]:
    ordered = sorted(rows, key=lambda row: (revision < row.active_to_rev, row.from_rev))
    return tuple(row.version for row in ordered)
