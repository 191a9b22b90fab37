"""
Every read of a scope, the same over both backends: the scope's filter goes into the read, and what
comes back is checked by it again.
"""

from __future__ import annotations

import abc
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar

from adapters.bm25 import Bm25Encoder
from adapters.decoded import Decode, Decoder, Record, ScoredRecord
from adapters.head import Head
from adapters.payload import decode_chunk, decode_section, decode_text
from adapters.payload_keys import (
    CHUNK_HIT_KEYS,
    CHUNK_TEXT_KEYS,
    CONTENT_SHA256,
    END,
    KEY,
    SOURCE_ID,
    START,
)
from adapters.payload_values import Payload
from adapters.scope_gate import ScopeGate
from adapters.searches import (
    PointQuery,
    Wanted,
    run_searches,
    text_query,
    vector_query,
)
from adapters.store import Bm25Spec
from adapters.ties import Scored
from assembler.filters import AnyString, Condition, Filter, IntRange
from assembler.model import Chunk, Hit, PointKind, Section, SectionHit
from assembler.ports import DenseSearch, SparseSearch
from assembler.scope import ReadScope
from assembler.span import Span

Item = TypeVar("Item")

EXACT_CHUNKS = 10_000
"""A part of up to so many chunks is searched exactly, unless the setting says otherwise."""

DENIALS = ("damaged", "scope", "key")
"""Why points that came back are dropped."""

_PAGE = 256


class PointReads(abc.ABC):
    """
    The `ChunkIndex` of a backend that can query and scroll points.

    Attributes:
        denied: How many returned points were dropped, by reason: `damaged` (the payload does not
            hold what was written), `scope` (out of the scope, by more than the caller's own
            filter), `key` (not what was asked for).
        denied_in: The same by index and reason.
    """

    def __init__(self, *, is_exact: bool | None = None) -> None:
        self.denied: Counter[str] = Counter()
        self.denied_in: Counter[tuple[str, str]] = Counter()
        self._is_exact = is_exact

    @abc.abstractmethod
    async def _known(self, scope: ReadScope) -> tuple[Head, Bm25Spec]:
        """
        Return the tenant's head, at least as new as the scope, and how its generation is encoded.
        """

    @abc.abstractmethod
    async def _query(
        self, scope: ReadScope, queries: Sequence[PointQuery]
    ) -> Sequence[Sequence[ScoredRecord]]:
        """
        Return the results of a batch of searches in the scope's generation, as of its revision.
        """

    @abc.abstractmethod
    async def _scroll(
        self, scope: ReadScope, wanted: Filter, keys: tuple[str, ...] | None, page: int
    ) -> Sequence[Payload]:
        """
        Return the payloads of all points that pass, whole (None) or these keys, read in pages.
        """

    async def search_text(
        self, scope: ReadScope, searches: Sequence[SparseSearch]
    ) -> Sequence[Sequence[Hit] | Sequence[SectionHit]]:
        """
        Return the results of a batch of BM25 searches, each sorted by score, then key.
        """
        if not searches:
            return []
        head, spec = await self._known(scope)
        encoder = Bm25Encoder(spec)
        wanted = Wanted(scope)
        queries: dict[int, PointQuery] = {}
        for position, search in enumerate(searches):
            languages = (search.language,) if search.language else head.languages
            weights = encoder.query(search.text, languages)
            if _finds_something(search) and not weights.is_empty:
                queries[position] = text_query(scope, search, wanted, weights)
        return _hits(searches, await self._run(scope, queries))

    async def search_vectors(
        self, scope: ReadScope, searches: Sequence[DenseSearch]
    ) -> Sequence[Sequence[Hit] | Sequence[SectionHit]]:
        """
        Return the results of a batch of vector searches, sorted and cut likewise.
        """
        if not searches:
            return []
        is_exact = self._is_exact
        if is_exact is None:
            head, _ = await self._known(scope)
            is_exact = head.chunks <= EXACT_CHUNKS
        wanted = Wanted(scope)
        queries = {
            position: vector_query(search, wanted, is_exact=is_exact)
            for position, search in enumerate(searches)
            if _finds_something(search)
        }
        return _hits(searches, await self._run(scope, queries))

    async def chunks(self, scope: ReadScope, keys: Sequence[str]) -> Sequence[Chunk]:
        """
        Return the chunks that exist and lie in the scope, in any order, without a search.
        """
        return list((await self._by_key(scope, keys, decode_chunk, CHUNK_HIT_KEYS)).values())

    async def sections(self, scope: ReadScope, keys: Sequence[str]) -> Sequence[Section]:
        """
        Return the sections that exist and lie in the scope, in any order, in one filtered read.
        """
        return list((await self._by_key(scope, keys, decode_section, None)).values())

    async def chunk_texts(self, scope: ReadScope, keys: Sequence[str]) -> Mapping[str, str]:
        """
        Return the chunks' own texts by key, for chunks whose section cannot be used.
        """
        return await self._by_key(scope, keys, decode_text, CHUNK_TEXT_KEYS)

    async def sections_covering(
        self, scope: ReadScope, source_id: str, content_sha256: str, span: Span
    ) -> Sequence[Section]:
        """
        Return the sections of one source text that share code points with the span, in order.
        """
        asked = Filter(
            all_of=(
                scope.point_filter(PointKind.SECTION),
                Condition(SOURCE_ID, AnyString((source_id,))),
                Condition(CONTENT_SHA256, AnyString((content_sha256,))),
                Condition(START, IntRange(below=span.end)),
                Condition(END, IntRange(at_least=span.start + 1)),
            )
        )
        kind = PointKind.SECTION
        found = self._admitted(
            scope, await self._records(scope, asked, kind, decode_section, None, _PAGE)
        )
        inside = [
            section
            for section in found.values()
            if section.provenance.source_id == source_id
            and section.provenance.content_sha256 == content_sha256
            and section.span.overlaps(span)
        ]
        self._deny(scope, {"key": len(found) - len(inside)})
        return sorted(inside, key=lambda section: (section.span, section.key))

    async def _run(
        self, scope: ReadScope, queries: Mapping[int, PointQuery]
    ) -> Mapping[int, list[Scored[Chunk | None]]]:
        async def run(batch: Sequence[PointQuery]) -> Sequence[Sequence[ScoredRecord]]:
            return await self._query(scope, batch)

        refused: Counter[str] = Counter()
        found = await run_searches(run, scope, queries, refused)
        self._deny(scope, refused)
        return found

    async def _by_key(
        self,
        scope: ReadScope,
        keys: Sequence[str],
        decode: Decode[Item],
        returned: tuple[str, ...] | None,
    ) -> dict[str, Item]:
        """
        Read points by key, not by id: ids add the revision of the write, which readers do not know.
        """
        wanted_keys = tuple(dict.fromkeys(keys))
        if not wanted_keys:
            return {}
        kind = PointKind.SECTION if decode is decode_section else PointKind.CHUNK
        asked = Filter(all_of=(Condition(KEY, AnyString(wanted_keys)), scope.point_filter(kind)))
        records = await self._records(scope, asked, kind, decode, returned, len(wanted_keys) + 1)
        found = self._admitted(scope, records)
        unasked = found.keys() - set(wanted_keys)
        self._deny(scope, {"key": len(unasked)})
        return {key: item for key, item in found.items() if key not in unasked}

    async def _records(
        self,
        scope: ReadScope,
        wanted: Filter,
        kind: PointKind,
        decode: Decode[Item],
        keys: tuple[str, ...] | None,
        page: int,
    ) -> Sequence[Record[Item] | None]:
        """
        Return all points that pass, None for one that does not hold what was written.
        """
        payloads = await self._scroll(scope, wanted, keys, page)
        return _decoded(scope, payloads, kind, decode)

    def _checked(
        self, scope: ReadScope, payloads: Sequence[Payload], kind: PointKind, decode: Decode[Item]
    ) -> dict[str, Item]:
        """
        Return what holds and is admitted, by key.
        """
        return self._admitted(scope, _decoded(scope, payloads, kind, decode))

    def _admitted(
        self, scope: ReadScope, records: Sequence[Record[Item] | None]
    ) -> dict[str, Item]:
        """
        Return what holds and is admitted, by key; of equal keys the one written last.
        """
        gate = ScopeGate(scope)
        newest: dict[str, Record[Item]] = {}
        for record in records:
            if record is None:
                self._deny(scope, {"damaged": 1})
                continue
            key, provenance, _ = record
            if not gate.admits(provenance):
                self._deny(scope, {"scope": int(gate.is_denied(provenance))})
            elif key not in newest or newest[key].provenance.from_rev < provenance.from_rev:
                newest[key] = record
        return {key: record.item for key, record in newest.items()}

    def _deny(self, scope: ReadScope, refused: Mapping[str, int]) -> None:
        for reason, points in refused.items():
            if points:
                self.denied[reason] += points
                self.denied_in[scope.index, reason] += points


def _decoded(
    scope: ReadScope, payloads: Sequence[Payload], kind: PointKind, decode: Decode[Item]
) -> list[Record[Item] | None]:
    decoder = Decoder(scope.version.revision)
    return [decoder.record(payload, kind, decode) for payload in payloads]


def _finds_something(search: SparseSearch | DenseSearch) -> bool:
    return search.limit > 0 and search.within != ()


def _hits(
    searches: Sequence[SparseSearch | DenseSearch],
    found: Mapping[int, list[Scored[Chunk | None]]],
) -> list[list[Hit] | list[SectionHit]]:
    results: list[list[Hit] | list[SectionHit]] = []
    for position, search in enumerate(searches):
        points = found.get(position, ())
        if search.kind is PointKind.CHUNK:
            results.append([Hit(point.item, point.score) for point in points if point.item])
        else:
            results.append([SectionHit(point.key, point.score) for point in points])
    return results
