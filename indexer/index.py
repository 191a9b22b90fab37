"""
One run of the indexer: the full desired state of one (index, tenant, source set), published once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from adapters.store import (
    Bm25Spec,
    IndexStore,
    LedgerRow,
    Manifest,
    Publication,
    RevisionSummary,
)
from assembler.errors import InvalidRequest
from assembler.model import FOREVER, FieldType
from indexer.cut_source import CHUNKER, CutSource, cut_source, sha256_of
from indexer.language import Foreign, language_of, tokens_per_word
from indexer.plan import Plan, Wanted, described_sha256, ended_rows, make_plan, with_active
from indexer.ports import DocumentEmbedder, Progress
from indexer.read_source import MOST_BYTES, Unreadable, read_source
from indexer.sources import SourceFile, filterable, find_sources, is_code
from indexer.write import Writer

DEFAULT_SET = "default"


@dataclass(frozen=True, slots=True)
class IndexRequest:
    """
    What to index, and how.

    Attributes:
        schema: Filterable fields; None keeps those of the index (none for a new one).
        upsert: Add or replace the given sources and leave the others of the set.
        remove: Sources to end.
        keep_versions: Earlier versions of a source that stay readable.
        readers_required: Sources without readers are invisible; None keeps what is.
    """

    index: str
    paths: tuple[Path, ...] = ()
    tenant: str = ""
    version: str | None = None
    language: str | None = None
    sources_file: Path | None = None
    source_set: str = DEFAULT_SET
    schema: Mapping[str, FieldType] | None = None
    upsert: bool = False
    remove: tuple[str, ...] = ()
    keep_versions: int = 0
    readers_required: bool | None = None
    most_file_bytes: int = MOST_BYTES


@dataclass(slots=True)
class Summary:
    """
    What a run did.

    Attributes:
        index_version: The version that is served now.
        documents: Source versions of the run's files that are readable now.
        tokens: Tokens of the embedding model in what was written.
        embedded: Chunks that were embedded.
        reused: Chunks whose vector was there already.
    """

    index_version: str = ""
    is_published: bool = False
    documents: int = 0
    written: int = 0
    unchanged: int = 0
    ended: int = 0
    sections: int = 0
    chunks: int = 0
    tokens: int = 0
    embedded: int = 0
    reused: int = 0
    seconds: float = 0.0
    unreadable: list[Unreadable] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Read:
    wanted: Wanted
    text: str
    language: str


def run_index(
    request: IndexRequest,
    store: IndexStore,
    embedder: DocumentEmbedder,
    progress: Progress,
    *,
    clock: Callable[[], float] = time.perf_counter,
) -> Summary:
    """
    Bring the index to the desired state and return what was done; one bad file does not stop it.

    Raises:
        InvalidRequest: The request or the sources file contradicts itself or the index.
        IndexUnavailable: Another process writes this index, or it cannot be written.
    """
    started = clock()
    summary = Summary()
    with store.publication(request.index, request.tenant) as publication:
        schema = request.schema
        if schema is None:
            schema = publication.manifest.fields if publication.manifest else {}
        reads, failed = _read_all(request, schema, summary, progress)
        plan = _plan(request, publication, reads, failed)
        manifest = Manifest(CHUNKER, embedder.spec, Bm25Spec(), schema)
        _apply(request, publication, manifest, plan, reads, embedder, summary, progress)
    summary.seconds = clock() - started
    return summary


def _read_all(
    request: IndexRequest,
    schema: Mapping[str, FieldType],
    summary: Summary,
    progress: Progress,
) -> tuple[dict[tuple[str, str], _Read], frozenset[str]]:
    """
    Return what could be read by source and label, and the sources that could not.
    """
    files, skipped = find_sources(
        request.paths,
        sources_file=request.sources_file,
        version=request.version,
        language=request.language,
    )
    summary.unreadable += skipped
    reads: list[_Read] = []
    failed: set[str] = set()
    for number, file in enumerate(files):
        try:
            reads.append(_read(file, schema, request.most_file_bytes))
        except Unreadable as error:
            failed.add(file.source_id)
            summary.unreadable.append(error)
        progress("reading", number + 1, len(files))
    active = {one.name: one for one in with_active([read.wanted for read in reads])}
    return {
        read.wanted.name: replace(read, wanted=active[read.wanted.name]) for read in reads
    }, frozenset(failed)


def _read(file: SourceFile, schema: Mapping[str, FieldType], most_bytes: int) -> _Read:
    text = read_source(file.path, file.media_type, most_bytes)
    try:
        filterable(file.metadata, schema)
    except ValueError as error:
        raise Unreadable(str(file.path), str(error)) from error
    language = file.language
    if language is None:
        language = language_of(text, is_code=is_code(file.media_type))
    content_sha256 = sha256_of(text)
    wanted = Wanted(
        file=file,
        version=file.version or content_sha256[:12],
        content_sha256=content_sha256,
        described_sha256=described_sha256(file, language),
    )
    return _Read(wanted, text, language)


def _plan(
    request: IndexRequest,
    publication: Publication,
    reads: Mapping[tuple[str, str], _Read],
    failed: frozenset[str],
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
    return make_plan(
        [read.wanted for read in reads.values()],
        ledger.rows,
        revision=ledger.revision,
        source_set=request.source_set,
        removed=frozenset(request.remove),
        touches_all=bool(request.paths) and not request.upsert,
        keep_versions=request.keep_versions,
        untouched=failed,
    )


def _apply(
    request: IndexRequest,
    publication: Publication,
    manifest: Manifest,
    plan: Plan,
    reads: Mapping[tuple[str, str], _Read],
    embedder: DocumentEmbedder,
    summary: Summary,
    progress: Progress,
) -> None:
    ledger = publication.ledger
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


def _rewritten(plan: Plan, reads: Mapping[tuple[str, str], _Read]) -> list[Wanted]:
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
    request: IndexRequest, publication: Publication, reads: Mapping[tuple[str, str], _Read]
) -> bool:
    if request.readers_required is not None:
        return request.readers_required
    named = any(read.wanted.file.readers is not None for read in reads.values())
    return publication.ledger.readers_required or named


def _cut(
    read: _Read,
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
    )
    foreign.add(read.language, tokens_per_word(read.text, embedder.count))
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
