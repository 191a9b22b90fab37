"""
From the desired state and the ledger to what has to be done: pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from adapters.records import LedgerRow
from assembler.errors import InvalidRequest
from indexer.sources import SourceFile

NOTHING: Mapping[str, tuple[str, ...] | None] = {}


@dataclass(frozen=True, slots=True)
class Wanted:
    """
    A source version that is to be readable.

    Attributes:
        described_sha256: Hash of title, uri, media type, language and metadata.
    """

    file: SourceFile
    version: str
    content_sha256: str
    described_sha256: str
    is_active: bool = True

    @property
    def name(self) -> tuple[str, str]:
        """
        Return source and label.
        """
        return self.file.source_id, self.version


@dataclass(frozen=True, slots=True)
class End:
    """
    A published row that ends: as the active version, or as a readable one.
    """

    row: LedgerRow
    is_removed: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """
    What one run does.

    Attributes:
        write: To be written, as new or in place of the row of the same name.
        ends: Rows that end.
        readers: New readers by source, to be set in place.
        unchanged: Rows that stay as they are.
    """

    write: tuple[Wanted, ...]
    ends: tuple[End, ...]
    readers: Mapping[str, tuple[str, ...] | None]
    unchanged: tuple[LedgerRow, ...]

    @property
    def is_empty(self) -> bool:
        """
        Return whether nothing has to be done.
        """
        return not (self.write or self.ends or self.readers)


def described_sha256(file: SourceFile, language: str) -> str:
    """
    Return the hash of everything but the text that makes a source version another one.
    """
    shape = [file.title, file.uri, file.media_type, language, sorted(file.metadata.items())]
    return hashlib.sha256(json.dumps(shape, sort_keys=True, default=list).encode()).hexdigest()


def with_active(wanted: Sequence[Wanted]) -> tuple[Wanted, ...]:
    """
    Return the versions with one active per source: the marked one, else the last given that is
    not marked as not active. A source whose versions are all marked so has none.

    Raises:
        InvalidRequest: One label is on two texts, two files without a label are one source, two
            versions of a source are marked active, or its versions have different readers.
    """
    by_name: dict[tuple[str, str], Wanted] = {}
    first: dict[str, Wanted] = {}
    active: dict[str, Wanted] = {}
    for one in wanted:
        source_id, mark = one.file.source_id, one.file.is_active
        _check_pair(by_name.setdefault(one.name, one), one)
        _check_pair(first.setdefault(source_id, one), one)
        chosen = active.get(source_id)
        if chosen is not None and chosen.file.is_active and mark:
            raise _both(chosen, one, f"are both marked as the active version of {source_id!r}")
        if mark is not False and (chosen is None or not chosen.file.is_active):
            active[source_id] = one
    names = {one.name for one in active.values()}
    return tuple(replace(one, is_active=one.name in names) for one in by_name.values())


def _check_pair(one: Wanted, other: Wanted) -> None:
    """
    Refuse two files of one source that contradict each other.
    """
    source_id = one.file.source_id
    if one.name == other.name and one.content_sha256 != other.content_sha256:
        raise _both(
            *(one, other),
            f"are both version {one.version!r} of source {source_id!r}, with different text; label "
            "one of them differently",
        )
    if one.name != other.name and one.file.version is None and other.file.version is None:
        raise _both(
            *(one, other),
            f"are both source {source_id!r}, with different text; give them labels or different "
            "source ids in a sources file, or index the folder above",
        )
    if one.file.readers != other.file.readers:
        raise _both(
            *(one, other),
            f"are versions of source {source_id!r} with different readers; readers belong to the "
            "source",
        )


def _both(one: Wanted, other: Wanted, problem: str) -> InvalidRequest:
    return InvalidRequest("sources", f"{one.file.path} and {other.file.path} {problem}")


def make_plan(
    wanted: Sequence[Wanted],
    rows: Sequence[LedgerRow],
    *,
    revision: int,
    source_set: str,
    removed: frozenset[str],
    touches_all: bool,
    keep_versions: int,
    untouched: Mapping[str, tuple[str, ...] | None] = NOTHING,
) -> Plan:
    """
    Return what leads from the ledger to the desired state.

    Args:
        wanted: The versions to be readable, each source with one active one.
        rows: The tenant's ledger.
        revision: Its head.
        source_set: Sources of other sets are not touched.
        removed: Sources to end whatever else is said.
        touches_all: Sources of the set that are not wanted end; else they stay.
        keep_versions: Earlier versions of a source that stay readable.
        untouched: Sources whose file could not be read, with their readers: only these are set.

    Raises:
        InvalidRequest: A wanted source belongs to another set.
    """
    live = [row for row in rows if revision < row.to_rev]
    by_name = {(row.source_id, row.version): row for row in live}
    sources = {one.file.source_id for one in wanted}
    replaced = {one.file.source_id for one in wanted if one.is_active}
    _check_set(live, sources, source_set)
    write: list[Wanted] = []
    ends: list[End] = []
    kept: list[LedgerRow] = []
    for one in wanted:
        found = by_name.pop(one.name, None)
        if found is None or not _is_same(one, found, revision):
            write.append(one)
            if found is not None:
                ends.append(End(found, is_removed=True))
        else:
            kept.append(found)
            if not one.is_active and revision < found.active_to_rev:
                ends.append(End(found, is_removed=False))
    for source_id, others in _by_source(by_name.values()).items():
        if source_id in removed:
            stays: Sequence[LedgerRow] = ()
        elif others[0].source_set != source_set or source_id in untouched:
            stays = others
        elif source_id in sources:
            stays = sorted(others, key=lambda row: row.from_rev, reverse=True)[:keep_versions]
        else:
            stays = () if touches_all else others
        kept += stays
        ends += [End(row, is_removed=True) for row in others if row not in stays]
        if source_id in replaced:
            ends += [End(row, is_removed=False) for row in stays if revision < row.active_to_rev]
    return Plan(tuple(write), tuple(ends), _new_readers(wanted, untouched, rows), tuple(kept))


def _new_readers(
    wanted: Sequence[Wanted],
    untouched: Mapping[str, tuple[str, ...] | None],
    rows: Sequence[LedgerRow],
) -> dict[str, tuple[str, ...] | None]:
    stored = {row.source_id: row.readers for row in rows}
    asked = {**untouched, **{one.file.source_id: one.file.readers for one in wanted}}
    return {
        source_id: readers
        for source_id, readers in asked.items()
        if source_id in stored and stored[source_id] != readers
    }


def _check_set(live: Sequence[LedgerRow], sources: set[str], source_set: str) -> None:
    for row in live:
        if row.source_id in sources and row.source_set != source_set:
            raise InvalidRequest(
                "source_set",
                f"source {row.source_id!r} belongs to set {row.source_set!r}, not {source_set!r}",
            )


def ended_rows(
    rows: Sequence[LedgerRow], ends: Sequence[End], revision: int
) -> dict[tuple[str, str, int], LedgerRow]:
    """
    Return every row by source, label and first revision, with the ends applied as of a revision.
    """
    found = {(row.source_id, row.version, row.from_rev): row for row in rows}
    for end in ends:
        row = end.row
        found[row.source_id, row.version, row.from_rev] = _ended(row, end, revision)
    return found


def _ended(row: LedgerRow, end: End, revision: int) -> LedgerRow:
    active = min(row.active_to_rev, revision)
    return replace(row, active_to_rev=active, to_rev=revision if end.is_removed else row.to_rev)


def _is_same(one: Wanted, row: LedgerRow, revision: int) -> bool:
    """
    Return whether a row can stay; one that is to be active again has to be written anew.
    """
    same = row.content_sha256 == one.content_sha256 and row.described_sha256 == one.described_sha256
    return same and not (one.is_active and row.active_to_rev <= revision)


def _by_source(rows: Iterable[LedgerRow]) -> dict[str, list[LedgerRow]]:
    groups: dict[str, list[LedgerRow]] = {}
    for row in rows:
        groups.setdefault(row.source_id, []).append(row)
    return groups
