"""
A reranker behind a `/rerank` endpoint, as text-embeddings-inference and Cohere speak it.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

import httpx

from adapters.remote_call import answer_of, sendable
from assembler.errors import RerankerUnavailable

ENDPOINT = "the rerank endpoint"
BATCH_TEXTS = 32
"""text-embeddings-inference refuses more per call unless it is configured otherwise."""


class Dialect(enum.Enum):
    """
    How the endpoint is asked and answers.
    """

    TEI = "tei"
    COHERE = "cohere"


class RemoteReranker:
    """
    Scores texts over HTTP; the connection is made, and made again, when needed.

    What is sent is NFC. Text-embeddings-inference is asked for raw scores, which tell texts apart
    at the ends of the scale too; Cohere has its own between 0 and 1.
    """

    def __init__(
        self,
        url: str,
        *,
        dialect: Dialect,
        model: str = "",
        api_key: str | None = None,
        timeout_seconds: float = 5.0,
        batch_texts: int = BATCH_TEXTS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """
        Name the endpoint.

        Args:
            url: What `/rerank` is appended to, or for Cohere `/v2/rerank` unless it ends in a
                version; one that ends in `/rerank` is taken as it is.
            dialect: Which of the two it speaks.
            model: The model's name there; text-embeddings-inference serves one and is told none.
            api_key: Sent as a bearer token.
            timeout_seconds: Longest time of one call.
            batch_texts: Most texts of one call.
            transport: For tests.
        """
        self._url = _endpoint(url.rstrip("/"), dialect)
        self._dialect = dialect
        self._model = model
        self._batch_texts = batch_texts
        self._client = httpx.AsyncClient(
            headers={"authorization": f"Bearer {api_key}"} if api_key else {},
            timeout=timeout_seconds,
            transport=transport,
        )

    @property
    def identity(self) -> str:
        """
        Return the dialect and the model's name or, where none is known, the address.
        """
        return f"{self._dialect.value}:{self._model or self._url}"

    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """
        Return one score per text, in the given order; higher is better.

        Raises:
            RerankerUnavailable: The endpoint cannot be reached, or answers with something else.
        """
        scores: list[float] = []
        for start in range(0, len(texts), self._batch_texts):
            batch = [sendable(text) for text in texts[start : start + self._batch_texts]]
            scores += await self._batch(sendable(query), batch)
        return scores

    async def close(self) -> None:
        """
        Close the connection.
        """
        await self._client.aclose()

    async def _batch(self, query: str, texts: Sequence[str]) -> list[float]:
        body = self._body(query, texts)
        reply = await answer_of(
            self._client, self._url, body, name=ENDPOINT, failure=RerankerUnavailable
        )
        try:
            entries = self._entries(reply.json())
            places = [index for index, _ in entries]
            are_finite = all(math.isfinite(score) for _, score in entries)
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise RerankerUnavailable(f"{ENDPOINT} answers in another form") from error
        if sorted(places) != list(range(len(texts))):
            raise RerankerUnavailable(f"{ENDPOINT} does not score each of {len(texts)} texts once")
        if not are_finite:
            raise RerankerUnavailable(f"{ENDPOINT} gives scores that are no numbers")
        return [score for _, score in sorted(entries)]

    def _body(self, query: str, texts: Sequence[str]) -> dict[str, Any]:
        if self._dialect is Dialect.TEI:
            return {"query": query, "texts": texts, "raw_scores": True, "truncate": True}
        return {"model": self._model, "query": query, "documents": texts, "top_n": len(texts)}

    def _entries(self, answer: Any) -> list[tuple[int, float]]:
        if self._dialect is Dialect.TEI:
            return [(int(one["index"]), float(one["score"])) for one in answer]
        return [(int(one["index"]), float(one["relevance_score"])) for one in answer["results"]]


def _endpoint(url: str, dialect: Dialect) -> str:
    if url.endswith("/rerank"):
        return url
    if dialect is Dialect.TEI or url.endswith(("/v1", "/v2")):
        return f"{url}/rerank"
    return f"{url}/v2/rerank"
