"""
One run of the indexer: the full desired state of one (index, tenant, source set), published once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import UTC, datetime

from adapters.document_embedder import DocumentEmbedder
from adapters.records import LedgerRow, RevisionSummary
from adapters.store import IndexStore, Manifest, Publication
from assembler.model import FOREVER
from assembler.profile import PROFILES
from indexer.cut_source import CutSource, cut_source
from indexer.language import Foreign, tokens_per_word, unknown_share
from indexer.oddities import oddities_of
from indexer.plan import Wanted, described_sha256, ended_rows
from indexer.ports import ChatModel, Progress
from indexer.prepare import Prepared, prepare
from indexer.read_all import ReadSource
from indexer.request import IndexRequest, Summary
from indexer.sources import filterable, is_code
from indexer.write import Writer


def run_index(
    request: IndexRequest,
    store: IndexStore,
    embedder: DocumentEmbedder,
    progress: Progress,
    *,
    profiles: Collection[str] = tuple(PROFILES),
    clock: Callable[[], float] = time.perf_counter,
    is_published: bool = True,
    chat: ChatModel | None = None,
) -> Summary:
    """
    Bring the index to the desired state and return what was done; one bad file does not stop it.

    Args:
        request: What to index, and how.
        store: Where.
        embedder: With which model.
        progress: Told how far it is.
        profiles: Names of the profiles that requests may name.
        clock: Seconds, for the summary.
        is_published: False leaves the publishing for later: the build waits.
        chat: Is asked where the cutting names a model that writes.

    Raises:
        InvalidRequest: The request or the sources file contradicts itself or the index.
        ProfileUnknown: The request names a profile that there is not.
        ChatUnavailable: A model that writes gives no answer; nothing is published.
        IndexUnavailable: Another process writes this index, or it cannot be written.
    """
    started = clock()
    summary = Summary()
    with store.publication(request.index, request.tenant) as publication:
        prepared = prepare(request, publication, embedder, summary, progress, profiles=profiles)
        ledger = publication.ledger
        if prepared.is_nothing:
            version = f"{ledger.generation}.{ledger.revision}"
            summary.index_version = version if ledger.revision else ""
        else:
            rows, done = _write(request, publication, prepared, embedder, summary, progress, chat)
            end = publication.commit if is_published else publication.stage
            required = prepared.readers_required
            summary.index_version = str(end(rows, readers_required=required, summary=done))
            summary.is_published, summary.is_built = is_published, not is_published
    summary.seconds = clock() - started
    return summary


def _write(
    request: IndexRequest,
    publication: Publication,
    prepared: Prepared,
    embedder: DocumentEmbedder,
    summary: Summary,
    progress: Progress,
    chat: ChatModel | None,
) -> tuple[list[LedgerRow], RevisionSummary]:
    ledger, readers = publication.ledger, prepared.readers
    publication.open_generation(prepared.manifest)
    revision = ledger.next_revision
    writer = Writer(publication, embedder, progress)
    fresh: list[LedgerRow] = []
    foreign = Foreign()
    for one in prepared.write:
        read = prepared.reads[one.name]
        cut = cut_wanted(read, one, request, prepared.manifest, revision, embedder, chat)
        _note_language(read, one, embedder, foreign)
        writer.add(cut)
        summary.reasons.update([cut.reason] if cut.reason else [])
        summary.report.add(cut)
        summary.counts.update(cut.counts)
        summary.warnings += oddities_of(cut)
        fresh.append(_row(cut, request, revision, is_active=one.is_active))
    writer.flush()
    summary.warnings += foreign.warnings()
    for end in prepared.ends:
        publication.end_version(
            end.row,
            active_to_rev=min(end.row.active_to_rev, revision),
            to_rev=revision if end.is_removed else None,
        )
    for source_id, names in readers.items():
        publication.set_readers(source_id, names)
    rows: list[LedgerRow] = []
    if not prepared.is_new:
        rows = list(ended_rows(ledger.rows, prepared.ends, revision).values())
    rows = [
        replace(row, readers=readers[row.source_id]) if row.source_id in readers else row
        for row in rows
    ]
    summary.written = len(fresh)
    summary.sections = sum(row.sections for row in fresh)
    summary.chunks = sum(row.chunks for row in fresh)
    summary.tokens = sum(row.tokens for row in fresh)
    summary.embedded, summary.reused = writer.embedded, writer.reused
    return [*rows, *fresh], RevisionSummary(
        revision=revision,
        published_at=datetime.now(UTC).isoformat(timespec="microseconds"),
        added=len(fresh),
        ended=summary.ended,
        embedded=writer.embedded,
        reused=writer.reused,
    )


def cut_wanted(
    read: ReadSource,
    one: Wanted,
    request: IndexRequest,
    manifest: Manifest,
    revision: int,
    embedder: DocumentEmbedder,
    chat: ChatModel | None = None,
) -> CutSource:
    """
    Return a source that is to be written, cut.
    """
    return cut_source(
        one.file,
        read.text,
        tenant=request.tenant,
        language=read.language,
        fields=filterable(one.file.metadata, manifest.fields),
        revision=revision,
        is_active=one.is_active,
        embedder=embedder,
        chunker=manifest.chunker,
        chat=chat,
    )


def _note_language(
    read: ReadSource, one: Wanted, embedder: DocumentEmbedder, foreign: Foreign
) -> None:
    if not is_code(one.file.media_type):  # names in code have many tokens in every language
        count = embedder.count
        ratio, unknown = tokens_per_word(read.text, count), unknown_share(read.text, count)
        foreign.add(read.language, ratio, unknown)


def _row(cut: CutSource, request: IndexRequest, revision: int, *, is_active: bool) -> LedgerRow:
    return LedgerRow(
        source_id=cut.file.source_id,
        version=cut.version,
        content_sha256=cut.content_sha256,
        source_set=request.source_set,
        described_sha256=described_sha256(cut.file, cut.language),
        language=cut.language,
        title=cut.title,
        uri=cut.file.uri,
        media_type=cut.file.media_type,
        chars=len(cut.text),
        sections=len(cut.sections),
        chunks=len(cut.drafts),
        tokens=cut.tokens,
        readers=cut.file.readers,
        from_rev=revision,
        active_to_rev=FOREVER if is_active else revision,
        to_rev=FOREVER,
    )
