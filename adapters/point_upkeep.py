"""
The upkeep of one tenant's part, the same over both backends.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime

from adapters.head import Head, head_of, kept_head
from adapters.ledger import as_of
from adapters.payload_keys import SOURCE_ID
from adapters.place import UpkeepPlace, of_tenant
from adapters.records import Collected, Purged, Retention, TenantLedger, Tombstone
from adapters.retention import kept_revisions, ledger_after, unseen
from assembler.errors import InvalidRequest, SourceUnknown
from assembler.filters import AnyString, Condition
from assembler.scope import IndexVersion


class PointUpkeep:
    """
    The `Upkeep` of a place.
    """

    def __init__(self, place: UpkeepPlace, tenant: str, head: Head, ledger: TenantLedger) -> None:
        self._place = place
        self._tenant = tenant
        self._head = head
        self._ledger = ledger

    @property
    def ledger(self) -> TenantLedger:
        """
        Return the state before the call.
        """
        return self._ledger

    def roll_back(
        self, revision: int | None, *, at: float, head: int | None = None
    ) -> IndexVersion:
        """
        Move the head back to a kept revision (None: the one before the head) in one write.

        What lies beyond it stays until the next publish: requests may be reading it.
        """
        before = self._ledger
        if not is_rolled_back(before, self._head.moved_back_from, revision, head):
            self._ledger = back_at(before, revision)
            self._place.move_head(
                head_of(self._ledger, moved_back_at=at, moved_back_from=before.revision)
            )
        return IndexVersion(self._ledger.generation or "", self._ledger.revision)

    def collect(self, retention: Retention, *, at: float) -> Collected:
        """
        Delete what no kept revision sees.
        """
        before, head = self._ledger, self._head
        kept = kept_revisions(before, retention, at)
        ledger = ledger_after(before, kept)
        beyond: Collection[int] = ()
        if head.is_rolled_back and head.moved_back_at > at - retention.retired_seconds:
            beyond = range(head.revision + 1, head.newest_revision + 1)
        moved = kept_head(head, ledger)
        self._place.forget_beyond()
        self._place.hide(moved, ledger)
        if ledger != before or head.is_rolled_back:
            self._place.settle()
        points = self._delete_unseen(ledger, beyond)
        generations = () if beyond else self._place.remove_unused()
        self._place.commit(moved, ledger, None)
        self._ledger = ledger
        return Collected(
            kept=kept,
            revisions=len(before.revisions) - len(kept),
            points=points,
            rows=_count(before) - _count(ledger),
            generations=generations,
        )

    def purge(self, source_id: str, *, at: float) -> Purged:
        """
        Remove a source from every revision and generation, and keep it out from now on.
        """
        before = self._ledger
        readers = _readers(before, source_id)
        purged_at = datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
        tombstones = [one for one in before.tombstones if one.source_id != source_id]
        ledger = replace(
            before,
            rows=tuple(row for row in before.rows if row.source_id != source_id),
            earlier=tuple(row for row in before.earlier if row.source_id != source_id),
            tombstones=(*tombstones, Tombstone(source_id, purged_at, readers)),
        )
        head = kept_head(self._head, ledger)
        self._place.forget_beyond()
        self._place.hide(head, ledger)
        points = 0
        wanted = of_tenant(self._tenant, Condition(SOURCE_ID, AnyString((source_id,))))
        for generation in self._place.manifests():
            writer = self._place.writer(generation)
            points += writer.count(wanted)
            writer.delete(wanted)
        self._place.scrub()
        self._place.commit(head, ledger, None)
        self._ledger = ledger
        return Purged(source_id, points, _count(before) - _count(ledger))

    def lift_purge(self, source_id: str) -> None:
        """
        Allow a purged source to be indexed again.
        """
        before = self._ledger
        left = tuple(one for one in before.tombstones if one.source_id != source_id)
        if len(left) == len(before.tombstones):
            raise SourceUnknown(source_id, tuple(one.source_id for one in before.tombstones))
        self._ledger = replace(before, tombstones=left)
        self._place.forget_beyond()
        self._place.commit(kept_head(self._head, self._ledger), self._ledger, None)

    def _delete_unseen(self, ledger: TenantLedger, beyond: Collection[int]) -> int:
        deleted = 0
        for generation in self._place.manifests():
            own = [one.revision for one in ledger.revisions if one.generation == generation]
            writer = self._place.writer(generation)
            for filter_ in unseen((*own, *beyond)):
                wanted = of_tenant(self._tenant, filter_)
                count = writer.count(wanted)
                if count:
                    writer.delete(wanted)
                deleted += count
        return deleted


def is_rolled_back(
    ledger: TenantLedger, moved_back_from: int, revision: int | None, head: int | None
) -> bool:
    """
    Return whether what a rollback asks for is done already.

    Args:
        ledger: As of the head.
        moved_back_from: The revision that the last rollback left.
        revision: Where the head shall go; None for the revision before it.
        head: Where the head is expected, or None.

    Raises:
        InvalidRequest: The head is somewhere else.
    """
    if revision == ledger.revision:
        return True
    if head in (None, ledger.revision):
        return False
    if revision is None and moved_back_from == head:
        return True
    raise InvalidRequest(
        "head",
        f"the head is at revision {ledger.revision}, not at {head}: something else was published "
        "or rolled back; look with `indexes list`",
    )


def back_at(ledger: TenantLedger, revision: int | None) -> TenantLedger:
    """
    Return the ledger as it was at a kept revision; None stands for the one before the head.

    Raises:
        InvalidRequest: There is no such revision to go back to.
    """
    back = [one for one in ledger.revisions[:-1] if one.generation]
    named = [one for one in back if revision in (None, one.revision)]
    if not named:
        kept = ", ".join(str(one.revision) for one in back) or "none"
        asked = "the revision before the head" if revision is None else f"revision {revision}"
        raise InvalidRequest(
            "revision", f"{asked} is not kept, or not before the head; kept before it: {kept}"
        )
    found = named[-1]
    rows = as_of((*ledger.rows, *ledger.earlier), found.revision)
    return replace(
        ledger,
        generation=found.generation,
        revision=found.revision,
        rows=tuple(row for row in rows if row.generation == found.generation),
        earlier=tuple(row for row in rows if row.generation != found.generation),
        revisions=tuple(one for one in ledger.revisions if one.revision <= found.revision),
        newest_revision=max(ledger.newest_revision, ledger.revision),
    )


def _readers(ledger: TenantLedger, source_id: str) -> tuple[str, ...] | None:
    """
    Return who may know of a source.

    Raises:
        SourceUnknown: The ledger knows no such source.
    """
    known = [row for row in (*ledger.earlier, *ledger.rows) if row.source_id == source_id]
    if known:
        return known[-1].readers
    for one in ledger.tombstones:
        if one.source_id == source_id:
            return one.readers
    raise SourceUnknown(source_id)


def _count(ledger: TenantLedger) -> int:
    return len(ledger.rows) + len(ledger.earlier)
