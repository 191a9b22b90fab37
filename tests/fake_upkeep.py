"""
How what `FakeIndex` stores is looked at, rolled back, collected and purged.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from adapters.point_upkeep import back_at, is_rolled_back
from adapters.points import PointReader
from adapters.records import Collected, Purged, Retention, TenantLedger, Tombstone
from adapters.retention import kept_revisions, ledger_after
from adapters.store import Manifest
from assembler.errors import SourceUnknown
from assembler.model import PointKind
from assembler.scope import IndexVersion
from tests.fake_store import Part, Snapshot, StoredIndex


class FakePartReader:
    """
    A `PartReader` of a part.
    """

    def __init__(self, index: StoredIndex, part: Part) -> None:
        self._index = index
        self._part = part

    @property
    def ledger(self) -> TenantLedger:
        """
        Return what is known of it.
        """
        return self._part.ledger

    @property
    def manifest(self) -> Manifest | None:
        """
        Return the manifest of its generation.
        """
        return self.manifest_of(self._part.ledger.generation or "")

    def manifest_of(self, generation: str) -> Manifest | None:
        """
        Return the manifest of a generation.
        """
        return self._index.manifests.get(generation)

    def reusable_inputs(
        self, source_id: str, content_sha256: str, inputs: Collection[str], target: Manifest
    ) -> Collection[str]:
        """
        Return which embedding inputs need not be embedded again.
        """
        present = self.manifest
        if present is None or present.embedding != target.embedding:
            return ()
        snapshot = self._part.history[self._part.ledger.revision]
        stored = [
            point.chunk.input_sha256
            for point in snapshot.points
            if point.chunk
            and (
                point.provenance.source_id == source_id
                or point.provenance.content_sha256 == content_sha256
            )
        ]
        return [one for one in inputs if one in stored]

    def points(self) -> PointReader:
        """
        Raise: stored payloads are what the engines have.
        """
        raise NotImplementedError


class FakeUpkeep:
    """
    An `Upkeep` that drops snapshots.
    """

    def __init__(self, index: StoredIndex, tenant: str) -> None:
        self._index = index
        self._tenant = tenant

    @property
    def ledger(self) -> TenantLedger:
        """
        Return the state before the call.
        """
        return self._part.ledger

    @property
    def _part(self) -> Part:
        return self._index.parts.get(self._tenant, Part())

    def roll_back(
        self, revision: int | None, *, at: float, head: int | None = None
    ) -> IndexVersion:
        """
        Move the head back.
        """
        del at
        part = self._part
        ledger = part.ledger
        if not is_rolled_back(ledger, part.moved_back_from, revision, head):
            ledger = back_at(part.ledger, revision)
            history = {n: one for n, one in part.history.items() if n <= ledger.revision}
            self._put(ledger, history, moved_back_from=part.ledger.revision)
        return IndexVersion(ledger.generation or "", ledger.revision)

    def collect(self, retention: Retention, *, at: float) -> Collected:
        """
        Drop the revisions that are not kept, and the manifests that nobody uses.
        """
        before, part = self.ledger, self._part
        kept = kept_revisions(before, retention, at)
        ledger = ledger_after(before, kept)
        points = _stored(part)
        history = {revision: part.history[revision] for revision in kept}
        self._put(ledger, {revision: _seen(one, history) for revision, one in history.items()})
        used = {
            one.generation for any_ in self._index.parts.values() for one in any_.ledger.revisions
        }
        removed = tuple(name for name in self._index.manifests if name not in used)
        for name in removed:
            del self._index.manifests[name]
        rows = len(before.rows) + len(before.earlier) - len(ledger.rows) - len(ledger.earlier)
        gone = len(before.revisions) - len(kept)
        return Collected(kept, gone, len(points - _stored(self._part)), rows, removed)

    def purge(self, source_id: str, *, at: float) -> Purged:
        """
        Drop a source from every snapshot.
        """
        before = self.ledger
        rows = [row for row in (*before.rows, *before.earlier) if row.source_id == source_id]
        if not rows and source_id not in {one.source_id for one in before.tombstones}:
            raise SourceUnknown(source_id)
        ids = {
            (point.kind, point.key, point.provenance.from_rev)
            for snapshot in self._part.history.values()
            for point in snapshot.points
            if point.provenance.source_id == source_id
        }
        part = self._part.with_points(
            lambda point: None if point.provenance.source_id == source_id else point
        )
        purged_at = datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
        known = {one.source_id: one for one in before.tombstones}
        readers = rows[-1].readers if rows else known[source_id].readers
        known[source_id] = Tombstone(source_id, purged_at, readers)
        ledger = replace(
            before,
            rows=tuple(row for row in before.rows if row.source_id != source_id),
            earlier=tuple(row for row in before.earlier if row.source_id != source_id),
            tombstones=tuple(known.values()),
        )
        self._put(ledger, part.history)
        return Purged(source_id, len(ids), len(rows))

    def lift_purge(self, source_id: str) -> None:
        """
        Forget a purge.
        """
        left = tuple(one for one in self.ledger.tombstones if one.source_id != source_id)
        if len(left) == len(self.ledger.tombstones):
            raise SourceUnknown(source_id)
        self._put(replace(self.ledger, tombstones=left), self._part.history)

    def _put(
        self,
        ledger: TenantLedger,
        history: Mapping[int, Snapshot],
        *,
        moved_back_from: int | None = None,
    ) -> None:
        before = self._part.moved_back_from
        self._index.parts[self._tenant] = Part(
            ledger, history, before if moved_back_from is None else moved_back_from
        )
        self._index.builds.pop(self._tenant, None)


def _stored(part: Part) -> set[tuple[str | None, PointKind, str, int]]:
    """
    Return what tells the points of a part apart.
    """
    return {
        (snapshot.ledger.generation, point.kind, point.key, point.provenance.from_rev)
        for snapshot in part.history.values()
        for point in snapshot.points
    }


def _seen(snapshot: Snapshot, history: Mapping[int, Snapshot]) -> Snapshot:
    """
    Return the snapshot without the points that no revision of its generation sees.
    """
    generation = snapshot.ledger.generation
    numbers = [n for n, one in history.items() if one.ledger.generation == generation]
    return replace(
        snapshot,
        points=tuple(
            point
            for point in snapshot.points
            if any(point.provenance.from_rev <= n < point.provenance.to_rev for n in numbers)
        ),
    )
