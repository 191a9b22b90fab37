"""
Embed what has no vector yet and write points in batches.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from adapters.document_embedder import DocumentEmbedder
from adapters.records import ChunkPoint, SectionPoint
from adapters.store import Publication
from assembler.model import Section
from assembler.ports import Vector
from indexer.cut_source import CutSource, Draft, section_input
from indexer.ports import Progress

BATCH_CHUNKS = 1024
SAVED_TOGETHER = 256
"""Vectors that are made, then made durable: at most so many are lost with the process."""

LEAST_LENGTH = 1e-6
"""Of a sum of vectors: a shorter one has no direction but that of rounding."""


class Writer:
    """
    Collects cut sources, embeds their new chunks together and writes both kinds of points.
    """

    def __init__(
        self, publication: Publication, embedder: DocumentEmbedder, progress: Progress
    ) -> None:
        self._publication = publication
        self._embedder = embedder
        self._progress = progress
        self._waiting: list[tuple[CutSource, Draft]] = []
        self._sections: list[Section] = []
        self._vectors: dict[str, Vector] = {}
        self._total = 0
        self._done = 0
        self.embedded = 0
        self.reused = 0

    def add(self, cut: CutSource) -> None:
        """
        Take a source; writes when enough has come together.
        """
        stored = self._publication.reusable_vectors(cut.file.source_id, cut.content_sha256)
        self._vectors.update(stored)
        self._sections += cut.sections
        self._waiting += [(cut, draft) for draft in cut.drafts]
        self._total += len(cut.drafts)
        if len(self._waiting) >= BATCH_CHUNKS:
            self.flush()

    def flush(self) -> None:
        """
        Embed and write everything that waits.
        """
        inputs = {
            draft.input_sha256: (cut, draft)
            for cut, draft in self._waiting
            if draft.input_sha256 not in self._vectors
        }
        saved = self._publication.saved_vectors(inputs)
        missing = [pair for key, pair in inputs.items() if key not in saved]
        alone = [draft for _, draft in missing if draft.window_overlap is None]
        made = self._embed({draft.input_sha256: draft.embedding_input for draft in alone})
        made |= self._embed_in_whole(missing)
        vectors = {**self._vectors, **saved, **made}
        self.embedded += len(made)
        self.reused += len(self._waiting) - len(made)
        inside: dict[str, list[Vector]] = {}
        for _, draft in self._waiting:
            inside.setdefault(draft.chunk.section_key, []).append(vectors[draft.input_sha256])
        self._publication.write(
            [
                ChunkPoint(
                    chunk=draft.chunk,
                    text=draft.text,
                    vector=vectors[draft.input_sha256],
                    bm25_text=draft.embedding_input,
                    language=cut.language,
                    input_sha256=draft.input_sha256,
                )
                for cut, draft in self._waiting
            ],
            [
                SectionPoint(one, section_input(one), mean_vector(inside.get(one.key, ())))
                for one in self._sections
            ],
        )
        self._done = self._total
        if self._total:
            self._progress("embedding", self._done, self._total)
        self._waiting, self._sections, self._vectors = [], [], {}

    def _embed(self, inputs: Mapping[str, str]) -> dict[str, Vector]:
        """
        Return new vectors; what is told as done is saved.
        """
        ordered = sorted(inputs, key=lambda key: len(inputs[key]))
        made: dict[str, Vector] = {}
        for first in range(0, len(ordered), SAVED_TOGETHER):
            keys = ordered[first : first + SAVED_TOGETHER]
            vectors = self._embedder.embed_documents([inputs[key] for key in keys])
            batch = dict(zip(keys, vectors, strict=True))
            self._publication.save_vectors(batch)
            made |= batch
            self._tell(len(batch))
        return made

    def _embed_in_whole(self, missing: Sequence[tuple[CutSource, Draft]]) -> dict[str, Vector]:
        """
        Return new vectors of chunks whose tokens are read in the whole of their text.
        """
        by_text: dict[tuple[str, int], list[Draft]] = {}
        for cut, draft in missing:
            if draft.window_overlap is not None:
                by_text.setdefault((cut.text, draft.window_overlap), []).append(draft)
        made: dict[str, Vector] = {}
        for (text, overlap), drafts in by_text.items():
            ordered = sorted(drafts, key=lambda one: one.chunk.span)
            spans = [(one.chunk.span.start, one.chunk.span.end) for one in ordered]
            vectors = self._embedder.embed_spans(text, spans, overlap)
            keys = [one.input_sha256 for one in ordered]
            batch = dict(zip(keys, vectors, strict=True))
            self._publication.save_vectors(batch)
            made |= batch
            self._tell(len(batch))
        return made

    def _tell(self, count: int) -> None:
        self._done += count
        self._progress("embedding", min(self._done, self._total), self._total)


def mean_vector(vectors: Sequence[Vector]) -> Vector | None:
    """
    Return the mean of vectors, of length 1; None where there is none, or they cancel out.
    """
    if not vectors:
        return None
    total = tuple(map(math.fsum, zip(*vectors, strict=True)))
    length = math.hypot(*total)
    return tuple(value / length for value in total) if length > LEAST_LENGTH else None
