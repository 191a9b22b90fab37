"""
The reads of one request: every one carries a scope, and what comes back is checked by it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from assembler.coarse import FoundSections
from assembler.errors import InvalidRequest
from assembler.expand import mismatch
from assembler.gather import admitted
from assembler.model import Chunk, Hit, PointKind, Section, SectionHit
from assembler.pack import Pinned
from assembler.pinned import pin_chunk, pin_range, versions_of
from assembler.ports import (
    ChunkIndex,
    DenseSearch,
    IndexCatalog,
    IndexState,
    SparseSearch,
    Vector,
)
from assembler.rank import Candidate, Found
from assembler.request import (
    AssembleRequest,
    ChunkKey,
    RetrievalMode,
    Selector,
    SourceRange,
    Target,
)
from assembler.resolve import check_pins, is_behind, read_scope
from assembler.scope import ReadScope

Hits: TypeAlias = "Sequence[Hit] | Sequence[SectionHit]"
Inside: TypeAlias = "Sequence[tuple[str, ...]]"
"""Keys of the sections that hits have to lie in, per target."""

_BOTH = (PointKind.CHUNK, PointKind.SECTION)


@dataclass(slots=True)
class Texts:
    """
    What was read so far, by index name and key: sections, and own texts of chunks without one.

    Attributes:
        matched: Chunks that were found to be in their sections, word for word.
    """

    sections: dict[tuple[str, str], Section] = field(default_factory=dict)
    own: dict[tuple[str, str], str] = field(default_factory=dict)
    matched: set[tuple[str, str]] = field(default_factory=set)


class Reads:
    """
    Asks the catalog and the index for what one step of the flow needs.
    """

    def __init__(self, catalog: IndexCatalog, index: ChunkIndex) -> None:
        self._catalog = catalog
        self._index = index

    async def resolve(self, target: Target, number: int) -> tuple[IndexState, ReadScope]:
        """
        Return a target's state and scope, looking for a newer head once where it may help.
        """
        tenant = target.scope.tenant
        state = await self._catalog.resolve(target.index, tenant)
        if is_behind(state, target.scope):
            state = await self._catalog.resolve(target.index, tenant, refresh=True)
        scope = read_scope(state, target.scope, f"targets[{number}].")
        for pin in target.scope.pins:
            check_pins(pin, await self._catalog.rows(target.index, tenant, pin.source_id), scope)
        return state, scope

    async def search_text(
        self,
        request: AssembleRequest,
        scopes: Sequence[ReadScope],
        kinds: Sequence[PointKind] = _BOTH,
        *,
        limit: int | None = None,
        inside: Inside | None = None,
    ) -> list[list[Sequence[Hits]]]:
        """
        Return BM25 hits per target, query and kind, one batch per target.

        Args:
            request: The queries.
            scopes: The scope per target.
            kinds: What is searched.
            limit: Most hits per search; None takes the request's.
            inside: The sections to search in; None searches all.
        """
        if request.retrieval.mode is RetrievalMode.DENSE:
            return [[((),) * len(kinds) for _ in request.queries] for _ in scopes]
        most, language = limit or request.retrieval.chunk_limit, request.query_language
        batches = await asyncio.gather(
            *(
                self._index.search_text(
                    scope,
                    [
                        SparseSearch(query.text, kind, most, language, within)
                        for query in request.queries
                        for kind in kinds
                    ],
                )
                for scope, within in zip(scopes, inside or (None,) * len(scopes), strict=True)
            )
        )
        step = len(kinds)
        return [
            [batch[first : first + step] for first in range(0, len(batch), step)]
            for batch in batches
        ]

    async def search_vectors(
        self,
        request: AssembleRequest,
        scopes: Sequence[ReadScope],
        vectors: Sequence[Sequence[Vector]],
        kind: PointKind = PointKind.CHUNK,
        *,
        limit: int | None = None,
        inside: Inside | None = None,
    ) -> Sequence[Sequence[Hits]]:
        """
        Return vector hits per target and query, one batch per target, by vectors per target and
        query; see `search_text`.
        """
        if request.retrieval.mode is RetrievalMode.SPARSE:
            return [[() for _ in request.queries] for _ in scopes]
        most = limit or request.retrieval.chunk_limit
        return await asyncio.gather(
            *(
                self._index.search_vectors(
                    scope, [DenseSearch(vector, most, kind, within) for vector in mine]
                )
                for scope, mine, within in zip(
                    scopes, vectors, inside or (None,) * len(scopes), strict=True
                )
            )
        )

    async def texts(
        self, candidates: Sequence[Candidate], scopes: Sequence[ReadScope], texts: Texts
    ) -> None:
        """
        Read the candidates' sections, and the own texts of those whose section cannot be used.
        """
        for target, scope in enumerate(scopes):
            mine = [one for one in candidates if one.target == target]
            wanted = dict.fromkeys(one.chunk.section_key for one in mine)
            missing = [key for key in wanted if (scope.index, key) not in texts.sections]
            if missing:
                found = await self._index.sections(scope, missing)
                texts.sections.update(admitted(found, scope, frozenset(missing)))
            alone: list[str] = []
            for one in mine:
                if mismatch(one.chunk, texts.sections.get(one.home)):
                    alone.append(one.chunk.key)
                else:
                    texts.matched.add(one.identity)
            if alone:
                own = await self._index.chunk_texts(scope, alone)
                texts.own.update({(scope.index, key): text for key, text in own.items()})

    async def named(
        self, selectors: Sequence[Selector], scopes: Sequence[ReadScope]
    ) -> Mapping[str, Sequence[Chunk]]:
        """
        Return the chunks that keys among the selectors stand for, by index name.
        """
        keys = [one.key for one in selectors if isinstance(one, ChunkKey)]
        if not keys:
            return {}
        found: dict[str, list[Chunk]] = {}
        for scope in scopes:
            found.setdefault(scope.index, []).extend(await self._index.chunks(scope, keys))
        return found

    async def pinned(
        self, selectors: Sequence[Selector], scopes: Sequence[ReadScope]
    ) -> tuple[Pinned, ...]:
        """
        Return what the caller demands to be included.

        Raises:
            InvalidRequest: A part of it is not readable in the scope.
        """
        pinned: list[Pinned] = []
        for number, selector in enumerate(selectors):
            name = f"must_include[{number}]"
            if isinstance(selector, SourceRange):
                pinned += await self._source(selector, scopes[selector.target], name)
            else:
                pinned.append(await self._chunk(selector, scopes, name))
        return tuple(pinned)

    async def _source(
        self, selector: SourceRange, scope: ReadScope, name: str
    ) -> tuple[Pinned, ...]:
        rows = await self._catalog.rows(scope.index, scope.tenant, selector.source_id)
        row, span = versions_of(selector, rows, scope, name)
        sections = await self._index.sections_covering(
            scope, selector.source_id, row.content_sha256, span
        )
        return pin_range(sections, row, span, scope, selector.target, name)

    async def _chunk(self, selector: ChunkKey, scopes: Sequence[ReadScope], name: str) -> Pinned:
        for target, scope in enumerate(scopes):
            for chunk in await self._index.chunks(scope, [selector.key]):
                if scope.admits(chunk.provenance):
                    sections = await self._index.sections(scope, [chunk.section_key])
                    texts = await self._index.chunk_texts(scope, [chunk.key])
                    return pin_chunk(chunk, sections, texts, scope, target, name)
        raise InvalidRequest(name, f"no chunk {selector.key!r} is visible in any target's scope")


def found(
    dense: Sequence[Sequence[Hits]],
    text: Sequence[Sequence[Sequence[Hits]]],
) -> list[Found]:
    """
    Return what searches for chunks by vector, and for chunks and sections by text, returned.
    """
    return [
        Found(
            query,
            target,
            cast("Sequence[Hit]", vectors),
            cast("Sequence[Hit]", chunks),
            cast("Sequence[SectionHit]", sections),
        )
        for target, lists in enumerate(zip(dense, text, strict=True))
        for query, (vectors, (chunks, sections)) in enumerate(zip(*lists, strict=True))
    ]


def found_sections(
    dense: Sequence[Sequence[Hits]], text: Sequence[Sequence[Sequence[Hits]]]
) -> list[FoundSections]:
    """
    Return what searches for sections, by vector and by text, returned.
    """
    return [
        FoundSections(
            query,
            target,
            cast("Sequence[SectionHit]", vectors),
            cast("Sequence[SectionHit]", sections),
        )
        for target, lists in enumerate(zip(dense, text, strict=True))
        for query, (vectors, (sections,)) in enumerate(zip(*lists, strict=True))
    ]
