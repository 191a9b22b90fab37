"""
Small sources to publish: cut, numbered and described as the indexer would do it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from adapters.records import ChunkPoint, LedgerRow, RevisionSummary, SectionPoint
from adapters.store import Bm25Spec, ChunkerSpec, EmbeddingSpec, IndexStore, Manifest, Publication
from assembler.filters import FieldValue
from assembler.model import (
    Block,
    Border,
    BorderKind,
    Chunk,
    FieldType,
    Hit,
    Provenance,
    Section,
    SectionHit,
)
from assembler.ports import ModelIdentity
from assembler.scope import IndexVersion, ReadScope, Scope, VersionPolicy
from assembler.span import Span
from indexer.write import mean_vector
from tests.fakes import hash_vector

if TYPE_CHECKING:
    from tests.contract.conftest import Backend

DIMENSION = 8
MODEL = ModelIdentity("fake", "0" * 64, DIMENSION)


def manifest(
    *, chunker: str = "1", model: ModelIdentity = MODEL, section_vectors: bool = True
) -> Manifest:
    return Manifest(
        chunker=ChunkerSpec("words", chunker, {"words": 8}),
        embedding=EmbeddingSpec(model, "r1", 256, "mean", "", "", normalised=True),
        bm25=Bm25Spec(),
        fields={
            "team": FieldType.KEYWORD,
            "tags": FieldType.KEYWORD_LIST,
            "public": FieldType.BOOL,
            "year": FieldType.INT64,
            "changed": FieldType.TIMESTAMP,
            "odd name": FieldType.KEYWORD,
        },
        section_vectors=section_vectors,
    )


@dataclass(frozen=True)
class Source:
    """
    One version of a source, a section per text and a chunk per sentence.
    """

    source_id: str
    sections: tuple[str, ...]
    version: str = "v1"
    language: str = "en"
    readers: tuple[str, ...] | None = None
    fields: Mapping[str, FieldValue] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "".join(self.sections)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def provenance(self, tenant: str, revision: int) -> Provenance:
        return Provenance(
            tenant=tenant,
            source_id=self.source_id,
            version=self.version,
            content_sha256=self.sha256,
            readers=self.readers,
            from_rev=revision,
            fields=self.fields,
        )

    def row(self, revision: int) -> LedgerRow:
        return LedgerRow(
            source_id=self.source_id,
            version=self.version,
            content_sha256=self.sha256,
            source_set="set",
            described_sha256="0" * 64,
            language=self.language,
            title=self.source_id.title(),
            uri=f"file:{self.source_id}",
            media_type="text/plain",
            chars=len(self.text),
            sections=len(self.sections),
            chunks=sum(len(_sentences(text)) for text in self.sections),
            tokens=len(self.text.split()),
            readers=self.readers,
            from_rev=revision,
        )

    def points(self, tenant: str, revision: int) -> tuple[list[ChunkPoint], list[SectionPoint]]:
        chunks: list[ChunkPoint] = []
        sections: list[SectionPoint] = []
        start = 0
        for ordinal, text in enumerate(self.sections):
            section_key = key_of("section", tenant, self, ordinal)
            first = len(chunks)
            at = start
            for sentence in _sentences(text):
                key = key_of("chunk", tenant, self, len(chunks))
                chunk = Chunk(
                    key=key,
                    provenance=self.provenance(tenant, revision),
                    section_key=section_key,
                    span=Span(at, at + len(sentence)),
                    ordinal=len(chunks),
                    text_sha256=_sha256(sentence),
                )
                chunks.append(
                    ChunkPoint(
                        chunk,
                        sentence,
                        hash_vector(sentence, DIMENSION),
                        sentence,
                        self.language,
                        _sha256(sentence),
                    )
                )
                at += len(sentence)
            spans = tuple(point.chunk.span for point in chunks[first:])
            section = Section(
                key=section_key,
                provenance=self.provenance(tenant, revision),
                span=Span(start, start + len(text)),
                ordinal=ordinal,
                text=text,
                text_sha256=_sha256(text),
                heading_path=("Top", f"Part {ordinal}"),
                title=self.source_id.title(),
                uri=f"file:{self.source_id}",
                media_type="text/plain",
                language=self.language,
                first_chunk_ordinal=first,
                chunk_spans=spans,
                borders=(
                    Border(start, BorderKind.PARAGRAPH),
                    *(Border(span.start, BorderKind.SENTENCE) for span in spans[1:]),
                ),
                blocks=(Block(spans[-1], spans[0]),) if len(spans) > 1 else (),
                metadata={"page": 3, "ratio": 0.5, "note": None, "list": ("a", 1, ("b",))},
            )
            vectors = [point.vector for point in chunks[first:]]
            sections.append(SectionPoint(section, text, mean_vector(vectors)))
            start += len(text)
        return chunks, sections


def key_of(kind: str, tenant: str, source: Source, ordinal: int) -> str:
    return _sha256(f"{kind}|{tenant}|{source.source_id}|{source.sha256}|{ordinal}")[:32]


def write(publication: Publication, tenant: str, sources: Sequence[Source]) -> list[LedgerRow]:
    revision = publication.ledger.next_revision
    rows = []
    for source in sources:
        publication.write(*source.points(tenant, revision))
        rows.append(source.row(revision))
    return rows


def summary(revision: int, added: int = 0, ended: int = 0) -> RevisionSummary:
    return RevisionSummary(revision, "2026-01-01T00:00:00Z", added, ended, added, 0)


def publish(
    store: IndexStore,
    sources: Sequence[Source],
    *,
    index: str = "docs",
    tenant: str = "",
    readers_required: bool = False,
    into: Manifest | None = None,
) -> IndexVersion:
    """
    Add sources to what a tenant has; what stands under the same name and version is replaced.
    """
    with store.publication(index, tenant) as publication:
        target = into or manifest()
        publication.open_generation(target)
        revision = publication.ledger.next_revision
        rows = write(publication, tenant, sources)
        return publication.commit(
            (*publication.ledger.rows, *rows),
            readers_required=readers_required,
            summary=summary(revision, added=len(rows)),
        )


async def read_scope(backend: Backend, *, policy: str = "ACTIVE", **asked: Any) -> ReadScope:
    """
    Return a resolved scope of the index that `publish` writes.
    """
    scope = Scope(versions=VersionPolicy[policy], **asked)
    state = await backend.reading.resolve("docs", scope.tenant)
    version = scope.exactly or state.version
    return ReadScope("docs", version, state.schema.readers_required, scope)


def hits_of(found: Sequence[Hit] | Sequence[SectionHit]) -> list[Hit]:
    """
    Return the results of a search for chunks.
    """
    return [hit for hit in found if isinstance(hit, Hit)]


def section_keys_of(found: Sequence[Hit] | Sequence[SectionHit]) -> list[str]:
    """
    Return the results of a search for sections.
    """
    return [hit.section_key for hit in found if isinstance(hit, SectionHit)]


async def sources_in(
    backend: Backend, scope: ReadScope, sources: Sequence[Source], *, tenant: str = ""
) -> set[tuple[str, str]]:
    """
    Return which of the sources have sections in the scope, by id and version.
    """
    keys = [p.section.key for source in sources for p in source.points(tenant, 1)[1]]
    found = await backend.reading.sections(scope, keys)
    return {(s.provenance.source_id, s.provenance.version) for s in found}


def _sentences(text: str) -> list[str]:
    return [part + "." for part in text.split(".") if part]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
