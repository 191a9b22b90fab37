"""
What the caller demands to be included, found and checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assembler.errors import InvalidRequest
from assembler.expand import mismatch
from assembler.model import Chunk, Section, VersionKey
from assembler.orphans import orphan, sha256_of
from assembler.pack import Pinned
from assembler.parent import Parent
from assembler.ports import SourceRow
from assembler.rank import version_key
from assembler.request import SourceRange
from assembler.resolve import is_readable
from assembler.scope import ReadScope
from assembler.span import Span


def versions_of(
    selector: SourceRange, rows: Sequence[SourceRow], scope: ReadScope, field: str
) -> tuple[SourceRow, Span]:
    """
    Return the ledger's row of the demanded version and the span within its text.

    Raises:
        InvalidRequest: No such version is visible, or the range lies outside its text.
    """
    revision = scope.version.revision
    seen = [
        row
        for row in rows
        if is_readable(row, scope)
        and row.from_rev <= revision < row.to_rev
        and (row.version == selector.version or selector.version is None)
    ]
    if selector.version is None:
        seen = [row for row in seen if revision < row.active_to_rev]
    if not seen:
        label = "" if selector.version is None else f" in version {selector.version!r}"
        raise InvalidRequest(field, f"source {selector.source_id!r}{label} is not visible")
    row = seen[-1]
    span = selector.span or Span(0, row.chars)
    if span.end > row.chars:
        raise InvalidRequest(
            f"{field}.range", f"ends at {span.end}, the text has {row.chars} code points"
        )
    return row, span


def pin_range(
    sections: Sequence[Section],
    row: SourceRow,
    span: Span,
    scope: ReadScope,
    target: int,
    field: str,
) -> tuple[Pinned, ...]:
    """
    Return the parts of a range in its sections.

    Raises:
        InvalidRequest: The sections in scope do not cover the range.
    """
    pinned = []
    reached = span.start
    for section in sorted(sections, key=lambda one: one.span):
        part = section.span.intersection(span)
        own = section.provenance.version == row.version
        if part is None or not own or not scope.admits(section.provenance):
            continue
        if part.start > reached:
            break
        reached = max(reached, part.end)
        pinned.append(Pinned(_parent(section, scope, target), part))
    if not pinned:
        raise InvalidRequest(
            field,
            f"source {row.source_id!r} in version {row.version!r} is not in what the target's "
            "scope reads; see its version_policy, filter and source_ids",
        )
    if reached < span.end:
        raise InvalidRequest(
            field, f"text from {reached} on is not readable in the scope; pin a smaller range"
        )
    return tuple(pinned)


def pin_chunk(
    chunk: Chunk,
    sections: Sequence[Section],
    texts: Mapping[str, str],
    scope: ReadScope,
    target: int,
    field: str,
) -> Pinned:
    """
    Return a chunk in its section, or in its own text where the section cannot be used.

    Raises:
        InvalidRequest: Neither can be used.
    """
    for section in sections:
        if mismatch(chunk, section) is None and scope.admits(section.provenance):
            parent = _parent(section, scope, target)
            return Pinned(parent, parent.completed(chunk.span))
    text = texts.get(chunk.key)
    is_own = text is not None and sha256_of(text) == chunk.text_sha256
    if text is None or not is_own or len(text) != chunk.span.length:
        raise InvalidRequest(field, f"the text of chunk {chunk.key!r} is not readable")
    return Pinned(Parent(orphan(chunk, text), version_key(scope.index, chunk), target), chunk.span)


def _parent(section: Section, scope: ReadScope, target: int) -> Parent:
    origin = section.provenance
    key = VersionKey(
        scope.index, origin.tenant, origin.source_id, origin.version, origin.content_sha256
    )
    return Parent(section, key, target)
