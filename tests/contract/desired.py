"""
Publishing as the indexer does it: the full desired state of a tenant, and what can be read then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from adapters.records import LedgerRow, RevisionSummary
from adapters.store import IndexStore, Manifest, Publication
from assembler.errors import VersionGone
from assembler.resolve import read_scope
from assembler.scope import IndexVersion, Scope, VersionPolicy
from tests.contract.conftest import Backend
from tests.contract.corpus import Source, manifest

START = 1_767_225_600.0
"""The first of January 2026; revision n is published n minutes later."""

OTHER = manifest(chunker="2")
"""The configuration of a second generation."""


def minutes(count: float) -> float:
    """
    Return a time after `START`, in seconds since the Unix epoch.
    """
    return START + 60 * count


def summary_of(revision: int) -> RevisionSummary:
    """
    Return the summary of a revision, published so many minutes after `START`.
    """
    at = datetime.fromtimestamp(minutes(revision), UTC).isoformat()
    return RevisionSummary(revision, at, 0, 0, 0, 0)


def prepare(
    publication: Publication, wanted: Sequence[Source], *, tenant: str = "", into: Manifest
) -> list[LedgerRow]:
    """
    Write and end what leads to the desired state; return the rows to be committed.
    """
    ledger = publication.ledger
    revision, is_new = ledger.next_revision, into.generation != ledger.generation
    publication.open_generation(into)
    rows = [] if is_new else list(ledger.rows)
    names = {(source.source_id, source.version, source.sha256) for source in wanted}
    live = {}
    for at, row in enumerate(rows):
        if ledger.revision < row.to_rev:
            name = (row.source_id, row.version, row.content_sha256)
            if name in names:
                live[name] = row
            else:
                publication.end_version(row, active_to_rev=revision, to_rev=revision)
                rows[at] = replace(row, active_to_rev=revision, to_rev=revision)
    for source in wanted:
        if (source.source_id, source.version, source.sha256) not in live:
            publication.write(*source.points(tenant, revision))
            rows.append(source.row(revision))
    return rows


def bring_to(
    store: IndexStore, wanted: Sequence[Source], *, tenant: str = "", into: Manifest | None = None
) -> IndexVersion:
    """
    Publish the desired state.
    """
    with store.publication("docs", tenant) as publication:
        target = into or publication.manifest or manifest()
        rows = prepare(publication, wanted, tenant=tenant, into=target)
        summary = summary_of(publication.ledger.next_revision)
        return publication.commit(rows, readers_required=False, summary=summary)


async def readable(
    backend: Backend,
    universe: Sequence[Source],
    version: IndexVersion | None = None,
    *,
    tenant: str = "",
) -> set[tuple[str, str]] | None:
    """
    Return which sources can be read at a version (None: at the head), by id and label, or None
    where the version is gone. Every way to read has to agree, and texts have to be whole.
    """
    state = await backend.reading.resolve("docs", tenant)
    asked = Scope(tenant=tenant, exactly=version, versions=VersionPolicy.ALL)
    try:
        scope = read_scope(state, asked, "request")
    except VersionGone:
        return None
    keys = {p.section.key: source for source in universe for p in source.points(tenant, 1)[1]}
    sections = await backend.reading.sections(scope, list(keys))
    chunk_keys = [p.chunk.key for source in universe for p in source.points(tenant, 1)[0]]
    chunks = await backend.reading.chunks(scope, chunk_keys)
    found = {(one.provenance.source_id, one.provenance.version) for one in sections}
    assert {(one.provenance.source_id, one.provenance.version) for one in chunks} == found
    by_name = {(source.source_id, source.version): source for source in universe}
    for name in found:
        parts = [
            one for one in sections if (one.provenance.source_id, one.provenance.version) == name
        ]
        text = "".join(one.text for one in sorted(parts, key=lambda one: one.span.start))
        assert text == by_name[name].text
    return found
