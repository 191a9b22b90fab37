"""
Vectors kept on disk between runs, by model and exact input.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from adapters.document_embedder import DocumentEmbedder
from adapters.store import EmbeddingSpec
from assembler.ports import Vector

BATCH_TEXTS = 256


class CachedEmbedder:
    """
    Stands for an embedder: what was embedded once, in any run, is read from a file.
    """

    def __init__(self, embedder: DocumentEmbedder, path: Path) -> None:
        """
        Open the file.

        Args:
            embedder: Embeds what is not in it.
            path: An SQLite file, made where it is missing.
        """
        self._embedder = embedder
        self._model = embedder.spec.model.sha256 + embedder.spec.prefix
        path.parent.mkdir(parents=True, exist_ok=True)
        self._store = sqlite3.connect(path)
        self._store.execute("create table if not exists vectors (key blob primary key, value blob)")
        self.embedded = 0

    @property
    def spec(self) -> EmbeddingSpec:
        """
        Return how texts become vectors.
        """
        return self._embedder.spec

    def count(self, text: str) -> int:
        """
        Return the model's tokens of a document, prefix and special tokens included.
        """
        return self._embedder.count(text)

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """
        Return the code point range of each token of a text, special tokens left out.
        """
        return self._embedder.offsets(text)

    def embed_documents(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> list[Vector]:
        """
        Return one normalised vector per document, in order.
        """
        keys = [self._key(text) for text in texts]
        missing = {
            key: text for key, text in zip(keys, texts, strict=True) if self._stored(key) is None
        }
        waiting = list(missing.items())
        for start in range(0, len(waiting), BATCH_TEXTS):
            batch = waiting[start : start + BATCH_TEXTS]
            made = self._embedder.embed_documents([text for _, text in batch], progress)
            self._keep(zip([key for key, _ in batch], made, strict=True))
            self.embedded += len(batch)
        if progress is not None:
            progress(len(texts) - len(waiting))
        return [_vector(self._stored(key)) for key in keys]

    def embed_spans(
        self, text: str, spans: Sequence[tuple[int, int]], overlap: int
    ) -> list[Vector]:
        """
        Return one normalised vector per range of a text, each of its tokens' vectors in the whole.

        One pass makes all of them: where one is missing, all are made anew.
        """
        digest = self._key(text).hex()
        keys = [self._key(f"{overlap}/{start}-{end}/{digest}", b"late") for start, end in spans]
        if any(self._stored(key) is None for key in keys):
            made = self._embedder.embed_spans(text, spans, overlap)
            self._keep(zip(keys, made, strict=True))
            self.embedded += len(spans)
        return [_vector(self._stored(key)) for key in keys]

    def close(self) -> None:
        """
        Close the file.
        """
        self._store.close()

    def _keep(self, made: Iterable[tuple[bytes, Vector]]) -> None:
        rows = [(key, np.asarray(vector, dtype=np.float32).tobytes()) for key, vector in made]
        self._store.executemany("insert or replace into vectors values (?, ?)", rows)
        self._store.commit()

    def _stored(self, key: bytes) -> bytes | None:
        row = self._store.execute("select value from vectors where key = ?", (key,)).fetchone()
        value: bytes | None = None if row is None else row[0]
        return value

    def _key(self, text: str, kind: bytes = b"") -> bytes:
        shape = f"{len(self._model)}:{self._model}{text}"
        return hashlib.sha256(kind + shape.encode("utf-8", "surrogatepass")).digest()


def _vector(stored: bytes | None) -> Vector:
    return tuple(np.frombuffer(stored or b"", dtype=np.float32).tolist())
