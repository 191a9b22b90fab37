"""
Everything about candidates that is decided before packing, as pure steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assembler.errors import InvalidRequest
from assembler.model import Chunk, Section, VersionKey
from assembler.pack import Pinned
from assembler.rank import Candidate, version_key
from assembler.report import Disposition
from assembler.request import ChunkKey, Selector, SourceRange
from assembler.scope import ReadScope
from assembler.span import Span

CHARS_PER_TOKEN = 4
"""A guess for how much to read at first; never for counting."""

WHOLE_TEXT = 2**62
"""The end of a range that means the whole text."""


@dataclass(frozen=True, slots=True)
class Exclusions:
    """
    What the caller keeps out: chunk keys, and ranges by source version or whole sources.
    """

    keys: frozenset[str]
    ranges: tuple[tuple[str, str, str, str | None, Span], ...]

    def bars(self, version: VersionKey, chunk: Chunk) -> bool:
        """
        Return whether a chunk is excluded by key or shares text with an excluded range.
        """
        if chunk.key in self.keys:
            return True
        if not self.ranges:
            return False
        return any(span.overlaps(chunk.span) for span in self.spans(version))

    def spans(self, version: VersionKey) -> tuple[Span, ...]:
        """
        Return the excluded ranges of a source version.
        """
        return tuple(
            span
            for index, tenant, source_id, label, span in self.ranges
            if (index, tenant, source_id) == (version.index, version.tenant, version.source_id)
            and label in (None, version.version)
        )


def exclusions(
    exclude: Sequence[Selector], scopes: Sequence[ReadScope], named: Mapping[str, Sequence[Chunk]]
) -> Exclusions:
    """
    Return what stays out.

    Args:
        exclude: The request's selectors.
        scopes: The scope per target.
        named: Chunks by index name that excluded keys stand for.
    """
    ranges = [
        (
            scopes[one.target].index,
            scopes[one.target].tenant,
            one.source_id,
            one.version,
            one.span or Span(0, WHOLE_TEXT),
        )
        for one in exclude
        if isinstance(one, SourceRange)
    ]
    for index, chunks in named.items():
        for chunk in chunks:
            version = version_key(index, chunk)
            ranges.append((index, version.tenant, version.source_id, version.version, chunk.span))
    keys = frozenset(one.key for one in exclude if isinstance(one, ChunkKey))
    return Exclusions(keys, tuple(ranges))


def check_included(pinned: Sequence[Pinned], excluded: Exclusions) -> None:
    """
    Check that nothing is demanded and excluded at once.

    Raises:
        InvalidRequest: Some text is.
    """
    for pin in pinned:
        if any(one.overlaps(pin.span) for one in excluded.spans(pin.parent.version)):
            raise InvalidRequest(
                "exclude",
                f"has text of source {pin.parent.version.source_id!r} that must_include demands; "
                "take it out of one of them",
            )


def settle(
    candidates: Sequence[Candidate],
    scopes: Sequence[ReadScope],
    excluded: Exclusions,
    min_similarity: float | None,
) -> dict[tuple[str, str], Disposition]:
    """
    Return the dispositions that need no section: out of scope, excluded, too dissimilar.
    """
    settled: dict[tuple[str, str], Disposition] = {}
    gates = [scope.gate() for scope in scopes]
    for one in candidates:
        identity = one.identity
        if not gates[one.target].admits(one.chunk.provenance):
            settled[identity] = Disposition.SCOPE_DENIED
        elif excluded.bars(one.version, one.chunk):
            settled[identity] = Disposition.EXCLUDED
        elif min_similarity is not None and one.cosine is not None and one.cosine < min_similarity:
            settled[identity] = Disposition.BELOW_SCORE
    return settled


def best_cosine(candidates: Sequence[Candidate]) -> float | None:
    """
    Return the highest raw cosine of any candidate, None where no vector search returned one.
    """
    return max((one.cosine for one in candidates if one.cosine is not None), default=None)


def within_section_limit(
    candidates: Sequence[Candidate], limit: int
) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
    """
    Return the candidates of the first so many sections in rank order, and the others.
    """
    homes: set[tuple[str, str]] = set()
    inside: list[Candidate] = []
    outside: list[Candidate] = []
    for one in candidates:
        home = (one.index, one.chunk.section_key)
        if home in homes or len(homes) < limit:
            homes.add(home)
            inside.append(one)
        else:
            outside.append(one)
    return tuple(inside), tuple(outside)


def first_read(candidates: Sequence[Candidate], limit_tokens: int) -> int:
    """
    Return how many candidates to read sections for at first: twice the limit, by a rough guess.
    """
    wanted = 2 * limit_tokens * CHARS_PER_TOKEN
    read = 0
    for number, one in enumerate(candidates):
        if read >= wanted:
            return number
        read += one.chunk.span.length
    return len(candidates)


def admitted(
    sections: Sequence[Section], scope: ReadScope, wanted: frozenset[str]
) -> dict[tuple[str, str], Section]:
    """
    Return the sections that were asked for and lie in the scope, by index name and key.
    """
    gate = scope.gate()
    return {
        (scope.index, section.key): section
        for section in sections
        if section.key in wanted and gate.admits(section.provenance)
    }
