"""
Our own indexes and attached collections behind one pair of reading ports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adapters.attached_index import AttachedIndex
from adapters.attachment import Attachment
from adapters.qdrant_index import QdrantIndex
from adapters.store import IndexListing
from assembler.model import Chunk, Hit, Section, SectionHit
from assembler.ports import DenseSearch, IndexState, SourceRow, SparseSearch
from assembler.scope import ReadScope
from assembler.span import Span


class JoinedIndex:
    """
    The `IndexCatalog` and `ChunkIndex` of a Qdrant server: names of attached collections are read
    by their mappings, all others are our own indexes.
    """

    def __init__(
        self, own: QdrantIndex, attached: AttachedIndex, names: Mapping[str, Attachment]
    ) -> None:
        self._own = own
        self._attached = attached
        self._names = names
        self.denied_in = own.denied_in = attached.denied_in

    async def resolve(self, index: str, tenant: str, *, refresh: bool = False) -> IndexState:
        """
        Return the tenant's part of the index as of its head.
        """
        return await self._of(index).resolve(index, tenant, refresh=refresh)

    async def rows(self, index: str, tenant: str, source_id: str) -> Sequence[SourceRow]:
        """
        Return the ledger's rows of one source, oldest first.
        """
        return await self._of(index).rows(index, tenant, source_id)

    async def listings(self, tenant: str) -> Sequence[IndexListing]:
        """
        Return the indexes that the tenant has published into, and the attached collections that it
        may have a part of.
        """
        own = await self._own.listings(tenant)
        return [
            *(one for one in own if one.name not in self._names),
            *self._attached.listings(tenant),
        ]

    async def search_text(
        self, scope: ReadScope, searches: Sequence[SparseSearch]
    ) -> Sequence[Sequence[Hit] | Sequence[SectionHit]]:
        """
        Return the results of a batch of BM25 searches.
        """
        return await self._of(scope.index).search_text(scope, searches)

    async def search_vectors(
        self, scope: ReadScope, searches: Sequence[DenseSearch]
    ) -> Sequence[Sequence[Hit] | Sequence[SectionHit]]:
        """
        Return the results of a batch of vector searches.
        """
        return await self._of(scope.index).search_vectors(scope, searches)

    async def chunks(self, scope: ReadScope, keys: Sequence[str]) -> Sequence[Chunk]:
        """
        Return the chunks that exist and lie in the scope.
        """
        return await self._of(scope.index).chunks(scope, keys)

    async def sections(self, scope: ReadScope, keys: Sequence[str]) -> Sequence[Section]:
        """
        Return the sections that exist and lie in the scope.
        """
        return await self._of(scope.index).sections(scope, keys)

    async def chunk_texts(self, scope: ReadScope, keys: Sequence[str]) -> Mapping[str, str]:
        """
        Return the chunks' own texts by key.
        """
        return await self._of(scope.index).chunk_texts(scope, keys)

    async def sections_covering(
        self, scope: ReadScope, source_id: str, content_sha256: str, span: Span
    ) -> Sequence[Section]:
        """
        Return the sections of one source text that share code points with the span.
        """
        index = self._of(scope.index)
        return await index.sections_covering(scope, source_id, content_sha256, span)

    def _of(self, index: str) -> QdrantIndex | AttachedIndex:
        return self._attached if index in self._names else self._own
