"""
Read a source text back, so that a caller can check every slice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assembler.errors import (
    IndexUnavailable,
    IndexUnusable,
    SourceUnknown,
    VersionGone,
    VersionUnknown,
)
from assembler.model import Section, SourceState
from assembler.ports import ChunkIndex, IndexCatalog, SourceRow
from assembler.resolve import is_behind, is_readable, read_scope
from assembler.scope import ReadScope, Scope, VersionPolicy
from assembler.span import Span


@dataclass(frozen=True, slots=True)
class SourceText:
    """
    A part of a source text.

    Attributes:
        span: Where the part stands; None where the text has no such part.
        superseded_by: The active version's label where this one is superseded, else "".
    """

    text: str
    span: Span | None
    row: SourceRow
    state: SourceState
    superseded_by: str
    title: str
    uri: str
    language: str
    media_type: str


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """
    One text by source and version, and a part of it.

    Attributes:
        version: The label; None means the active version.
        content_sha256: The hash that the text must have; None takes what is there.
        end: None means the text's end.
    """

    index: str
    scope: Scope
    source_id: str
    version: str | None
    content_sha256: str | None
    start: int
    end: int | None


async def read_source(
    request: SourceRequest, catalog: IndexCatalog, index: ChunkIndex
) -> SourceText:
    """
    Return the part of the text, sliced from the stored sections.

    Raises:
        SourceUnknown: No such source is visible in the scope.
        VersionUnknown: It never had such a version.
        VersionGone: The version was collected or its source purged, or its label was given to
            another text.
        IndexUnavailable: Nothing of the text came back.
        IndexUnusable: The stored sections do not cover the text.
    """
    asked = replace(request.scope, versions=VersionPolicy.RETAINED)
    try:
        return await _read(request, asked, catalog, index)
    except (SourceUnknown, VersionUnknown):
        if asked.exactly is not None:  # gone, and not unknown, if it was rolled back meanwhile
            state = await catalog.resolve(request.index, asked.tenant, refresh=True)
            read_scope(state, asked, "")
        raise


async def _read(
    request: SourceRequest, asked: Scope, catalog: IndexCatalog, index: ChunkIndex
) -> SourceText:
    state = await catalog.resolve(request.index, asked.tenant)
    if is_behind(state, asked):
        state = await catalog.resolve(request.index, asked.tenant, refresh=True)
    scope = read_scope(state, asked, "")
    rows = await catalog.rows(request.index, scope.tenant, request.source_id)
    row = _row(request, rows, scope)
    if row.to_rev <= state.oldest_revision:
        raise VersionGone(f"{request.source_id}@{row.version}".rstrip("@"))
    end = row.chars if request.end is None else min(request.end, row.chars)
    span = Span(request.start, end) if request.start < end else None
    probe = span or Span(max(row.chars - 1, 0), max(row.chars, 1))
    sections = await index.sections_covering(scope, request.source_id, row.content_sha256, probe)
    own = [one for one in sections if _is_own(one, row, scope)]
    is_narrowed = bool(scope.asked.source_ids) or not scope.asked.filter.is_empty
    if not sections and not is_narrowed:
        raise IndexUnavailable(
            f"index {request.index!r} has source {request.source_id!r} in its ledger, and no text "
            "of it came back; ask again, or publish the source again"
        )
    if not own:
        raise SourceUnknown(request.source_id)
    return _text(request, rows, row, scope, own, span)


def _is_own(section: Section, row: SourceRow, scope: ReadScope) -> bool:
    return (
        scope.admits(section.provenance)
        and section.provenance.version == row.version
        and section.provenance.content_sha256 == row.content_sha256
        and section.provenance.from_rev == row.from_rev
    )


def _row(request: SourceRequest, rows: Sequence[SourceRow], scope: ReadScope) -> SourceRow:
    revision = scope.version.revision
    seen = [row for row in rows if is_readable(row, scope) and row.from_rev <= revision]
    if not seen:
        raise SourceUnknown(request.source_id)
    if request.version is None and request.content_sha256 is None:
        seen = [row for row in seen if revision < min(row.active_to_rev, row.to_rev)]
        if not seen:
            raise VersionGone(request.source_id)
    labelled = [row for row in seen if row.is_purged or request.version in (None, row.version)]
    if not labelled:
        raise VersionUnknown(f"{request.source_id}@{request.version}")
    same = [row for row in labelled if request.content_sha256 in (None, row.content_sha256)]
    if not same:
        raise VersionGone(f"{request.source_id}@{request.version or ''}".rstrip("@"))
    return max(same, key=lambda row: (revision < row.to_rev, row.from_rev))


def _text(
    request: SourceRequest,
    rows: Sequence[SourceRow],
    row: SourceRow,
    scope: ReadScope,
    sections: Sequence[Section],
    span: Span | None,
) -> SourceText:
    text = ""
    if span is not None:
        reached, parts = span.start, []
        for section in sorted(sections, key=lambda one: one.span):
            part = section.span.intersection(span)
            if part is not None and part.start == reached:
                parts.append(section.slice(part))
                reached = part.end
        if reached != span.end:
            raise IndexUnusable(
                request.index, f"source {request.source_id!r} is damaged; index it again"
            )
        text = "".join(parts)
    revision = scope.version.revision
    active = [one for one in rows if one.from_rev <= revision < min(one.active_to_rev, one.to_rev)]
    state = _state(row, revision)
    first = sections[0]
    return SourceText(
        text=text,
        span=span,
        row=row,
        state=state,
        superseded_by=active[-1].version if active and state is SourceState.SUPERSEDED else "",
        title=first.title,
        uri=first.uri,
        language=first.language,
        media_type=first.media_type,
    )


def _state(row: SourceRow, revision: int) -> SourceState:
    if revision >= row.to_rev:
        return SourceState.ENDED
    return SourceState.CURRENT if revision < row.active_to_rev else SourceState.SUPERSEDED
