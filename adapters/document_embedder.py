"""
What the indexer and the evaluation need of a model.
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

    def embed_spans(
        self, text: str, spans: Sequence[tuple[int, int]], overlap: int
    ) -> list[Vector]:
        """
        Return one normalised vector per range of a text, each of its tokens' vectors in the whole.

        Args:
            text: Read in windows of the model's maximum where it is longer.
            spans: Half-open ranges of code points, in order, without overlap.
            overlap: Tokens that two windows share.
        """
        ...
