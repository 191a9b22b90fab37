"""
The documents as the index holds them: their text, checked against the evidence, and their cuts.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assembler.model import Section
from assembler.ports import ChunkIndex, IndexCatalog
from assembler.resolve import read_scope
from assembler.scope import Scope, VersionPolicy
from assembler.source_text import SourceRequest, read_source
from assembler.span import Span
from evaluation.question_set import Document, Question

ALL = Scope(versions=VersionPolicy.ALL)


class EvidenceMoved(Exception):
    """
    A stored text is not the text that the evidence counts in.
    """


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """
    A document as it was indexed.

    Attributes:
        sections: In order; they partition the text.
        chunks: The spans of all chunks, in order, so that a chunk's ordinal is its position.
    """

    doc_id: str
    text: str
    sections: tuple[Section, ...]
    chunks: tuple[Span, ...]

    @property
    def section_spans(self) -> tuple[Span, ...]:
        """
        Return where the sections are.
        """
        return tuple(section.span for section in self.sections)

    def section_of(self, chunk: Span) -> Section:
        """
        Return the section that a chunk lies in.
        """
        at = bisect.bisect_right(self.sections, chunk.start, key=lambda one: one.span.start)
        return self.sections[at - 1]


class StoredDocuments:
    """
    Reads documents from an index as the product reads source texts, each once.
    """

    def __init__(
        self,
        catalog: IndexCatalog,
        chunk_index: ChunkIndex,
        index: str,
        documents: Mapping[str, Document],
    ) -> None:
        self._catalog = catalog
        self._chunk_index = chunk_index
        self._index = index
        self._documents = documents
        self._names = {
            (one.source, one.version) if one.version else (one.doc_id, ""): one.doc_id
            for one in documents.values()
        }
        self._read: dict[str, StoredDocument] = {}

    def doc_id(self, source_id: str, version: str) -> str:
        """
        Return which document a source version is.
        """
        return self._names.get((source_id, version)) or self._names[source_id, ""]

    async def document(self, doc_id: str) -> StoredDocument:
        """
        Return a document, read when it is first asked for.
        """
        if doc_id not in self._read:
            self._read[doc_id] = await self._stored(self._documents[doc_id])
        return self._read[doc_id]

    async def check(self, questions: Sequence[Question]) -> None:
        """
        Check that every evidence text stands at its place in the stored text.

        Raises:
            EvidenceMoved: One does not.
        """
        for question in questions:
            for evidence in question.evidence:
                stored = await self.document(evidence.doc_id)
                if evidence.span.slice(stored.text) != evidence.text:
                    raise EvidenceMoved(
                        f"question {question.id!r}: the evidence at [{evidence.span.start}, "
                        f"{evidence.span.end}) of {evidence.doc_id!r} does not stand there in the "
                        "stored text"
                    )

    async def _stored(self, document: Document) -> StoredDocument:
        asked = SourceRequest(
            index=self._index,
            scope=ALL,
            source_id=source_id_of(document),
            version=document.version or None,
            content_sha256=None,
            start=0,
            end=None,
        )
        source = await read_source(asked, self._catalog, self._chunk_index)
        state = await self._catalog.resolve(self._index, ALL.tenant)
        scope = read_scope(state, ALL, "bench")
        found = await self._chunk_index.sections_covering(
            scope, asked.source_id, source.row.content_sha256, Span(0, max(source.row.chars, 1))
        )
        sections = [one for one in found if one.provenance.version == source.row.version]
        sections.sort(key=lambda one: one.span)
        chunks = itertools.chain.from_iterable(one.chunk_spans for one in sections)
        return StoredDocument(document.doc_id, source.text, tuple(sections), tuple(chunks))


def source_id_of(document: Document) -> str:
    """
    Return the source that a document is indexed as: versions of one document are one source.
    """
    return document.source if document.version else document.doc_id
