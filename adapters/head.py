"""
Heads, and builds that wait for the head.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from adapters.bm25 import bm25_language
from adapters.records import TenantLedger
from adapters.store import Manifest
from assembler.scope import IndexVersion

LONGEST_REQUEST_SECONDS = 30.0
"""Longer deadlines are cut to this."""

SETTLE_SECONDS = LONGEST_REQUEST_SECONDS + 1.0
"""How long a request may go on with a head that has moved, which was cached for a second."""


@dataclass(frozen=True, slots=True)
class Head:
    """
    One tenant's part of an index, as readers need it.

    Attributes:
        generation: None before the first publish.
        oldest_revision: The first revision that can be read.
        languages: BM25 languages of everything stored.
        chunks: Stored chunks, ended ones included.
        gone: Revisions after the oldest that cannot be read: they were rolled back.
        newest_revision: The highest number that was ever published.
        moved_back_at: When it was rolled back, in seconds since the Unix epoch; 0 once a publish
            has followed, or where it never was.
        moved_back_from: The revision that the last of these rollbacks left; 0 likewise.
    """

    generation: str | None = None
    revision: int = 0
    oldest_revision: int = 0
    readers_required: bool = False
    languages: tuple[str, ...] = ()
    chunks: int = 0
    gone: tuple[int, ...] = ()
    newest_revision: int = 0
    moved_back_at: float = 0.0
    moved_back_from: int = 0

    @property
    def is_rolled_back(self) -> bool:
        """
        Return whether revisions beyond the head were published.
        """
        return self.newest_revision > self.revision


@dataclass(frozen=True, slots=True)
class Build:
    """
    A revision that is written and waits to be published.

    Attributes:
        base_generation: The head that it was built on.
        base_revision: Its revision.
        head: Where the head goes.
        manifest: Of the generation that it goes into.
        published_at: The time of its revision.
        points: How many were written.
        readers: Access lists to be set when it is published, by source.
    """

    base_generation: str | None
    base_revision: int
    head: Head
    manifest: Manifest
    published_at: str
    points: int
    readers: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)


def head_of(ledger: TenantLedger, *, moved_back_at: float = 0.0, moved_back_from: int = 0) -> Head:
    """
    Return the head of a ledger.
    """
    stay = _present_stay(ledger)
    oldest = stay[-1] if stay else ledger.revision
    return Head(
        generation=ledger.generation,
        revision=ledger.revision,
        oldest_revision=oldest,
        readers_required=ledger.readers_required,
        languages=tuple(sorted({bm25_language(row.language) for row in ledger.rows})),
        chunks=sum(row.chunks for row in ledger.rows),
        gone=tuple(sorted(set(range(oldest, ledger.revision)).difference(stay))),
        newest_revision=max(ledger.newest_revision, ledger.revision),
        # Whole seconds: Qdrant returns one in eight fractions with another last bit, and the head
        # that is read back is compared with the one that was written.
        moved_back_at=float(math.ceil(moved_back_at)),
        moved_back_from=moved_back_from,
    )


def kept_head(before: Head, ledger: TenantLedger) -> Head:
    """
    Return the head of a ledger that is changed where the head stands.
    """
    return head_of(
        ledger, moved_back_at=before.moved_back_at, moved_back_from=before.moved_back_from
    )


def sees(head: Head, version: IndexVersion) -> bool:
    """
    Return whether a version can be read where this is the head.
    """
    return (
        version.generation == head.generation
        and head.oldest_revision <= version.revision <= head.revision
        and version.revision not in head.gone
    )


def covers(later: Head, earlier: Head) -> bool:
    """
    Return whether every version that could be read where a head was can be read where it is now.
    """
    return (
        later.generation == earlier.generation
        and later.oldest_revision <= earlier.oldest_revision
        and later.revision >= earlier.revision
        and not any(
            earlier.oldest_revision <= revision <= earlier.revision
            for revision in set(later.gone).difference(earlier.gone)
        )
    )


def _present_stay(ledger: TenantLedger) -> list[int]:
    """
    Return the kept revisions since the tenant came into its generation, newest first.
    """
    stay: list[int] = []
    for summary in reversed(ledger.revisions):
        if summary.generation != ledger.generation:
            break
        stay.append(summary.revision)
    return stay
