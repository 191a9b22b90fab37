"""
A source text to its sections and chunks, with keys, borders and embedding inputs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from adapters.document_embedder import DocumentEmbedder
from adapters.store import ChunkerSpec
from assembler.filters import FieldValue
from assembler.model import (
    FOREVER,
    Block,
    Border,
    BorderKind,
    Chunk,
    PointKind,
    Provenance,
    Section,
)
from assembler.span import Span
from indexer.keys import key_of
from indexer.ports import ChatModel
from indexer.sources import SourceFile
from indexer.strategies import late
from indexer.strategies.context_sentence import with_sentences
from indexer.strategies.pieces import Cut, CutPart, Piece, SourceToCut
from indexer.strategies.prefix import heading_prefix, with_prefix
from indexer.strategies.registry import CONTEXT, chunker_of, strategy_of
from indexer.strategies.title import SETTING as TITLE
from indexer.strategies.title import with_titles

CHUNKER = chunker_of("structure")
"""How a new index is cut unless its first run says otherwise."""

FINGERPRINT = CHUNKER.fingerprint


@dataclass(frozen=True, slots=True)
class Draft:
    """
    A chunk before it has a vector.

    Attributes:
        embedding_input: What is embedded and BM25-encoded: heading path and text.
        window_overlap: Where the vector is of the chunk's tokens in the whole text: the tokens that
            windows share; None where it is of `embedding_input`.
        tokens: Of the model in the text.
    """

    chunk: Chunk
    text: str
    embedding_input: str
    window_overlap: int | None = None
    tokens: int = 0

    @property
    def input_sha256(self) -> str:
        """
        Return the hash by which a vector can be reused.
        """
        if self.window_overlap is None:
            return sha256_of(self.embedding_input)
        digest, span = self.chunk.provenance.content_sha256, self.chunk.span
        return sha256_of(
            f"{late.NAME}/{late.VERSION}/{digest}/{span.start}-{span.end}/{self.window_overlap}"
        )


@dataclass(frozen=True, slots=True)
class CutSource:
    """
    A source version, cut.

    Attributes:
        tokens: Tokens of the embedding model in the whole text.
        reason: Why it was cut so, where the strategy depends on the text; else "".
        counts: What was done how often, and what was refused.
    """

    file: SourceFile
    text: str
    version: str
    content_sha256: str
    language: str
    title: str
    sections: tuple[Section, ...]
    drafts: tuple[Draft, ...]
    tokens: int
    reason: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)


def cut_source(
    file: SourceFile,
    text: str,
    *,
    tenant: str,
    language: str,
    fields: Mapping[str, FieldValue],
    revision: int,
    is_active: bool,
    embedder: DocumentEmbedder,
    chunker: ChunkerSpec = CHUNKER,
    chat: ChatModel | None = None,
) -> CutSource:
    """
    Return the sections and chunks of a text; together the sections are the text, and the chunks the
    sections. Chunks share text only where the chunker overlaps on purpose.
    """
    content_sha256 = sha256_of(text)
    version = file.version or content_sha256[:12]
    source = SourceToCut(
        text, _name_of(file), file.media_type, language, embedder, chat, file.source_id, file.title
    )
    cut = strategy_of(chunker).cut(source, chunker.settings)
    if chunker.settings.get(TITLE):
        cut = with_titles(source, cut)
    if CONTEXT in chunker.settings:
        cut = with_sentences(source, cut, str(chunker.settings[CONTEXT]))
    origin = Provenance(
        tenant=tenant,
        source_id=file.source_id,
        version=version,
        content_sha256=content_sha256,
        readers=file.readers,
        from_rev=revision,
        active_to_rev=FOREVER if is_active else revision,
        fields=fields,
    )
    headings = source.structure.headings
    title = file.title or (headings[0].title if headings else "")
    fingerprint = chunker.fingerprint
    sections: list[Section] = []
    drafts: list[Draft] = []
    for ordinal, one in enumerate(cut.parts):
        span = one.part.span
        key = key_of(PointKind.SECTION, origin, span, chunker=fingerprint)
        made = _drafts(source, one.pieces, origin, key, len(drafts), chunker)
        sections.append(
            Section(
                key=key,
                provenance=origin,
                span=span,
                ordinal=ordinal,
                text=span.slice(text),
                text_sha256=sha256_of(span.slice(text)),
                heading_path=one.part.heading_path,
                title=title,
                uri=file.uri,
                media_type=file.media_type,
                language=language,
                first_chunk_ordinal=len(drafts),
                chunk_spans=tuple(draft.chunk.span for draft in made),
                chunk_keys=tuple(draft.chunk.key for draft in made),
                borders=_borders(cut, one, chunker),
                blocks=_blocks_in(source.structure.blocks, span),
                metadata=file.metadata,
            )
        )
        drafts += made
    return CutSource(
        file=file,
        text=text,
        version=version,
        content_sha256=content_sha256,
        language=language,
        title=title,
        sections=tuple(sections),
        drafts=tuple(drafts),
        tokens=source.ruler.tokens(source.whole),
        reason=cut.reason,
        counts=cut.counts,
    )


def section_input(section: Section) -> str:
    """
    Return what of a section is BM25-encoded.
    """
    return with_prefix(heading_prefix(section.heading_path), section.text)


def sha256_of(text: str) -> str:
    """
    Return the hash of a text's UTF-8 bytes, in hex.
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _drafts(
    source: SourceToCut,
    pieces: Sequence[Piece],
    origin: Provenance,
    section_key: str,
    first_ordinal: int,
    chunker: ChunkerSpec,
) -> list[Draft]:
    text, fingerprint = source.text, chunker.fingerprint
    overlap = int(chunker.settings[late.OVERLAP]) if chunker.name == late.NAME else None
    return [
        Draft(
            chunk=Chunk(
                key=key_of(PointKind.CHUNK, origin, piece.span, chunker=fingerprint),
                provenance=origin,
                section_key=section_key,
                span=piece.span,
                ordinal=first_ordinal + number,
                text_sha256=sha256_of(piece.span.slice(text)),
            ),
            text=piece.span.slice(text),
            embedding_input=with_prefix(piece.prefix, piece.span.slice(text)),
            window_overlap=overlap,
            tokens=source.ruler.tokens(piece.span),
        )
        for number, piece in enumerate(pieces)
    ]


def _borders(cut: Cut, part: CutPart, chunker: ChunkerSpec) -> tuple[Border, ...]:
    """
    Return the borders of a section; a chunk's edge inside a sentence is a forced one, so that the
    sentence is completed where the chunk is shown.
    """
    span = part.part.span
    found = {border.offset: border for border in cut.cutter.within(span)}
    for offset in span:  # of a sentence that is longer than any section
        if cut.cutter.is_inside_a_sentence(offset):
            found[offset] = Border(offset, BorderKind.FORCED)
    # `structure` cuts at borders as it is, and keeps what it always stored
    for piece in part.pieces if chunker.name != CHUNKER.name else ():
        for offset in piece.span:
            if span.start < offset < span.end:
                found.setdefault(offset, Border(offset, BorderKind.FORCED))
    return tuple(found[offset] for offset in sorted(found))


def _name_of(file: SourceFile) -> str:
    """
    Return the name whose suffix tells the language: the source's own where it has one.
    """
    return file.source_id if PurePosixPath(file.source_id).suffix else file.path.name


def _blocks_in(blocks: Sequence[Block], section: Span) -> tuple[Block, ...]:
    return tuple(
        Block(inside, block.lead)
        for block in blocks
        if section.contains(block.lead) and (inside := block.span.intersection(section)) is not None
    )
