"""
What the core needs from outside, as small protocols that adapters fulfil.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from assembler.model import Chunk, FieldType, Hit, PointKind, Section, SectionHit
from assembler.scope import IndexVersion

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assembler.scope import ReadScope
    from assembler.span import Span

Vector: TypeAlias = "Sequence[float]"


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """
    Which embedding model made, or makes, vectors: two are the same when the weights' hashes are.
    """

    name: str
    sha256: str
    dimension: int


@dataclass(frozen=True, slots=True)
class IndexSchema:
    """
    The filterable fields of an index by name, and whether every source needs readers.
    """

    fields: Mapping[str, FieldType]
    readers_required: bool = False


@dataclass(frozen=True, slots=True)
class IndexState:
    """
    One tenant's part of an index as of its head, or of the revision that was asked for.

    Attributes:
        oldest_revision: The first that can be read; those of `gone` after it were rolled back.
        languages: Languages that stored texts are BM25-encoded in.
        profile: The profile of requests that name none.
        has_section_vectors: Whether sections can be searched by vector; `has_text_search` likewise.
    """

    index: str
    version: IndexVersion
    oldest_revision: int
    model: ModelIdentity
    schema: IndexSchema
    languages: tuple[str, ...]
    profile: str
    has_section_vectors: bool = False
    gone: tuple[int, ...] = ()
    has_text_search: bool = True


@dataclass(frozen=True, slots=True)
class SparseSearch:
    """
    A BM25 search for chunks or sections by text.

    Attributes:
        language: BCP 47; None encodes the query once per language of the index and unites them.
        within: Keys of the sections that hits lie in; None for all.
    """

    text: str
    kind: PointKind
    limit: int
    language: str | None = None
    within: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class DenseSearch:
    """
    A vector search for chunks or sections, by cosine; `within` as in `SparseSearch`.
    """

    vector: Vector
    limit: int
    kind: PointKind = PointKind.CHUNK
    within: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class SourceRow:
    """
    What the ledger knows of one source version of a tenant.
    """

    source_id: str
    version: str
    content_sha256: str
    chars: int
    readers: tuple[str, ...] | None
    from_rev: int
    active_to_rev: int
    to_rev: int
    is_purged: bool = False


class IndexCatalog(Protocol):
    """
    Resolves names to states.
    """

    async def resolve(self, index: str, tenant: str, *, refresh: bool = False) -> IndexState:
        """
        Return the tenant's part of the index as of its head; empty before its first publish.

        Raises:
            IndexUnknown: No index has this name.
            IndexUnusable: Its files or collections are damaged.
            IndexUnavailable: It could not be asked.
        """
        ...

    async def rows(self, index: str, tenant: str, source_id: str) -> Sequence[SourceRow]:
        """
        Return the ledger's rows of one source, oldest first; none where it never existed.
        """
        ...


class ChunkIndex(Protocol):
    """
    Searches and reads the points of one scope. Every method checks what comes back.
    """

    async def search_text(
        self, scope: ReadScope, searches: Sequence[SparseSearch]
    ) -> Sequence[Sequence[Hit] | Sequence[SectionHit]]:
        """
        Return the results of a batch of BM25 searches, each sorted by score, then key.

        Scores are rounded to 1e-6 and a group of equal scores at the cut is decided by key.
        """
        ...

    async def search_vectors(
        self, scope: ReadScope, searches: Sequence[DenseSearch]
    ) -> Sequence[Sequence[Hit] | Sequence[SectionHit]]:
        """
        Return the results of a batch of vector searches, sorted and cut likewise.
        """
        ...

    async def chunks(self, scope: ReadScope, keys: Sequence[str]) -> Sequence[Chunk]:
        """
        Return the chunks that exist and lie in the scope, in any order, without a search.
        """
        ...

    async def sections(self, scope: ReadScope, keys: Sequence[str]) -> Sequence[Section]:
        """
        Return the sections that exist and lie in the scope, in any order, in one filtered read.
        """
        ...

    async def chunk_texts(self, scope: ReadScope, keys: Sequence[str]) -> Mapping[str, str]:
        """
        Return the chunks' own texts by key, for chunks whose section cannot be used.
        """
        ...

    async def sections_covering(
        self, scope: ReadScope, source_id: str, content_sha256: str, span: Span
    ) -> Sequence[Section]:
        """
        Return the sections of one source text that share code points with the span, in order.
        """
        ...


class Embedder(Protocol):
    """
    Turns queries into vectors.
    """

    @property
    def identity(self) -> ModelIdentity:
        """
        Return which model this is.
        """
        ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """
        Return one normalised vector per text.

        Raises:
            EmbedderUnavailable: The model could not be asked.
        """
        ...


class Reranker(Protocol):
    """
    Scores texts by how well they answer a query.
    """

    @property
    def identity(self) -> str:
        """
        Return which model this is; a part of fingerprints.
        """
        ...

    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """
        Return one score per text, higher is better, or raise `RerankerUnavailable`.
        """
        ...


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """
    One message of a prompt, as chat APIs have it.
    """

    role: str
    content: str
    name: str | None = None


class TokenCounter(Protocol):
    """
    The generator's own tokenizer, as far as counting goes.
    """

    @property
    def name(self) -> str:
        """
        Return the name as resolved.
        """
        ...

    @property
    def sha256(self) -> str:
        """
        Return the hash of the tokenizer's file.
        """
        ...

    def count(self, text: str) -> int:
        """
        Return the tokens of a text of its own, special ones not included.
        """
        ...

    def count_messages(self, messages: Sequence[ChatMessage]) -> int:
        """
        Return the number of tokens of a prompt by the rule of the model family.
        """
        ...


class TokenCounters(Protocol):
    """
    The tokenizers that are there.
    """

    def get(self, name: str) -> TokenCounter:
        """
        Return the counter for a name or an alias of it.

        Raises:
            TokenizerUnknown: No file for it is there.
        """
        ...

    def names(self) -> Sequence[str]:
        """
        Return every name that `get` accepts, aliases not included.
        """
        ...


class Clock(Protocol):
    """
    Measures durations.
    """

    def __call__(self) -> float:
        """
        Return monotonic seconds.
        """
        ...
