"""
One run of the indexer: the full desired state of one (index, tenant, source set), published once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from adapters.store import (
    Bm25Spec,
    ChunkerSpec,
    EmbeddingSpec,
    IndexStore,
    LedgerRow,
    Manifest,
    Publication,
    RevisionSummary,
)
from assembler.errors import InvalidRequest, ProfileUnknown
from assembler.model import FOREVER, FieldType
from assembler.profile import PROFILES, profile_of
from indexer.configuration import chunker_for
from indexer.cut_source import CHUNKER, CutSource, cut_source
from indexer.language import Foreign, tokens_per_word, unknown_share
from indexer.plan import Plan, Wanted, described_sha256, ended_rows, make_plan
from indexer.ports import DocumentEmbedder, Progress
from indexer.read_all import ReadSource, read_all
from indexer.request import IndexRequest, Summary
from indexer.sources import SourceFile, filterable, is_code
from indexer.write import Writer


def manifest_of(
    embedding: EmbeddingSpec, schema: Mapping[str, FieldType], chunker: ChunkerSpec = CHUNKER
) -> Manifest:
    """
    Return the configuration that this release makes of an embedding model, a schema and a chunker.
    """
    return Manifest(chunker, embedding, Bm25Spec(), schema, section_vectors=True)


def run_index(
    request: IndexRequest,
    store: IndexStore,
    embedder: DocumentEmbedder,
    progress: Progress,
    *,
    profiles: Collection[str] = tuple(PROFILES),
    clock: Callable[[], float] = time.perf_counter,
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

    Raises:
        InvalidRequest: The request or the sources file contradicts itself or the index.
        ProfileUnknown: The request names a profile that there is not.
        IndexUnavailable: Another process writes this index, or it cannot be written.
    """
    started = clock()
    if request.profile is not None and request.profile not in profiles:
        raise ProfileUnknown(request.profile, tuple(sorted(profiles)))
    summary = Summary()
    with store.publication(request.index, request.tenant) as publication:
        schema = request.schema
        if schema is None:
            schema = publication.manifest.fields if publication.manifest else {}
        reads, failed = read_all(request, schema, publication.ledger.rows, summary, progress)
        plan = _plan(request, publication, reads, failed)
        chunker = chunker_for(request, publication.manifest, embedder)
        manifest = manifest_of(embedder.spec, schema, chunker)
        if not request.paths and request.schema is None and publication.manifest:
            manifest = publication.manifest  # what writes no text changes no configuration
        profile = request.profile or _profile(manifest, publication)
        manifest = replace(manifest, profile=profile)
        _apply(request, publication, manifest, plan, reads, embedder, summary, progress)
    summary.seconds = clock() - started
    return summary


def _profile(manifest: Manifest, publication: Publication) -> str:
    """
    Return the profile that the index has, also by another tenant; for a new one or another model
    the model's own.
    """
    model = manifest.embedding.model
    present = publication.manifest_of(manifest.generation) or publication.manifest
    if present is not None and present.embedding.model == model:
        return present.profile
    return profile_of(model.name)


def _plan(
    request: IndexRequest,
    publication: Publication,
    reads: Mapping[tuple[str, str], ReadSource],
    failed: Mapping[str, SourceFile],
) -> Plan:
    ledger = publication.ledger
    live = [row for row in ledger.rows if ledger.revision < row.to_rev]
    known = {row.source_id for row in live}
    unknown = sorted(set(request.remove) - known)
    if unknown:
        raise InvalidRequest("remove", f"source {unknown[0]!r} is not in the index")
    in_set = any(row.source_set == request.source_set for row in live)
    if request.paths and not reads and in_set and not request.upsert:
        raise InvalidRequest(
            "paths", "hold no readable file; to empty an index, name its sources with --remove"
        )
    removed = frozenset(request.remove)
    return make_plan(
        [read.wanted for read in reads.values() if read.wanted.file.source_id not in removed],
        ledger.rows,
        revision=ledger.revision,
        source_set=request.source_set,
        removed=removed,
        touches_all=bool(request.paths) and not request.upsert,
        keep_versions=request.keep_versions,
        untouched={name: file.readers for name, file in failed.items()},
    )


def _apply(
    request: IndexRequest,
    publication: Publication,
    manifest: Manifest,
    plan: Plan,
    reads: Mapping[tuple[str, str], ReadSource],
    embedder: DocumentEmbedder,
    summary: Summary,
    progress: Progress,
) -> None:
    ledger = publication.ledger
    reads = {name: read for name, read in reads.items() if name[0] not in request.remove}
    is_new = manifest.generation != ledger.generation
    to_write = list(plan.write)
    ends, kept = plan.ends, plan.unchanged
    if is_new and ledger.revision:
        to_write, ends, kept = _rewritten(plan, reads), (), ()
    readers = {name: value for name, value in plan.readers.items() if not is_new}
    required = _readers_required(request, publication, reads)
    summary.documents = len(reads)
    summary.unchanged = sum(1 for row in kept if (row.source_id, row.version) in reads)
    summary.ended = sum(1 for end in plan.ends if end.is_removed)
    if (
        not (to_write or ends or readers)
        and required == ledger.readers_required
        and not (is_new and reads)
        and (publication.manifest is None or publication.manifest.profile == manifest.profile)
    ):
        summary.index_version = f"{ledger.generation}.{ledger.revision}" if ledger.revision else ""
        return
    publication.open_generation(manifest)
    revision = ledger.revision + 1
    writer = Writer(publication, embedder, progress)
    fresh: list[LedgerRow] = []
    foreign = Foreign()
    for one in to_write:
        cut = _cut(reads[one.name], one, request, manifest, revision, embedder, foreign)
        writer.add(cut)
        summary.reasons.update([cut.reason] if cut.reason else [])
        fresh.append(_row(cut, request, revision, is_active=one.is_active))
    writer.flush()
    summary.warnings += foreign.warnings()
    for end in ends:
        publication.end_version(
            end.row,
            active_to_rev=min(end.row.active_to_rev, revision),
            to_rev=revision if end.is_removed else None,
        )
    for source_id, names in readers.items():
        publication.set_readers(source_id, names)
    rows = [] if is_new else list(ended_rows(ledger.rows, ends, revision).values())
    rows = [
        replace(row, readers=readers[row.source_id]) if row.source_id in readers else row
        for row in rows
    ]
    summary.written = len(fresh)
    summary.sections = sum(row.sections for row in fresh)
    summary.chunks = sum(row.chunks for row in fresh)
    summary.tokens = sum(row.tokens for row in fresh)
    summary.embedded, summary.reused = writer.embedded, writer.reused
    version = publication.commit(
        [*rows, *fresh],
        readers_required=required,
        summary=RevisionSummary(
            revision=revision,
            published_at=datetime.now(UTC).isoformat(timespec="microseconds"),
            added=len(fresh),
            ended=summary.ended,
            embedded=writer.embedded,
            reused=writer.reused,
        ),
    )
    summary.index_version = str(version)
    summary.is_published = True


def _rewritten(plan: Plan, reads: Mapping[tuple[str, str], ReadSource]) -> list[Wanted]:
    """
    Return everything that has to be written again for another configuration.

    Raises:
        InvalidRequest: Something is to be kept whose text this run was not given.
    """
    lost = [row for row in plan.unchanged if (row.source_id, row.version) not in reads]
    if lost:
        raise InvalidRequest(
            "index",
            f"its configuration changes (model, schema or cutting), and source "
            f"{lost[0].source_id!r}, version {lost[0].version!r}, would be lost; give every source "
            "in this run, or take another index name",
        )
    return [read.wanted for read in reads.values()]


def _readers_required(
    request: IndexRequest, publication: Publication, reads: Mapping[tuple[str, str], ReadSource]
) -> bool:
    if request.readers_required is not None:
        return request.readers_required
    named = any(read.wanted.file.readers is not None for read in reads.values())
    return publication.ledger.readers_required or named


def _cut(
    read: ReadSource,
    one: Wanted,
    request: IndexRequest,
    manifest: Manifest,
    revision: int,
    embedder: DocumentEmbedder,
    foreign: Foreign,
) -> CutSource:
    cut = cut_source(
        one.file,
        read.text,
        tenant=request.tenant,
        language=read.language,
        fields=filterable(one.file.metadata, manifest.fields),
        revision=revision,
        is_active=one.is_active,
        embedder=embedder,
        chunker=manifest.chunker,
    )
    if not is_code(one.file.media_type):  # names in code have many tokens in every language
        count = embedder.count
        ratio, unknown = tokens_per_word(read.text, count), unknown_share(read.text, count)
        foreign.add(read.language, ratio, unknown)
    return cut


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
