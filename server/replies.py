"""
Replies: domain to proto.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any

from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb
from google.protobuf.descriptor import EnumDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from adapters.store import IndexListing
from assembler.coarse import section_limit
from assembler.model import FieldType
from assembler.report import (
    AssembledContext,
    CandidateReport,
    CitedPassage,
    CitedSource,
    SignalScore,
)
from assembler.request import AssembleRequest
from assembler.rerank import is_wanted
from assembler.source_text import SourceText
from assembler.span import Span
from server.convert_metadata import to_metadata


@cache
def number_of(value: enum.Enum, descriptor: EnumDescriptor) -> Any:
    """
    Return the proto's number of a domain value, by name; stubs have a type of their own for each.
    """
    for entry in descriptor.values:
        if entry.name.endswith(f"_{value.name}"):
            return entry.number
    msg = f"{descriptor.full_name} has no value for {value}"
    raise LookupError(msg)


def to_context(context: AssembledContext, *, has_list: bool) -> pb.AssembledContext:
    """
    Return a finished context; the list of candidates only where it was asked for.
    """
    return pb.AssembledContext(
        context=context.context,
        passages=[_passage(passage) for passage in context.passages],
        budget=_budget(context),
        dispositions=_dispositions(context.candidates, has_list=has_list),
        stages=[
            pb.StageDuration(
                stage=number_of(time.stage, pb.Stage.DESCRIPTOR),
                duration=_duration(time.seconds),
            )
            for time in context.stages
        ],
        index_versions=[str(version) for version in context.index_versions]
        if isinstance(context.request, AssembleRequest)
        else [],
        degradations=[number_of(one, pb.Degradation.DESCRIPTOR) for one in context.degradations],
        effective=_effective(context),
        context_sha256=context.context_sha256,
        request_fingerprint=context.request_fingerprint,
    )


def to_range(span: Span) -> pb.Range:
    """
    Return a half-open range of code points.
    """
    return pb.Range(start=span.start, end=span.end)


def _passage(passage: CitedPassage) -> pb.Passage:
    return pb.Passage(
        marker=passage.marker,
        text=passage.text,
        tokens=passage.tokens,
        sources=[_source(source) for source in passage.sources],
        scores=_scores(passage.scores),
        query_indexes=passage.queries,
        chunk_keys=passage.chunk_keys,
        notes=[number_of(note, pb.Note.DESCRIPTOR) for note in passage.notes],
        context_range=to_range(passage.block),
    )


def _source(source: CitedSource) -> pb.CitedSource:
    return pb.CitedSource(
        target=source.target,
        source_id=source.version.source_id,
        version=source.version.version,
        content_sha256=source.version.content_sha256,
        title=source.title,
        uri=source.uri,
        heading_path=source.heading_path,
        metadata=to_metadata(source.metadata),
        state=number_of(source.state, pb.SourceState.DESCRIPTOR),
        spans=[
            pb.CitedSpan(source=to_range(span.source), context=to_range(span.context))
            for span in source.spans
        ],
    )


def _scores(scores: Iterable[SignalScore]) -> list[pb.SignalScore]:
    return [
        pb.SignalScore(
            signal=number_of(one.signal, pb.Signal.DESCRIPTOR),
            value=one.value,
        )
        for one in scores
    ]


def _budget(context: AssembledContext) -> pb.BudgetReport:
    budget = context.budget
    return pb.BudgetReport(
        tokenizer=budget.tokenizer,
        tokenizer_sha256=budget.tokenizer_sha256,
        limit_tokens=budget.limit,
        frame_tokens=budget.frame,
        context_tokens=budget.context,
        unused_tokens=budget.unused,
        text_tokens=budget.text,
        heading_tokens=budget.headings,
        marker_tokens=budget.markers,
        counting=pb.COUNTING_PROXY if budget.is_proxy else pb.COUNTING_EXACT,
    )


def _dispositions(candidates: Iterable[CandidateReport], *, has_list: bool) -> pb.Dispositions:
    reports = tuple(candidates)
    fates = Counter(one.disposition for one in reports)
    counts = {number_of(one, pb.Disposition.DESCRIPTOR): count for one, count in fates.items()}
    return pb.Dispositions(
        candidates=len(reports),
        counts=[
            pb.DispositionCount(disposition=disposition, count=count)
            for disposition, count in sorted(counts.items())
        ],
        list=[_candidate(one) for one in reports] if has_list else [],
    )


def _candidate(one: CandidateReport) -> pb.CandidateReport:
    return pb.CandidateReport(
        chunk_key=one.chunk_key,
        target=one.target,
        source_id=one.source_id,
        version=one.version,
        range=to_range(one.span),
        disposition=number_of(one.disposition, pb.Disposition.DESCRIPTOR),
        notes=[number_of(note, pb.Note.DESCRIPTOR) for note in one.notes],
        scores=_scores(one.scores),
    )


def _effective(context: AssembledContext) -> pb.EffectiveSettings:
    request = context.request
    effective = pb.EffectiveSettings(
        profile=context.profile.name,
        profile_sha256=context.profile.sha256,
        fill=number_of(request.fill, pb.Fill.DESCRIPTOR),
        layout=pb.Layout(
            order=number_of(request.layout.order, pb.Order.DESCRIPTOR),
            format=number_of(request.layout.format, pb.Format.DESCRIPTOR),
            headings=number_of(request.layout.headings, pb.Headings.DESCRIPTOR),
        ),
        safety_ratio=request.budget.safety_ratio,
    )
    if isinstance(request, AssembleRequest):
        retrieval = request.retrieval
        effective.retrieval.CopyFrom(
            pb.Retrieval(
                chunk_limit=retrieval.chunk_limit,
                section_limit=section_limit(retrieval, context.profile),
                max_source_share=retrieval.max_source_share,
                min_similarity=retrieval.min_similarity,
                mode=number_of(retrieval.mode, pb.RetrievalMode.DESCRIPTOR),
                rerank=pb.RERANK_ON if is_wanted(request, context.profile) else pb.RERANK_OFF,
            )
        )
        effective.expansion.CopyFrom(
            pb.Expansion(
                mode=number_of(request.expansion.mode, pb.ExpansionMode.DESCRIPTOR),
                window_chunks=request.expansion.window_chunks,
            )
        )
    return effective


def to_index(listing: IndexListing) -> service_pb.Index:
    """
    Return one tenant's part of an index.
    """
    ledger, manifest = listing.ledger, listing.manifest
    rows = [row for row in ledger.rows if row.to_rev > ledger.revision]
    index = service_pb.Index(
        name=listing.name,
        index_version=f"{ledger.generation}.{ledger.revision}",
        fields=[_field(name, kind) for name, kind in sorted(manifest.fields.items())],
        readers=service_pb.READERS_MODE_REQUIRED
        if ledger.readers_required
        else service_pb.READERS_MODE_OPTIONAL,
        embedding_model=manifest.embedding.model.name,
        embedding_model_sha256=manifest.embedding.model.sha256,
        embedding_dimension=manifest.embedding.model.dimension,
        languages=sorted({row.language for row in rows if row.language}),
        profile=manifest.profile,
        sources=len(rows),
        sections=sum(row.sections for row in rows),
        chunks=sum(row.chunks for row in rows),
    )
    if ledger.revisions:
        published = Timestamp()
        published.FromJsonString(ledger.revisions[-1].published_at)
        index.published_at.CopyFrom(published)
    return index


def _field(name: str, kind: FieldType) -> service_pb.SchemaField:
    number = number_of(kind, service_pb.FieldType.DESCRIPTOR)
    return service_pb.SchemaField(name=name, type=number)


def to_source_text(found: SourceText, next_page_token: str) -> service_pb.GetSourceTextResponse:
    """
    Return a part of a source text.
    """
    return service_pb.GetSourceTextResponse(
        text=found.text,
        range=to_range(found.span) if found.span else None,
        content_sha256=found.row.content_sha256,
        version=found.row.version,
        state=number_of(found.state, pb.SourceState.DESCRIPTOR),
        superseded_by_version=found.superseded_by,
        total_chars=found.row.chars,
        next_page_token=next_page_token,
        title=found.title,
        uri=found.uri,
        language=found.language,
        media_type=found.media_type,
    )


def _duration(seconds: float) -> Duration:
    duration = Duration()
    duration.FromNanoseconds(int(seconds * 1e9))
    return duration
