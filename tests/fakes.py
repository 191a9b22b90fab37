"""
Typed fakes of the small ports: an embedder of hashes, a reranker of shared words, a counter of words.

They are written for being read and trusted, not for speed; the contract suites hold them to what
the real adapters do.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Sequence

from adapters.store import EmbeddingSpec
from assembler.errors import RerankerUnavailable
from assembler.ports import ChatMessage, ModelIdentity, Vector

WORD = re.compile(r"\w+|[^\w\s]")


def hash_vector(text: str, dimension: int) -> tuple[float, ...]:
    """
    Return a vector of length 1 that depends on the text alone.
    """
    digest = hashlib.shake_256(text.encode()).digest(dimension * 2)
    values = [
        int.from_bytes(digest[at : at + 2], "big") / 32767.5 - 1.0
        for at in range(0, dimension * 2, 2)
    ]
    norm = math.sqrt(sum(value * value for value in values)) or 1.0
    return tuple(value / norm for value in values)


class FakeEmbedder:
    """
    An `Embedder` whose vectors say nothing of meaning, but are always the same.
    """

    def __init__(self, dimension: int = 8) -> None:
        self._identity = ModelIdentity("fake", "0" * 64, dimension)

    @property
    def identity(self) -> ModelIdentity:
        """
        Return which model this is.
        """
        return self._identity

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """
        Return one normalised vector per text.
        """
        return [hash_vector(text, self._identity.dimension) for text in texts]

    @property
    def spec(self) -> EmbeddingSpec:
        """
        Return how texts become vectors.
        """
        return EmbeddingSpec(self._identity, "r1", 256, "mean", "", "", normalised=True)

    def count(self, text: str) -> int:
        """
        Return the words and marks of a document, and two special tokens.
        """
        return len(WORD.findall(text)) + 2

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """
        Return where words and marks stand.
        """
        return [match.span() for match in WORD.finditer(text)]

    def embed_documents(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> list[Vector]:
        """
        Return one normalised vector per document.
        """
        if progress is not None:
            progress(len(texts))
        return [hash_vector(text, self._identity.dimension) for text in texts]

    def embed_spans(
        self, text: str, spans: Sequence[tuple[int, int]], overlap: int
    ) -> list[Vector]:
        """
        Return one normalised vector per range, which depends on the whole text too.
        """
        dimension = self._identity.dimension
        return [hash_vector(f"{one} {overlap} of {text!r}", dimension) for one in spans]


class FakeReranker:
    """
    A `Reranker` that counts shared words, or says what it is told to, and remembers what it read.
    """

    identity = "fake"

    def __init__(
        self,
        score: Callable[[str, str], float] | None = None,
        error: RerankerUnavailable | None = None,
    ) -> None:
        self.calls: list[tuple[str, tuple[str, ...]]] = []
        self._score = score or shared_words
        self._error = error

    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """
        Return one score per text.
        """
        self.calls.append((query, tuple(texts)))
        if self._error is not None:
            raise self._error
        return [self._score(query, text) for text in texts]


def shared_words(query: str, text: str) -> float:
    """
    Return how many of the query's words stand in the text.
    """
    return float(len(set(WORD.findall(query)) & set(WORD.findall(text))))


class WordCounter:
    """
    A `TokenCounter` that counts words and marks of punctuation.
    """

    name = "words"
    sha256 = "0" * 64

    def count(self, text: str) -> int:
        """
        Return the number of tokens of a text.
        """
        return len(WORD.findall(text))

    def count_messages(self, messages: Sequence[ChatMessage]) -> int:
        """
        Return the number of tokens of a prompt: three per message come on top.
        """
        return sum(self.count(message.content) + 3 for message in messages)
