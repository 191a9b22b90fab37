"""
Existing Qdrant collections behind the reading ports, by their mappings. They are only read.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeVar

from adapters.attached_groups import (
    MOST_CHUNKS,
    Group,
    disputed,
    group_in,
    group_of,
    sections_of,
)
from adapters.attached_looks import AttachedLooks
from adapters.attached_points import REVISION, AttachedPoint
from adapters.attached_reads import AttachedReads
from adapters.attachment import Attachment, PayloadMapping
from adapters.decoded import Decode, ScoredRecord
from adapters.head import Head
from adapters.payload import decode_section
from adapters.payload_keys import KEY
from adapters.payload_values import Payload
from adapters.qdrant_link import QdrantLink
from adapters.qdrant_search import SearchSettings
from adapters.reads import PointReads
from adapters.records import TenantLedger
from adapters.searches import PointQuery, ScoredPayload, decoded
from adapters.store import Bm25Spec, ChunkerSpec, EmbeddingSpec, IndexListing, Manifest
from assembler.errors import IndexUnusable
from assembler.filters import Filter
from assembler.model import Hit, PointKind, Section, SectionHit
from assembler.ports import IndexSchema, IndexState, SourceRow, SparseSearch
from assembler.scope import ReadScope
from assembler.span import Span

Item = TypeVar("Item")

MOST_POINTS = 4_096
"""No more are read of windows beside the hits of one batch of searches."""

MOST_SOURCES = 32
"""Of no more sources all chunks are read, where nothing says which are near; those that are left
out have their hits alone."""


class AttachedIndex(PointReads):
    """
    The `IndexCatalog` and `ChunkIndex` of attached collections.

    Chunks and sections are made from points as they are read, in the form in which our own are
    stored, so that they are checked like those.
    """

    def __init__(
        self,
        attached: Mapping[str, Attachment],
        link: QdrantLink,
        looks: AttachedLooks,
        settings: SearchSettings,
        *,
        is_exact: bool = False,
    ) -> None:
        super().__init__(is_exact=is_exact)
        self._attached = attached
        self._link = link
        self._looks = looks
        self._settings = settings

    async def resolve(self, index: str, tenant: str, *, refresh: bool = False) -> IndexState:
        """
        Return the one state that an attached collection has.

        Raises:
            IndexUnusable: It is missing, or not what was attached.
            IndexUnavailable: The server cannot be asked.
        """
        del tenant, refresh
        await self._looks.require(index)
        attachment = self._attached[index]
        return IndexState(
            index=index,
            version=attachment.version,
            oldest_revision=REVISION,
            model=attachment.identity,
            schema=IndexSchema({}),
            languages=(),
            profile=attachment.profile,
            has_text_search=False,
        )

    def listings(self, tenant: str) -> list[IndexListing]:
        """
        Return the attached collections that a tenant may have a part of; nothing is counted.
        """
        return [
            IndexListing(name, manifest_of(one), ledger_of(one), tenant)
            for name, one in self._attached.items()
            if one.mapping.tenant is not None or not tenant
        ]

    async def rows(self, index: str, tenant: str, source_id: str) -> Sequence[SourceRow]:
        """
        Raise: nothing says which sources and versions there are.
        """
        del tenant
        raise IndexUnusable(
            index,
            f"attached, with no record of its sources: the text of {source_id!r} cannot be read "
            "back, nor its versions or ranges be named in a request (chunk keys can); index the "
            "source for that",
        )

    async def search_text(
        self, scope: ReadScope, searches: Sequence[SparseSearch]
    ) -> Sequence[Sequence[Hit] | Sequence[SectionHit]]:
        """
        Return nothing for every search: there are no BM25 vectors, which `resolve` says.
        """
        del scope
        return [()] * len(searches)

    async def sections_covering(
        self, scope: ReadScope, source_id: str, content_sha256: str, span: Span
    ) -> Sequence[Section]:
        """
        Return none: no text is known as a whole.
        """
        del scope, source_id, content_sha256, span
        return ()

    async def _known(self, scope: ReadScope) -> tuple[Head, Bm25Spec]:
        raise NotImplementedError  # asked by searches that do not know whether they are exact

    async def _scroll(
        self, scope: ReadScope, wanted: Filter, keys: tuple[str, ...] | None, page: int
    ) -> Sequence[Payload]:
        raise NotImplementedError  # `_read` knows the points' own ids, and the mapping

    async def _query(
        self, scope: ReadScope, queries: Sequence[PointQuery]
    ) -> Sequence[Sequence[ScoredRecord]]:
        reads = self._reads(scope)
        results, hits = await reads.search(queries)
        _, chunks = await self._placed(reads, hits)
        lost = [point for point in hits if point.key not in chunks]
        chunks |= {point.key: disputed(reads.mapping, point) for point in lost}
        self._deny(scope, {"damaged": len(lost)})
        found = [
            [ScoredPayload(score, chunks.get(key, {})) for key, score in result]
            for result in results
        ]
        return decoded(queries, found, scope.version.revision)

    async def _by_key(
        self,
        scope: ReadScope,
        keys: Sequence[str],
        decode: Decode[Item],
        returned: tuple[str, ...] | None,
    ) -> dict[str, Item]:
        del returned
        if decode is decode_section:
            groups = dict.fromkeys(map(group_in, keys))
            sections, _ = await self._sections(self._reads(scope), list(groups), ())
            wanted = [one for one in sections if one[KEY] in keys]
            return self._checked(scope, wanted, PointKind.SECTION, decode)
        reads = self._reads(scope)
        _, chunks = await self._placed(reads, await reads.points(keys))
        found = [chunks[key] for key in dict.fromkeys(keys) if key in chunks]
        return self._checked(scope, found, PointKind.CHUNK, decode)

    async def _placed(
        self, reads: AttachedReads, points: Sequence[AttachedPoint]
    ) -> tuple[list[Payload], dict[str, Payload]]:
        """
        Return the sections that points lie in, and the chunks of these by key.
        """
        groups = dict.fromkeys(group_of(reads.mapping, point) for point in points)
        return await self._sections(reads, list(groups), points)

    async def _sections(
        self, reads: AttachedReads, groups: Sequence[Group], known: Sequence[AttachedPoint]
    ) -> tuple[list[Payload], dict[str, Payload]]:
        mapping = reads.mapping
        read = {point.key: point for point in known}
        alone = [group.alone for group in groups if group.alone and group.alone not in read]
        windows = tuple(one.wanted(mapping) for one in groups if one.window and not one.alone)
        whole = [one.wanted(mapping) for one in groups if not one.window and not one.alone]
        for points in await asyncio.gather(
            reads.points(alone),
            reads.matching(Filter(any_of=windows), MOST_POINTS if windows else 0),
            *(reads.matching(one, MOST_CHUNKS) for one in whole[:MOST_SOURCES]),
        ):
            read.update((point.key, point) for point in points)
        return await asyncio.to_thread(_made, mapping, groups, list(read.values()))

    def _reads(self, scope: ReadScope) -> AttachedReads:
        return AttachedReads(
            self._attached[scope.index],
            scope,
            self._link,
            self._settings,
            self._looks,
            lambda refused: self._deny(scope, refused),
        )


def manifest_of(attachment: Attachment) -> Manifest:
    """
    Return what is known of how an attached collection was made.
    """
    embedding = EmbeddingSpec(
        attachment.identity, "", 0, pooling="", prefix="", query_prefix="", normalised=True
    )
    return Manifest(
        ChunkerSpec("attached", str(REVISION)), embedding, Bm25Spec(), profile=attachment.profile
    )


def ledger_of(attachment: Attachment) -> TenantLedger:
    """
    Return a ledger without rows: nothing says which sources there are.
    """
    return TenantLedger(
        generation=attachment.version.generation,
        revision=REVISION,
        readers_required=False,
        rows=(),
        revisions=(),
    )


def _made(
    mapping: PayloadMapping, groups: Sequence[Group], points: Sequence[AttachedPoint]
) -> tuple[list[Payload], dict[str, Payload]]:
    by_source: dict[tuple[str, str, str], list[AttachedPoint]] = defaultdict(list)
    for point in points:
        by_source[point.source_id, point.version, point.content].append(point)
    sections: list[Payload] = []
    chunks: dict[str, Payload] = {}
    for group in groups:
        members = by_source[group.source_id, group.version, group.content]
        for section, inside in sections_of(mapping, group, members):
            sections.append(section)
            chunks.update(inside)
    return sections, chunks
