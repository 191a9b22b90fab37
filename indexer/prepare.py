"""
From the files and the ledger to what a run does; nothing is written here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from adapters.document_embedder import DocumentEmbedder
from adapters.payload_keys import payload_path
from adapters.records import LedgerRow, TenantLedger
from adapters.store import Bm25Spec, ChunkerSpec, EmbeddingSpec, Manifest
from assembler.errors import InvalidRequest, ProfileUnknown
from assembler.model import FIELDS_PREFIX, FieldType
from assembler.profile import PROFILES, profile_of
from indexer.configuration import chunker_for
from indexer.cut_source import CHUNKER
from indexer.plan import End, Plan, Wanted, make_plan
from indexer.ports import Progress
from indexer.read_all import ReadSource, read_all
from indexer.request import IndexRequest, Summary
from indexer.sources import SourceFile


class Part(Protocol):
    """
    What has to be known of the index: of one that is written, and of one that is looked at.
    """

    @property
    def ledger(self) -> TenantLedger:
        """
        Return the state before the run.
        """
        ...

    @property
    def manifest(self) -> Manifest | None:
        """
        Return the manifest of the tenant's present generation.
        """
        ...

    def manifest_of(self, generation: str) -> Manifest | None:
        """
        Return the manifest of a generation.
        """
        ...


@dataclass(frozen=True, slots=True)
class Prepared:
    """
    What a run does.

    Attributes:
        reads: The texts by source and label.
        write: What is written.
        ends: Published rows that end.
        kept: Published rows that stay.
        readers: New readers by source.
        readers_required: Whether absent readers mean invisible from now on.
        is_new: Whether another generation is written, in which nothing is carried over.
        is_nothing: Whether the index is as desired already.
    """

    manifest: Manifest
    plan: Plan
    reads: Mapping[tuple[str, str], ReadSource]
    write: Sequence[Wanted]
    ends: Sequence[End]
    kept: Sequence[LedgerRow]
    readers: Mapping[str, tuple[str, ...] | None]
    readers_required: bool
    is_new: bool
    is_nothing: bool


def manifest_of(
    embedding: EmbeddingSpec, schema: Mapping[str, FieldType], chunker: ChunkerSpec = CHUNKER
) -> Manifest:
    """
    Return the configuration that this release makes of an embedding model, a schema and a chunker.
    """
    return Manifest(chunker, embedding, Bm25Spec(), schema, section_vectors=True)


def prepare(
    request: IndexRequest,
    part: Part,
    embedder: DocumentEmbedder,
    summary: Summary,
    progress: Progress,
    *,
    profiles: Collection[str] = tuple(PROFILES),
) -> Prepared:
    """
    Return what leads to the desired state; counts and findings go into the summary.

    Raises:
        InvalidRequest: The request or the sources file contradicts itself or the index.
        ProfileUnknown: The request names a profile that there is not.
    """
    if request.profile is not None and request.profile not in profiles:
        raise ProfileUnknown(request.profile, tuple(sorted(profiles)))
    ledger, present = part.ledger, part.manifest
    schema = request.schema
    if schema is None:
        schema = present.fields if present else {}
    _check_names(schema)
    reads, failed = read_all(request, schema, ledger, summary, progress)
    plan = _plan(request, ledger, reads, failed)
    manifest = manifest_of(embedder.spec, schema, chunker_for(request, present, embedder))
    if not request.paths and request.schema is None and present:
        manifest = present  # what writes no text changes no configuration
    manifest = replace(manifest, profile=request.profile or _profile(manifest, part))
    reads = {name: read for name, read in reads.items() if name[0] not in request.remove}
    is_new = manifest.generation != ledger.generation
    write: Sequence[Wanted] = plan.write
    ends, kept = plan.ends, plan.unchanged
    if is_new and ledger.revision:
        write, ends, kept = _rewritten(plan, reads), (), ()
    readers = {name: value for name, value in plan.readers.items() if not is_new}
    required = _readers_required(request, ledger, reads)
    if required:
        shown = {row.source_id: readers.get(row.source_id, row.readers) for row in kept}
        fresh = {one.file.source_id: one.file.readers for one in write}
        summary.warnings += _unseen(shown, fresh, is_new_rule=not ledger.readers_required)
    summary.documents = len(reads)
    summary.unchanged = sum(1 for row in kept if (row.source_id, row.version) in reads)
    summary.ended = sum(1 for end in plan.ends if end.is_removed)
    return Prepared(
        manifest=manifest,
        plan=plan,
        reads=reads,
        write=write,
        ends=ends,
        kept=kept,
        readers=readers,
        readers_required=required,
        is_new=is_new,
        is_nothing=(
            not (write or ends or readers)
            and required == ledger.readers_required
            and not (is_new and reads)
            and (present is None or present.profile == manifest.profile)
        ),
    )


def _check_names(schema: Mapping[str, FieldType]) -> None:
    """
    Check that filters can name every field.

    Raises:
        InvalidRequest: One has a name that Qdrant's paths cannot hold.
    """
    for name in schema:
        try:
            payload_path(FIELDS_PREFIX + name)
        except ValueError as error:
            raise InvalidRequest("schema", f"{error}; give it another name") from error


def _profile(manifest: Manifest, part: Part) -> str:
    """
    Return the profile that the index has, also by another tenant; for a new one or another model
    the model's own.
    """
    model = manifest.embedding.model
    present = part.manifest_of(manifest.generation) or part.manifest
    if present is not None and present.embedding.model == model:
        return present.profile
    return profile_of(model.name)


def _plan(
    request: IndexRequest,
    ledger: TenantLedger,
    reads: Mapping[tuple[str, str], ReadSource],
    failed: Mapping[str, SourceFile],
) -> Plan:
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
    request: IndexRequest, ledger: TenantLedger, reads: Mapping[tuple[str, str], ReadSource]
) -> bool:
    if request.readers_required is not None:
        return request.readers_required
    named = any(read.wanted.file.readers is not None for read in reads.values())
    return ledger.readers_required or named


def _unseen(
    kept: Mapping[str, tuple[str, ...] | None],
    written: Mapping[str, tuple[str, ...] | None],
    *,
    is_new_rule: bool,
) -> list[str]:
    """
    Warn of sources that nobody sees, since they have no readers and readers are required; of those
    that stay as they are, when that begins.

    Args:
        kept: Readers by source.
        written: The same of those that are written now.
        is_new_rule: Whether readers were not required before.
    """
    looked_at = {**(kept if is_new_rule else {}), **written}
    unseen = sorted(name for name, readers in looked_at.items() if readers is None)
    if not unseen:
        return []
    more = f" and {len(unseen) - 1} more" if len(unseen) > 1 else ""
    problem = "no readers are named, and readers are required: nobody sees what has none"
    return [f"{unseen[0]}{more}: {problem}; name them, or run with --readers optional"]
