"""
A typed fake of the index in memory.

It is written for being read and trusted, not for speed; the contract suites hold it to what the
real adapters do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from adapters.bm25 import Bm25Encoder, bm25_language
from adapters.builds import no_build
from adapters.head import Build, head_of
from adapters.ledger import source_rows
from adapters.part_reader import PartReader
from adapters.store import IndexListing, Publication
from adapters.upkeep import Upkeep
from assembler.errors import IndexUnavailable, IndexUnknown, IndexUnusable, VersionGone
from assembler.filters import Filter
from assembler.model import Chunk, Hit, PointKind, Section, SectionHit
from assembler.ports import DenseSearch, IndexSchema, IndexState, SourceRow, SparseSearch
from assembler.scope import IndexVersion, ReadScope
from assembler.span import Span
from tests.fake_publication import FakePublication
from tests.fake_store import (
    Part,
    Stored,
    StoredIndex,
    bm25_scores,
    cosine,
    first,
    found_hits,
    latest,
)
from tests.fake_upkeep import FakePartReader, FakeUpkeep


class FakeIndex:
    """
    An index in memory: `IndexStore`, `IndexCatalog` and `ChunkIndex` in one.

    Its scores are an engine's: cosines, and BM25 with document frequencies of the tenant's part.
    """

    def __init__(self) -> None:
        self.denied: Counter[str] = Counter()
        self._indexes: dict[str, StoredIndex] = {}

    @contextmanager
    def publication(self, index: str, tenant: str) -> Iterator[Publication]:
        """
        Open a change of the tenant's part.
        """
        if not re.fullmatch(r"[a-z0-9-]{1,40}", index):
            raise IndexUnusable(index, "a malformed name")
        found = self._indexes.setdefault(index, StoredIndex())
        if found.is_written:
            problem = f"index {index!r} is being written"
            raise IndexUnavailable(problem)
        found.is_written = True
        try:
            yield FakePublication(found, tenant)
        finally:
            found.is_written = False

    @contextmanager
    def upkeep(self, index: str, tenant: str) -> Iterator[Upkeep]:
        """
        Open the tenant's part for upkeep.
        """
        found = self._published(index)
        if found.is_written:
            problem = f"index {index!r} is being written"
            raise IndexUnavailable(problem)
        yield FakeUpkeep(found, tenant)

    @contextmanager
    def reading(self, index: str, tenant: str, *, of_build: bool = False) -> Iterator[PartReader]:
        """
        Open the tenant's part, or its build, to be looked at.
        """
        found = self._indexes.get(index, StoredIndex())
        if of_build and tenant not in found.builds:
            raise no_build(index)
        parts = found.builds if of_build else found.parts
        yield FakePartReader(found, parts.get(tenant, Part()))

    def waiting_build(self, index: str, tenant: str) -> Build | None:
        """
        Return the build that waits.
        """
        found = self._indexes.get(index, StoredIndex())
        part = found.builds.get(tenant)
        if part is None:
            return None
        base = found.parts.get(tenant, Part()).ledger
        ledger = part.ledger
        points = part.history[ledger.revision].points
        count = sum(point.provenance.from_rev == ledger.revision for point in points)
        manifest = found.manifests[ledger.generation or ""]
        at = ledger.revisions[-1].published_at
        return Build(base.generation, base.revision, head_of(ledger), manifest, at, count)

    def publish_build(self, index: str, tenant: str) -> IndexVersion:
        """
        Put a build in place.
        """
        part = self._indexes.get(index, StoredIndex()).builds.pop(tenant, None)
        if part is None:
            raise no_build(index)
        self._indexes[index].parts[tenant] = part
        return IndexVersion(part.ledger.generation or "", part.ledger.revision)

    def listings(self, tenant: str | None = None) -> Sequence[IndexListing]:
        """
        Return every index with its tenants' parts.
        """
        return [
            IndexListing(name, found.manifests[part.ledger.generation], part.ledger, owner)
            for name, found in sorted(self._indexes.items())
            for owner, part in sorted(found.parts.items())
            if part.ledger.generation is not None and tenant in (None, owner)
        ]

    async def resolve(self, index: str, tenant: str, *, refresh: bool = False) -> IndexState:
        """
        Return the tenant's part of the index as of its head.
        """
        del refresh
        found = self._published(index)
        part = found.parts.get(tenant, Part())
        newest = list(found.manifests)[-1]
        generation = part.ledger.generation or newest
        manifest = found.manifests[generation]
        head = head_of(part.ledger)
        return IndexState(
            index=index,
            version=IndexVersion(generation, part.ledger.revision),
            oldest_revision=head.oldest_revision,
            gone=head.gone,
            model=manifest.embedding.model,
            schema=IndexSchema(manifest.fields, part.ledger.readers_required),
            languages=tuple(sorted({bm25_language(row.language) for row in part.ledger.rows})),
            profile=manifest.profile,
            has_section_vectors=manifest.section_vectors,
        )

    async def rows(self, index: str, tenant: str, source_id: str) -> Sequence[SourceRow]:
        """
        Return the ledger's rows of one source, oldest first.
        """
        part = self._published(index).parts.get(tenant, Part())
        return source_rows(part.ledger.rows, part.ledger.tombstones, source_id)

    async def search_text(
        self, scope: ReadScope, searches: Sequence[SparseSearch]
    ) -> Sequence[Sequence[Hit] | Sequence[SectionHit]]:
        """
        Return the results of a batch of BM25 searches.
        """
        results: list[list[Hit] | list[SectionHit]] = []
        if searches:
            self._stored(scope)
        found = self._published(scope.index)
        ledger = found.parts.get(scope.tenant, Part()).ledger
        for search in searches:
            corpus = self._passing(scope, search.kind, scope.corpus_filter())
            encoder = Bm25Encoder(found.manifests[scope.version.generation].bm25)
            languages = [search.language] if search.language else [r.language for r in ledger.rows]
            scores = bm25_scores(encoder.query(search.text, languages), corpus)
            visible = set(map(_identity, self._searched(scope, search)))
            scored = [
                (score, corpus[at])
                for at, score in scores.items()
                if _identity(corpus[at]) in visible
            ]
            results.append(found_hits(first(scored, search.limit), search.kind))
        return results

    async def search_vectors(
        self, scope: ReadScope, searches: Sequence[DenseSearch]
    ) -> Sequence[Sequence[Hit] | Sequence[SectionHit]]:
        """
        Return the results of a batch of vector searches.
        """
        results: list[list[Hit] | list[SectionHit]] = []
        for search in searches:
            points = [p for p in self._searched(scope, search) if p.vector]
            found = [(cosine(search.vector, p.vector), p) for p in points if p.vector]
            results.append(found_hits(first(found, search.limit), search.kind))
        return results

    async def chunks(self, scope: ReadScope, keys: Sequence[str]) -> Sequence[Chunk]:
        """
        Return the chunks that exist and lie in the scope.
        """
        points = self._visible(scope, PointKind.CHUNK)
        return [point.as_chunk() for point in points if point.key in keys]

    async def sections(self, scope: ReadScope, keys: Sequence[str]) -> Sequence[Section]:
        """
        Return the sections that exist and lie in the scope.
        """
        points = self._visible(scope, PointKind.SECTION)
        return [point.as_section() for point in points if point.key in keys]

    async def chunk_texts(self, scope: ReadScope, keys: Sequence[str]) -> Mapping[str, str]:
        """
        Return the chunks' own texts by key.
        """
        points = self._visible(scope, PointKind.CHUNK)
        return {p.key: p.chunk.text for p in points if p.key in keys and p.chunk}

    async def sections_covering(
        self, scope: ReadScope, source_id: str, content_sha256: str, span: Span
    ) -> Sequence[Section]:
        """
        Return the sections of one source text that share code points with the span.
        """
        found = [
            point.as_section()
            for point in self._visible(scope, PointKind.SECTION)
            if point.provenance.source_id == source_id
            and point.provenance.content_sha256 == content_sha256
        ]
        inside = [section for section in found if section.span.overlaps(span)]
        return sorted(inside, key=lambda section: section.span)

    def _published(self, index: str) -> StoredIndex:
        found = self._indexes.get(index)
        if found is None or not found.parts:
            raise IndexUnknown(index)
        return found

    def _stored(self, scope: ReadScope) -> Sequence[Stored]:
        found = self._published(scope.index)
        if scope.version.generation not in found.manifests:
            raise VersionGone(str(scope.version))
        part = found.parts.get(scope.tenant, Part())
        snapshot = part.history.get(scope.version.revision)
        if snapshot is None or snapshot.ledger.generation != scope.version.generation:
            return []
        return snapshot.points

    def _passing(self, scope: ReadScope, kind: PointKind, wanted: Filter) -> list[Stored]:
        revision = scope.version.revision
        return [
            point.as_of(revision)
            for point in self._stored(scope)
            if point.kind is kind and wanted.accepts(point.provenance.value_of)
        ]

    def _visible(self, scope: ReadScope, kind: PointKind) -> list[Stored]:
        return latest(self._passing(scope, kind, scope.record_filter()))

    def _searched(self, scope: ReadScope, search: SparseSearch | DenseSearch) -> list[Stored]:
        points = self._visible(scope, search.kind)
        if search.within is None:
            return points
        return [point for point in points if point.section_key in search.within]


def _identity(point: Stored) -> tuple[str, int]:
    return point.key, point.provenance.from_rev
