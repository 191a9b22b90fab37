"""
Heads and ledgers: what is known of each tenant's part of an index, and how it is written down.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from adapters.head import Build, Head
from adapters.records import LedgerRow, RevisionSummary, TenantLedger, Tombstone
from adapters.store import Manifest
from assembler.errors import IndexUnusable
from assembler.model import FOREVER
from assembler.ports import IndexSchema, IndexState, SourceRow
from assembler.scope import IndexVersion

FORMAT = 1
"""The newest format of heads, ledgers and payloads that this release reads; it writes this one."""

Record = TypeVar("Record")


HEAD = TypeAdapter(Head)
HEADS = TypeAdapter(dict[str, Head])
BUILD = TypeAdapter(Build)
MANIFEST = TypeAdapter(Manifest)
ROW = TypeAdapter(LedgerRow)
ROWS = TypeAdapter(tuple[LedgerRow, ...])
REVISION = TypeAdapter(RevisionSummary)
REVISIONS = TypeAdapter(tuple[RevisionSummary, ...])
TOMBSTONE = TypeAdapter(Tombstone)
TOMBSTONES = TypeAdapter(tuple[Tombstone, ...])


def read_record(kind: TypeAdapter[Record], index: str, what: str, stored: object) -> Record:
    """
    Return a stored record.

    Args:
        kind: What it was written as.
        index: The index it belongs to.
        what: How to name it where it is damaged.
        stored: Its plain JSON form.

    Raises:
        IndexUnusable: It does not hold what was written.
    """
    try:
        return kind.validate_python(stored)
    except ValidationError as error:
        field = ".".join(str(part) for part in error.errors()[0]["loc"])
        problem = f"{what} is damaged at {field or 'its top'}; publish the index again"
        raise IndexUnusable(index, problem) from error


def read_text(index: str, what: str, text: str) -> object:
    """
    Return the JSON of a text.

    Raises:
        IndexUnusable: It is none.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        raise IndexUnusable(index, f"{what} is damaged; publish the index again") from error


def plain(kind: TypeAdapter[Record], record: Record) -> object:
    """
    Return a record in its plain JSON form.
    """
    form: object = kind.dump_python(record, mode="json")
    return form


def require_format(index: str, version: object) -> None:
    """
    Refuse what a newer release has written.

    Raises:
        IndexUnusable: The format is newer, or no format at all.
    """
    if not isinstance(version, int):
        raise IndexUnusable(index, "its format is not stated; publish the index again")
    if version > FORMAT:
        problem = (
            f"it was made with the newer format {version}, this release reads up to {FORMAT}; "
            "update the service, or publish the index again with this release"
        )
        raise IndexUnusable(index, problem)


def state_of(index: str, head: Head, manifests: Mapping[str, Manifest], newest: str) -> IndexState:
    """
    Return what readers resolve an index to.

    Args:
        index: Its name.
        head: The tenant's head.
        manifests: The manifests by generation.
        newest: The generation that stands for a tenant that has never published.

    Raises:
        IndexUnusable: The head's generation has no manifest.
    """
    generation = newest if head.generation is None else head.generation
    manifest = manifests.get(generation)
    if manifest is None:
        problem = f"generation {generation} has no manifest; publish the index again"
        raise IndexUnusable(index, problem)
    return IndexState(
        index=index,
        version=IndexVersion(generation, head.revision),
        oldest_revision=head.oldest_revision,
        gone=head.gone,
        model=manifest.embedding.model,
        schema=IndexSchema(manifest.fields, head.readers_required),
        languages=head.languages,
        profile=manifest.profile,
        has_section_vectors=manifest.section_vectors,
    )


def source_rows(
    rows: Sequence[LedgerRow], tombstones: Sequence[Tombstone], source_id: str
) -> list[SourceRow]:
    """
    Return the rows of one source, oldest first; of a purged one, that it is purged.
    """
    found = [
        SourceRow(
            source_id=row.source_id,
            version=row.version,
            content_sha256=row.content_sha256,
            chars=row.chars,
            from_rev=row.from_rev,
            active_to_rev=row.active_to_rev,
            to_rev=row.to_rev,
            readers=row.readers,
        )
        for row in rows
        if row.source_id == source_id
    ]
    found += [
        SourceRow(source_id, "", "", 0, one.readers, 0, 0, 0, is_purged=True)
        for one in tombstones
        if one.source_id == source_id
    ]
    return sorted(found, key=lambda row: (row.from_rev, row.version))


def as_of(rows: Iterable[LedgerRow], revision: int) -> tuple[LedgerRow, ...]:
    """
    Return the rows as a revision has them: later ones gone, later ends open again.
    """
    return tuple(_reopened(row, revision) for row in rows if row.from_rev <= revision)


def _reopened(row: LedgerRow, revision: int) -> LedgerRow:
    # Most rows are as they were: making each anew is half of what a large ledger costs.
    active_to = FOREVER if row.active_to_rev > revision else row.active_to_rev
    to = FOREVER if row.to_rev > revision else row.to_rev
    if (active_to, to) == (row.active_to_rev, row.to_rev):
        return row
    return replace(row, active_to_rev=active_to, to_rev=to)


def tenant_ledger(
    head: Head,
    rows: Sequence[LedgerRow],
    revisions: Sequence[RevisionSummary],
    tombstones: Sequence[Tombstone] = (),
) -> TenantLedger:
    """
    Return everything known of one tenant's part as of its head.
    """
    known = sorted(
        as_of((_placed(row, head) for row in rows), head.revision),
        key=_order,
    )
    summaries = [one for one in revisions if one.revision <= head.revision]
    return TenantLedger(
        generation=head.generation,
        revision=head.revision,
        readers_required=head.readers_required,
        rows=tuple(row for row in known if row.generation == head.generation),
        revisions=tuple(
            sorted((_dated(one, head) for one in summaries), key=lambda one: one.revision)
        ),
        newest_revision=max(head.newest_revision, head.revision),
        earlier=tuple(row for row in known if row.generation != head.generation),
        tombstones=tuple(sorted(tombstones, key=lambda one: one.source_id)),
    )


def chunks_at(ledger: TenantLedger, version: IndexVersion) -> int:
    """
    Return how many chunks a version has by the ledger.
    """
    return sum(
        row.chunks
        for row in (*ledger.rows, *ledger.earlier)
        if row.generation == version.generation and row.from_rev <= version.revision < row.to_rev
    )


def moved(
    before: TenantLedger,
    generation: str,
    rows: Sequence[LedgerRow],
    summary: RevisionSummary,
    *,
    readers_required: bool,
) -> TenantLedger:
    """
    Return the ledger after a publish.

    Args:
        before: The ledger before it.
        generation: Where it is published; another one than before keeps nothing but what is given.
        rows: Every row of the tenant in it, present and ended.
        summary: Of the new revision.
        readers_required: Whether absent readers mean invisible from now on.
    """
    revision = summary.revision
    present = [
        row if row.generation == generation else replace(row, generation=generation) for row in rows
    ]
    earlier = before.earlier
    if generation != before.generation:
        # What an earlier stay in this generation left has ended; what is left now may be rolled
        # back to.
        present += [
            replace(row, to_rev=min(row.to_rev, revision))
            for row in earlier
            if row.generation == generation
        ]
        others = tuple(row for row in earlier if row.generation != generation)
        earlier = (*others, *before.rows)
    return TenantLedger(
        generation=generation,
        revision=revision,
        readers_required=readers_required,
        rows=tuple(sorted(present, key=_order)),
        revisions=(*before.revisions, replace(summary, generation=generation)),
        newest_revision=revision,
        earlier=tuple(sorted(earlier, key=_order)),
        tombstones=before.tombstones,
    )


def _order(row: LedgerRow) -> tuple[str, int, str]:
    return row.source_id, row.from_rev, row.version


def _placed(row: LedgerRow, head: Head) -> LedgerRow:
    # Ledgers once held the rows of the present generation only, and did not name it.
    return row if row.generation else replace(row, generation=head.generation or "")


def _dated(summary: RevisionSummary, head: Head) -> RevisionSummary:
    if summary.generation or summary.revision < head.oldest_revision:
        return summary
    return replace(summary, generation=head.generation or "")
