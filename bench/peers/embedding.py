"""
The product's exported model as all peers use it.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np

from adapters.embedder import OnnxEmbedder
from bench.peers.items import CountTokens, Vector

BATCH = 1024


class PeerEmbedding:
    """
    Embeds texts of any length, and each text once; counts their tokens likewise.

    What is longer than the model takes is cut, as sentence-transformers does. Vectors are kept in
    a file, so that peers and runs share them.
    """

    def __init__(
        self,
        embedder: OnnxEmbedder,
        count_tokens: CountTokens,
        cache: Path | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """
        Open the cache.

        Args:
            embedder: The model.
            count_tokens: Counts as the budget does.
            cache: A file for the vectors; None keeps them in memory.
            progress: Told how many of how many new texts are embedded.
        """
        self._embedder = embedder
        self._count_tokens = count_tokens
        self._counts: dict[str, int] = {}
        self._progress = progress
        self._queries: dict[str, Vector] = {}
        if cache is not None:
            cache.parent.mkdir(parents=True, exist_ok=True)
        self._cache = sqlite3.connect(cache or ":memory:")
        self._cache.execute("create table if not exists vectors (key blob primary key, made blob)")

    def documents(self, texts: Sequence[str]) -> list[Vector]:
        """
        Return one vector per text.
        """
        keys = [self._key(text) for text in texts]
        missing = {
            key: text
            for key, text in zip(keys, texts, strict=True)
            if not self._cache.execute("select 1 from vectors where key = ?", (key,)).fetchone()
        }
        fresh = list(missing.items())
        for start in range(0, len(fresh), BATCH):
            batch = fresh[start : start + BATCH]
            made = self._embedder.embed_documents([self._cut(text) for _, text in batch])
            rows = [
                (key, np.asarray(vector, dtype=np.float32).tobytes())
                for (key, _), vector in zip(batch, made, strict=True)
            ]
            self._cache.executemany("insert or replace into vectors values (?, ?)", rows)
            self._cache.commit()
            if self._progress is not None:
                self._progress(start + len(batch), len(fresh))
        return [self._kept(key) for key in keys]

    def query(self, text: str) -> Vector:
        """
        Return the vector of a question; a second call costs nothing.
        """
        if text not in self._queries:
            self._queries[text] = asyncio.run(self._embedder.embed([self._cut(text)]))[0]
        return self._queries[text]

    def count_tokens(self, text: str) -> int:
        """
        Return the tokens of a text as the budget counts them; a second call costs nothing.
        """
        if text not in self._counts:
            self._counts[text] = self._count_tokens(text)
        return self._counts[text]

    def _kept(self, key: bytes) -> Vector:
        row = self._cache.execute("select made from vectors where key = ?", (key,)).fetchone()
        vector: list[float] = np.frombuffer(row[0], dtype=np.float32).tolist()
        return vector

    def _key(self, text: str) -> bytes:
        model = self._embedder.identity.sha256
        return sha256(f"{model}\0{text}".encode("utf-8", "surrogatepass")).digest()

    def _cut(self, text: str) -> str:
        most = self._embedder.spec.max_tokens
        over = self._embedder.count(text) - most
        while over > 0:
            offsets = self._embedder.offsets(text)
            text = text[: offsets[max(len(offsets) - over, 1) - 1][1]]
            over = self._embedder.count(text) - most
        return text
