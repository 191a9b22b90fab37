"""
A request as the core takes it: every value checked and effective, nothing optional left open.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from assembler.model import MetadataValue
from assembler.scope import Scope
from assembler.span import Span

if TYPE_CHECKING:
    from assembler.ports import ChatMessage, Vector

PLACEHOLDER = "{{context}}"
"""What stands in a frame's messages where the context goes."""


class Fill(enum.Enum):
    """
    When packing stops: at the profile's price, or when nothing fits any more.
    """

    AUTO = "auto"
    FULL = "full"


class ExpansionMode(enum.Enum):
    """
    The unit that is chosen, and whether chosen passages grow.
    """

    AUTO = "auto"
    CHUNK = "chunk"
    WINDOW = "window"
    SECTION = "section"


class RetrievalMode(enum.Enum):
    """
    Which searches find candidates.
    """

    HYBRID = "hybrid"
    DENSE = "dense"
    SPARSE = "sparse"
    COARSE_TO_FINE = "coarse_to_fine"


class Order(enum.Enum):
    """
    The order of passages in the context.
    """

    RELEVANCE = "relevance"
    DOCUMENT = "document"
    EDGES = "edges"


class Format(enum.Enum):
    """
    How passages are laid out.
    """

    MARKDOWN = "markdown"
    XML = "xml"
    PLAIN = "plain"


class Headings(enum.Enum):
    """
    Whether the heading path of a section is printed before its first passage.
    """

    PATH = "path"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class QueryVector:
    """
    A vector that the caller made, and the model it comes from.
    """

    values: Vector
    model: str


@dataclass(frozen=True, slots=True)
class Query:
    """
    The question, or one of its rewrites or sub-questions.
    """

    text: str
    weight: float = 1.0
    vector: QueryVector | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """
    One index to look in, with its scope and its share of the budget.
    """

    index: str
    scope: Scope = field(default_factory=Scope)
    weight: float = 1.0
    min_context_tokens: int = 0
    max_context_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class SourceRange:
    """
    A range of one source of one target; an absent span is the whole text.
    """

    target: int
    source_id: str
    version: str | None = None
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class ChunkKey:
    """
    One chunk by the key that citations carry.
    """

    key: str


Selector: TypeAlias = SourceRange | ChunkKey


@dataclass(frozen=True, slots=True)
class ContextTokens:
    """
    A budget for the context as a text of its own.
    """

    limit: int


@dataclass(frozen=True, slots=True)
class PromptWindow:
    """
    A budget for the whole prompt: window less reserved output less the frame.

    Attributes:
        messages: The frame with exactly one placeholder, counted with the context inserted; or
        frame_tokens: the frame's size as the caller counted it.
    """

    window: int
    reserved_output: int
    messages: tuple[ChatMessage, ...] | None = None
    frame_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Budget:
    """
    The most tokens the context may count, and in which tokenizer.

    Attributes:
        safety_ratio: >= 1; above 1 the tokenizer is a declared proxy and the limit is divided.
    """

    tokenizer: str
    room: ContextTokens | PromptWindow
    safety_ratio: float = 1.0


@dataclass(frozen=True, slots=True)
class Retrieval:
    """
    Limits of what is looked at.

    Attributes:
        chunk_limit: Candidates per search and query.
        section_limit: Most sections read; None takes the profile's. Of the mode COARSE_TO_FINE,
            how many of the best sections are searched for chunks.
        max_source_share: Most of the context limit that one source may take, in (0, 1].
        min_similarity: Least raw cosine; candidates that only BM25 knows pass.
        rerank: Whether candidates are scored again by a cross-encoder; None takes the profile's.
    """

    chunk_limit: int = 100
    section_limit: int | None = None
    max_source_share: float = 1.0
    min_similarity: float | None = None
    mode: RetrievalMode = RetrievalMode.HYBRID
    rerank: bool | None = None


@dataclass(frozen=True, slots=True)
class Expansion:
    """
    The unit and, for WINDOW, how many chunks stand on either side.
    """

    mode: ExpansionMode = ExpansionMode.AUTO
    window_chunks: int = 1


@dataclass(frozen=True, slots=True)
class Layout:
    """
    Order and look of the context.
    """

    order: Order = Order.RELEVANCE
    format: Format = Format.MARKDOWN
    headings: Headings = Headings.PATH


@dataclass(frozen=True, slots=True)
class AssembleRequest:
    """
    One call of `AssembleContext`.
    """

    queries: tuple[Query, ...]
    targets: tuple[Target, ...]
    budget: Budget
    fill: Fill = Fill.AUTO
    retrieval: Retrieval = field(default_factory=Retrieval)
    expansion: Expansion = field(default_factory=Expansion)
    layout: Layout = field(default_factory=Layout)
    must_include: tuple[Selector, ...] = ()
    exclude: tuple[Selector, ...] = ()
    profile: str | None = None
    query_language: str | None = None
    metadata_fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GivenPassage:
    """
    A passage that the caller found itself; without a span it is never merged.
    """

    text: str
    source_id: str
    version: str = ""
    span: Span | None = None
    score: float | None = None
    heading_path: tuple[str, ...] = ()
    title: str = ""
    uri: str = ""
    metadata: tuple[tuple[str, MetadataValue], ...] = ()


@dataclass(frozen=True, slots=True)
class PackRequest:
    """
    One call of `PackPassages`.
    """

    passages: tuple[GivenPassage, ...]
    budget: Budget
    fill: Fill = Fill.AUTO
    layout: Layout = field(default_factory=Layout)
    max_source_share: float = 1.0
