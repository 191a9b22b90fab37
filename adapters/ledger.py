"""
Heads and ledgers: what is known of each tenant's part of an index, and how it is written down.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from adapters.bm25 import bm25_language
from adapters.store import LedgerRow, Manifest, RevisionSummary, TenantLedger
from assembler.errors import IndexUnusable
from assembler.model import FOREVER
from assembler.ports import IndexSchema, IndexState, SourceRow
from assembler.scope import IndexVersion

FORMAT = 1
"""The newest format of heads, ledgers and payloads that this release reads; it writes this one."""

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class Head:
    """
    One tenant's part of an index, as readers need it.

    Attributes:
        generation: None before the first publish.
        oldest_revision: The first revision of the generation.
        languages: BM25 languages of everything stored.
        chunks: Stored chunks, ended ones included.
    """

    generation: str | None = None
    revision: int = 0
    oldest_revision: int = 0
    readers_required: bool = False
    languages: tuple[str, ...] = ()
    chunks: int = 0

    def moved(
        self,
        generation: str,
        revision: int,
        rows: Sequence[LedgerRow],
        *,
        readers_required: bool,
    ) -> Head:
        """
        Return the head after a publish.
        """
        is_same = generation == self.generation
        return Head(
            generation=generation,
            revision=revision,
            oldest_revision=self.oldest_revision if is_same else revision,
            readers_required=readers_required,
            languages=tuple(sorted({bm25_language(row.language) for row in rows})),
            chunks=sum(row.chunks for row in rows),
        )


HEAD = TypeAdapter(Head)
HEADS = TypeAdapter(dict[str, Head])
MANIFEST = TypeAdapter(Manifest)
ROW = TypeAdapter(LedgerRow)
ROWS = TypeAdapter(tuple[LedgerRow, ...])
REVISION = TypeAdapter(RevisionSummary)
REVISIONS = TypeAdapter(tuple[RevisionSummary, ...])


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
        model=manifest.embedding.model,
        schema=IndexSchema(manifest.fields, head.readers_required),
        languages=head.languages,
        profile=manifest.profile,
        has_section_vectors=manifest.section_vectors,
    )


def source_rows(rows: Sequence[LedgerRow], source_id: str) -> list[SourceRow]:
    """
    Return the rows of one source, oldest first.
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
    return sorted(found, key=lambda row: (row.from_rev, row.version))


def as_of(rows: Sequence[LedgerRow], revision: int) -> tuple[LedgerRow, ...]:
    """
    Return the rows as a revision has them: later ones gone, later ends open again.
    """
    return tuple(
        replace(
            row,
            active_to_rev=FOREVER if row.active_to_rev > revision else row.active_to_rev,
            to_rev=FOREVER if row.to_rev > revision else row.to_rev,
        )
        for row in rows
        if row.from_rev <= revision
    )


def tenant_ledger(
    head: Head, rows: Sequence[LedgerRow], revisions: Sequence[RevisionSummary]
) -> TenantLedger:
    """
    Return everything known of one tenant's part.
    """
    return TenantLedger(
        generation=head.generation,
        revision=head.revision,
        readers_required=head.readers_required,
        rows=tuple(sorted(rows, key=lambda row: (row.source_id, row.from_rev, row.version))),
        revisions=tuple(sorted(revisions, key=lambda summary: summary.revision)),
    )
