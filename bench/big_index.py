"""
A big index without embedding a big corpus: the documents of a set, and filler written around them
straight through the product's store.

Filler is made of other sets' documents, copied again and again: the sentences of a document are
dealt out anew over its chunks, so that BM25 meets real words in real proportions, and every vector
is turned away from the real one by noise, half of it the section's, so that sections keep their
meaning. No filler answers a question.
"""

from __future__ import annotations

import hashlib
import random
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from adapters.document_embedder import DocumentEmbedder
from adapters.edge_store import EdgeStore
from adapters.records import ChunkPoint, LedgerRow, RevisionSummary, SectionPoint
from adapters.store import IndexStore, Manifest, Publication
from assembler.model import Border, BorderKind, Chunk, PointKind, Provenance
from assembler.ports import Vector
from assembler.span import Span
from bench.quality.prepare import MEDIA_TYPE
from bench.quality.stored import source_id_of
from evaluation.question_set import Document, QuestionSet
from indexer.cut_source import CHUNKER, CutSource, cut_source, section_input
from indexer.keys import key_of
from indexer.ports import Progress
from indexer.sources import SourceFile
from indexer.write import mean_vector

TURN = 0.75
"""Length of the noise that is added to a vector of length 1: a cosine of 0.8 to the real one."""

SEED = 7

_SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Model:
    """
    A real document to be copied: its cuts, and the vector of every chunk.
    """

    cut: CutSource
    vectors: tuple[Vector, ...]
    sentences: tuple[str, ...]


def models(
    sets: Sequence[QuestionSet],
    places: Mapping[str, str],
    data_dir: Path,
    embedder: DocumentEmbedder,
) -> list[Model]:
    """
    Return the documents of sets that are indexed already, with their stored vectors.

    Args:
        sets: The sets.
        places: The name of the index per set.
        data_dir: Where the indexes are.
        embedder: Measures texts; embeds nothing.
    """
    found: list[Model] = []
    for one in sets:
        with EdgeStore(data_dir).publication(places[one.name], "") as publication:
            for document in one.documents.values():
                stored = publication.reusable_vectors(source_id_of(document))
                cut = _cut(document, embedder)
                if all(draft.input_sha256 in stored for draft in cut.drafts):
                    vectors = tuple(stored[draft.input_sha256] for draft in cut.drafts)
                    texts = (draft.text for draft in cut.drafts)
                    sentences = tuple(s for text in texts for s in _SENTENCE_END.split(text) if s)
                    found.append(Model(cut, vectors, sentences))
    return found


def add_filler(
    store: IndexStore,
    index: str,
    real: Sequence[Model],
    chunks: int,
    progress: Progress,
    *,
    tenant: str = "",
    made_with: Manifest | None = None,
) -> int:
    """
    Add filler to a tenant's part of an index until it has so many chunks, and return how many it
    has.

    Args:
        store: Where it is written.
        index: Its name.
        real: The documents that filler is made of.
        chunks: How many the part is to have.
        progress: Told how far it is.
        tenant: Whose part.
        made_with: The manifest of a tenant who has published nothing yet.
    """
    seed = SEED + zlib.crc32(tenant.encode())
    draw, noise = random.Random(seed), np.random.default_rng(seed)  # noqa: S311 - no secrets
    with store.publication(index, tenant) as publication:
        manifest = publication.manifest or made_with
        assert manifest is not None  # noqa: S101 - the set was indexed before
        publication.open_generation(manifest)
        rows = list(publication.ledger.rows)
        count = sum(row.chunks for row in rows)
        revision = publication.ledger.next_revision
        for number, model in enumerate(_again_and_again(real)):
            if count >= chunks:
                break
            points, sections = _copy(model, number, tenant, revision, draw, noise)
            publication.write(points, sections)
            rows.append(_row(model, points, sections, revision))
            count += len(points)
            progress("filler", min(count, chunks), chunks)
        _commit(publication, rows, revision)
    return count


def _again_and_again(real: Sequence[Model]) -> Iterator[Model]:
    while real:
        yield from real


def _commit(publication: Publication, rows: Sequence[LedgerRow], revision: int) -> None:
    added = sum(row.from_rev == revision for row in rows)
    summary = RevisionSummary(revision, "2026-01-01T00:00:00Z", added, 0, 0, 0)
    publication.commit(rows, readers_required=False, summary=summary)


def _cut(document: Document, embedder: DocumentEmbedder) -> CutSource:
    file = SourceFile(
        path=document.path,
        source_id=source_id_of(document),
        media_type=MEDIA_TYPE[document.doc_format],
        version=document.version or None,
    )
    return cut_source(
        file,
        document.text,
        tenant="",
        language=document.lang,
        fields={},
        revision=1,
        is_active=True,
        embedder=embedder,
    )


def _copy(
    model: Model,
    number: int,
    tenant: str,
    revision: int,
    draw: random.Random,
    noise: np.random.Generator,
) -> tuple[list[ChunkPoint], list[SectionPoint]]:
    """
    Return a document like the real one, with as many sections and chunks.
    """
    cut = model.cut
    source_id = f"filler/{number}/{cut.file.source_id}"
    origin = Provenance(
        tenant=tenant,
        source_id=source_id,
        version="filler",
        content_sha256=hashlib.sha256(source_id.encode()).hexdigest(),
        readers=None,
        from_rev=revision,
    )
    sentences = iter(draw.sample(model.sentences, k=len(model.sentences)))
    points: list[ChunkPoint] = []
    sections: list[SectionPoint] = []
    cutter, at = CHUNKER.fingerprint, 0
    for real in cut.sections:
        drafts = range(real.first_chunk_ordinal, real.first_chunk_ordinal + len(real.chunk_spans))
        texts = [_dealt(sentences, cut.drafts[n].chunk.span.length) for n in drafts]
        vectors = _turned([model.vectors[n] for n in drafts], noise)
        first, start = len(points), at
        span = Span(start, start + sum(map(len, texts)))
        section_key = key_of(PointKind.SECTION, origin, span, chunker=cutter)
        for text, vector in zip(texts, vectors, strict=True):
            span = Span(at, at + len(text))
            digest = hashlib.sha256(text.encode()).hexdigest()
            key = key_of(PointKind.CHUNK, origin, span, chunker=cutter)
            chunk = Chunk(key, origin, section_key, span, len(points), digest)
            body = "\n".join((*real.heading_path, text))
            points.append(ChunkPoint(chunk, text, vector, body, cut.language, digest))
            at = span.end
        whole = "".join(texts)
        section = replace(
            real,
            key=section_key,
            provenance=origin,
            span=Span(start, at),
            text=whole,
            text_sha256=hashlib.sha256(whole.encode()).hexdigest(),
            first_chunk_ordinal=first,
            chunk_spans=tuple(point.chunk.span for point in points[first:]),
            chunk_keys=tuple(point.chunk.key for point in points[first:]),
            borders=(Border(start, BorderKind.PARAGRAPH),),
            blocks=(),
        )
        sections.append(SectionPoint(section, section_input(section), mean_vector(vectors)))
    return points, sections


def _dealt(sentences: Iterator[str], chars: int) -> str:
    """
    Return the next sentences, about so many characters of them.
    """
    taken: list[str] = []
    while sum(map(len, taken)) < chars and (sentence := next(sentences, None)) is not None:
        taken.append(sentence)
    return " ".join(taken)[: chars + chars // 4] + "\n"


def _turned(vectors: Sequence[Vector], noise: np.random.Generator) -> list[Vector]:
    real = np.array(vectors)
    size = real.shape[1]
    shared = noise.standard_normal(size)
    own = noise.standard_normal(real.shape)
    turned = real + TURN * np.sqrt(0.5 / size) * (shared + own)
    turned /= np.linalg.norm(turned, axis=1, keepdims=True)
    rows: list[Vector] = turned.tolist()
    return rows


def _row(
    model: Model, points: Sequence[ChunkPoint], sections: Sequence[SectionPoint], revision: int
) -> LedgerRow:
    origin = points[0].chunk.provenance
    return LedgerRow(
        source_id=origin.source_id,
        version=origin.version,
        content_sha256=origin.content_sha256,
        source_set="filler",
        described_sha256="",
        language=model.cut.language,
        title=model.cut.title,
        uri="",
        media_type=model.cut.file.media_type,
        chars=points[-1].chunk.span.end,
        sections=len(sections),
        chunks=len(points),
        tokens=0,
        readers=None,
        from_rev=revision,
    )
