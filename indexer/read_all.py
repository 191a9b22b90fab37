"""
Read every file of a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from adapters.records import TenantLedger, Tombstone
from assembler.model import FieldType
from indexer.cut_source import sha256_of
from indexer.language import language_of
from indexer.plan import Wanted, described_sha256, with_active
from indexer.ports import Progress
from indexer.read_source import Unreadable, read_source
from indexer.request import IndexRequest, Summary
from indexer.sources import SourceFile, filterable, find_sources, is_code


@dataclass(frozen=True, slots=True)
class ReadSource:
    """
    A source version with its text.
    """

    wanted: Wanted
    text: str
    language: str


def read_all(
    request: IndexRequest,
    schema: Mapping[str, FieldType],
    ledger: TenantLedger,
    summary: Summary,
    progress: Progress,
) -> tuple[dict[tuple[str, str], ReadSource], Mapping[str, SourceFile]]:
    """
    Return what could be read by source and label, and the files that could not by source.

    Readers that the sources file does not name stay as they are stored: a run never opens a source
    by saying nothing. A purged source is left out.
    """
    stored = {row.source_id: row.readers for row in ledger.rows}
    purged = {one.source_id: one for one in ledger.tombstones}
    files, skipped = find_sources(
        request.paths,
        sources_file=request.sources_file,
        version=request.version,
        language=request.language,
        hidden=summary.hidden,
    )
    summary.unreadable += skipped
    reads: list[ReadSource] = []
    failed: dict[str, SourceFile] = {}
    for number, found in enumerate(files):
        file = found
        if found.source_id in purged:
            summary.unreadable.append(_purged(found, purged[found.source_id]))
            continue
        if not found.names_readers:
            file = replace(found, readers=stored.get(found.source_id))
        try:
            reads.append(_read(file, schema, request.most_file_bytes))
        except Unreadable as error:
            failed[file.source_id] = file
            summary.unreadable.append(error)
        progress("reading", number + 1, len(files))
    active = {one.name: one for one in with_active([read.wanted for read in reads])}
    return {
        read.wanted.name: replace(read, wanted=active[read.wanted.name]) for read in reads
    }, failed


def _purged(file: SourceFile, tombstone: Tombstone) -> Unreadable:
    reason = (
        f"source {tombstone.source_id!r} was purged at {tombstone.purged_at} and is left out; "
        "`indexes unpurge` allows it again"
    )
    return Unreadable(str(file.path), reason)


def _read(file: SourceFile, schema: Mapping[str, FieldType], most_bytes: int) -> ReadSource:
    read = read_source(file.path, file.media_type, most_bytes)
    text = read.text
    file = replace(file, metadata={**read.metadata, **file.metadata}, left_out=read.left_out)
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
    return ReadSource(wanted, text, language)
