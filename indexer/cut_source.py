"""
A source text to its sections and chunks, with keys, borders and embedding inputs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adapters.store import ChunkerSpec
from assembler.filters import FieldValue
from assembler.model import FOREVER, Block, Chunk, PointKind, Provenance, Section
from assembler.span import Span
from indexer.borders import find_borders
from indexer.cut import Cutter
from indexer.keys import key_of
from indexer.ports import DocumentEmbedder
from indexer.ruler import Ruler
from indexer.sections import Part, split_sections
from indexer.sources import SourceFile, is_code
from indexer.structure import Structure, markdown_structure

SECTION_TOKENS = 700
CHUNK_TOKENS = 128
CHUNK_AIM_TOKENS = 112
HEADING_SHARE = 4
"""A heading prefix takes at most one part in so many of a chunk's tokens."""

LEAST_CHUNK_TOKENS = 16
HEADING_JOINT = " > "

CHUNKER = ChunkerSpec(
    name="structure",
    version="2",
    settings={
        "section_tokens": SECTION_TOKENS,
        "chunk_tokens": CHUNK_TOKENS,
        "chunk_aim_tokens": CHUNK_AIM_TOKENS,
        "heading_share": HEADING_SHARE,
    },
)
FINGERPRINT = CHUNKER.fingerprint


@dataclass(frozen=True, slots=True)
class Draft:
    """
    A chunk before it has a vector.

    Attributes:
        embedding_input: What is embedded and BM25-encoded: heading path and text.
    """

    chunk: Chunk
    text: str
    embedding_input: str

    @property
    def input_sha256(self) -> str:
        """
        Return the hash by which a vector can be reused.
        """
        return sha256_of(self.embedding_input)


@dataclass(frozen=True, slots=True)
class CutSource:
    """
    A source version, cut.

    Attributes:
        tokens: Tokens of the embedding model in the whole text.
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
) -> CutSource:
    """
    Return the sections and chunks of a text; together the sections are the text, and the chunks the
    sections.
    """
    content_sha256 = sha256_of(text)
    version = file.version or content_sha256[:12]
    ruler = Ruler(embedder.offsets(text), len(text))
    structure = (
        markdown_structure(text)
        if file.media_type in ("text/markdown", "text/html")
        else Structure()
    )
    most = min(CHUNK_TOKENS, embedder.spec.max_tokens)
    forced_tokens = most - most // HEADING_SHARE - embedder.count("")
    borders = find_borders(text, language, ruler, forced_tokens, is_code=is_code(file.media_type))
    cutter = Cutter(text, borders, ruler)
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
    title = file.title or (structure.headings[0].title if structure.headings else "")
    sections: list[Section] = []
    drafts: list[Draft] = []
    parts = split_sections(
        text, structure.headings, cutter, ruler, SECTION_TOKENS, structure.blocks
    )
    for ordinal, part in enumerate(parts):
        key = _key(PointKind.SECTION, origin, part.span)
        made = _drafts(text, part, origin, key, len(drafts), cutter, embedder, most)
        sections.append(
            Section(
                key=key,
                provenance=origin,
                span=part.span,
                ordinal=ordinal,
                text=part.span.slice(text),
                text_sha256=sha256_of(part.span.slice(text)),
                heading_path=part.heading_path,
                title=title,
                uri=file.uri,
                media_type=file.media_type,
                language=language,
                first_chunk_ordinal=len(drafts),
                chunk_spans=tuple(one.chunk.span for one in made),
                chunk_keys=tuple(one.chunk.key for one in made),
                borders=cutter.within(part.span),
                blocks=_blocks_in(structure.blocks, part.span),
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
        tokens=ruler.tokens(Span(0, len(text))),
    )


def section_input(section: Section) -> str:
    """
    Return what of a section is BM25-encoded.
    """
    return _input(section.heading_path, section.text)


def sha256_of(text: str) -> str:
    """
    Return the hash of a text's UTF-8 bytes, in hex.
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _drafts(
    text: str,
    part: Part,
    origin: Provenance,
    section_key: str,
    first_ordinal: int,
    cutter: Cutter,
    embedder: DocumentEmbedder,
    most: int,
) -> list[Draft]:
    path = _shortened(part.heading_path, embedder, most // HEADING_SHARE)
    taken = embedder.count(_input(path, ""))
    aim = max(min(CHUNK_AIM_TOKENS, most - taken), LEAST_CHUNK_TOKENS)
    drafts: list[Draft] = []
    for span in _fitting(text, part.span, path, cutter, embedder, aim, most):
        body = span.slice(text)
        drafts.append(
            Draft(
                chunk=Chunk(
                    key=_key(PointKind.CHUNK, origin, span),
                    provenance=origin,
                    section_key=section_key,
                    span=span,
                    ordinal=first_ordinal + len(drafts),
                    text_sha256=sha256_of(body),
                ),
                text=body,
                embedding_input=_input(path, body),
            )
        )
    return drafts


def _fitting(
    text: str,
    span: Span,
    path: tuple[str, ...],
    cutter: Cutter,
    embedder: DocumentEmbedder,
    aim: int,
    most: int,
) -> list[Span]:
    """
    Return pieces whose whole embedding input is within the limit, counted, not estimated.
    """
    fitting: list[Span] = []
    for piece in cutter.cut(span, aim):
        if embedder.count(_input(path, piece.slice(text))) <= most:
            fitting.append(piece)
        elif aim > 1 and piece.length > 1:
            fitting += _fitting(text, piece, path, cutter, embedder, aim // 2, most)
        else:
            fitting += _fitting_letters(piece)
    return fitting


def _fitting_letters(piece: Span) -> list[Span]:
    return [Span(offset, offset + 1) for offset in range(piece.start, piece.end)]


def _shortened(path: tuple[str, ...], embedder: DocumentEmbedder, most: int) -> tuple[str, ...]:
    """
    Return the innermost headings that fit; a single one that does not fit is cut at a word.
    """
    room = most + embedder.count("")
    while len(path) > 1 and embedder.count(_input(path, "")) > room:
        path = path[1:]
    if path and embedder.count(_input(path, "")) > room:
        words = path[0][: most * 8].split(" ")
        while len(words) > 1 and embedder.count(_input((" ".join(words),), "")) > room:
            words = words[: max(len(words) * 3 // 4, 1)]
        path = (" ".join(words),) if embedder.count(_input((" ".join(words),), "")) <= room else ()
    return path


def _input(path: Sequence[str], text: str) -> str:
    return f"{HEADING_JOINT.join(path)}\n{text}" if path else text


def _key(kind: PointKind, origin: Provenance, span: Span) -> str:
    return key_of(
        kind,
        tenant=origin.tenant,
        source_id=origin.source_id,
        version=origin.version,
        content_sha256=origin.content_sha256,
        chunker=FINGERPRINT,
        span=span,
    )


def _blocks_in(blocks: Sequence[Block], section: Span) -> tuple[Block, ...]:
    return tuple(
        Block(inside, block.lead)
        for block in blocks
        if section.contains(block.lead) and (inside := block.span.intersection(section)) is not None
    )
