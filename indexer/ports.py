"""
What the indexer needs from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from adapters.store import EmbeddingSpec
from assembler.ports import Vector


class DocumentEmbedder(Protocol):
    """
    Turns documents into vectors and tells how long texts are for the model.
    """

    @property
    def spec(self) -> EmbeddingSpec:
        """
        Return how texts become vectors.
        """
        ...

    def count(self, text: str) -> int:
        """
        Return the model's tokens of a document, prefix and special tokens included.
        """
        ...

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """
        Return the code point range of each token of a text, special tokens left out.
        """
        ...

    def embed_documents(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> list[Vector]:
        """
        Return one normalised vector per document, in order; `progress` is told each batch's size.
        """
        ...


class Progress(Protocol):
    """
    Told how far a stage is.
    """

    def __call__(self, stage: str, done: int, total: int) -> None:
        """
        Show it.
        """
        ...
