"""
What a strategy is given, and what it returns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from adapters.document_embedder import DocumentEmbedder
from assembler.span import Span
from indexer.borders import find_borders
from indexer.cut import Cutter
from indexer.formats.registry import AS_MARKDOWN
from indexer.ports import ChatModel
from indexer.ruler import Ruler
from indexer.sections import Part, split_sections
from indexer.sources import is_code
from indexer.structure import Structure, markdown_structure

Value: TypeAlias = "str | int | float | bool"
Values: TypeAlias = Mapping[str, Value]

STRUCTURED = AS_MARKDOWN | {"text/markdown"}


@dataclass(frozen=True)
class SourceToCut:
    """
    A source text as a strategy sees it.

    Attributes:
        name: Source id or file name: its suffix tells the language of code.
        language: BCP 47 tag; "" for unknown.
        source_id: For what is kept about the source; "" where nothing is.
        title: As whoever gave the source named it; "" where nobody did.
        chat: Is asked where settings name a model that writes; None where there is none.
    """

    text: str
    name: str
    media_type: str
    language: str
    embedder: DocumentEmbedder
    chat: ChatModel | None = None
    source_id: str = ""
    title: str = ""

    @cached_property
    def content_sha256(self) -> str:
        """
        Return the hash of the text's UTF-8 bytes, in hex.
        """
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()

    @cached_property
    def ruler(self) -> Ruler:
        """
        Return token lengths in the text, by the embedding model's tokenizer.
        """
        return Ruler(self.embedder.offsets(self.text), len(self.text))

    @cached_property
    def structure(self) -> Structure:
        """
        Return headings and blocks where the media type has any.
        """
        return markdown_structure(self.text) if self.media_type in STRUCTURED else Structure()

    @property
    def whole(self) -> Span:
        """
        Return the range of the whole text.
        """
        return Span(0, len(self.text))

    @property
    def most_tokens(self) -> int:
        """
        Return the model's maximum, prefix and special tokens included.
        """
        return self.embedder.spec.max_tokens

    @cached_property
    def room_tokens(self) -> int:
        """
        Return the tokens that the model takes beside its special ones, at least 1.
        """
        return max(self.most_tokens - self.embedder.count(""), 1)

    def cutter(self, forced_tokens: int) -> Cutter:
        """
        Return what cuts the text at borders, with forced ones in sentences of more tokens.
        """
        borders = find_borders(
            self.text,
            self.language,
            self.ruler,
            forced_tokens,
            is_code=is_code(self.media_type),
            tables=self.structure.tables,
        )
        headings = [one.offset for one in self.structure.headings]
        return Cutter(self.text, borders, self.ruler, headings)

    def sections(self, cutter: Cutter, most_tokens: int, *, by_headings: bool) -> tuple[Part, ...]:
        """
        Return sections that partition the text, each of at most so many tokens, or a block longer.
        """
        headings = self.structure.headings if by_headings else ()
        return split_sections(
            self.text, headings, cutter, self.ruler, most_tokens, self.structure.blocks
        )


@dataclass(frozen=True, slots=True)
class Piece:
    """
    A chunk to be.

    Attributes:
        prefix: Stands before the text, on lines of its own, in what is embedded and BM25-encoded;
            "" for nothing. It is never served.
    """

    span: Span
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class CutPart:
    """
    A section to be, with its chunks in order; together they are the section.
    """

    part: Part
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """
    A text, cut.

    Attributes:
        parts: Partition the text.
        cutter: Knows the borders that the sections store.
        reason: Why it was cut so, where that depends on the text; "" where it does not.
        counts: What was done how often, and what was refused.
    """

    parts: tuple[CutPart, ...]
    cutter: Cutter
    reason: str = field(default="")
    counts: Mapping[str, int] = field(default_factory=dict)
