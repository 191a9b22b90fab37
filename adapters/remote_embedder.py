"""
An embedding model behind an OpenAI-compatible `/v1/embeddings` endpoint.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import math
from collections.abc import Callable, Sequence

import httpx

from adapters.remote_call import answer_of, sendable
from assembler.errors import EmbedderUnavailable
from assembler.ports import ModelIdentity, Vector

ENDPOINT = "the embeddings endpoint"
BATCH_TEXTS = 32


class RemoteEmbedder:
    """
    Embeds queries and documents over HTTP; the connection is made, and made again, when needed.

    What is sent is NFC; vectors are normalised here, whatever the endpoint does.
    """

    def __init__(
        self,
        base_url: str,
        *,
        model: str,
        dimension: int,
        api_key: str | None = None,
        timeout_seconds: float = 5.0,
        batch_texts: int = BATCH_TEXTS,
        prefix: str = "",
        query_prefix: str = "",
        sha256: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """
        Name the endpoint.

        Args:
            base_url: What `/v1/embeddings` is appended to; a `/v1` at its end is left out.
            model: The model's name there.
            dimension: Length of its vectors; others are refused.
            api_key: Sent as a bearer token.
            timeout_seconds: Longest time of one call.
            batch_texts: Most texts of one call.
            prefix: Text before every document, where the model asks for one.
            query_prefix: Text before every query.
            sha256: The weights' hash, where it is known; else one is made of the name.
            transport: For tests.
        """
        named = hashlib.sha256(f"remote:{model}".encode()).hexdigest()
        self._identity = ModelIdentity(model, sha256 or named, dimension)
        self._base_url = base_url.rstrip("/").removesuffix("/v1")
        self._headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._timeout_seconds = timeout_seconds
        self._batch_texts = batch_texts
        self._prefix = prefix
        self._query_prefix = query_prefix
        self._transport = transport
        self._client = self._connection()

    @property
    def identity(self) -> ModelIdentity:
        """
        Return which model this is.
        """
        return self._identity

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """
        Return one normalised vector per query.

        Raises:
            EmbedderUnavailable: The endpoint cannot be reached, or answers with something else.
        """
        inputs = [sendable(self._query_prefix + text) for text in texts]
        return await self._all(self._client, inputs, None)

    def embed_documents(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> list[Vector]:
        """
        Return one normalised vector per document, in the given order; not for an event loop.

        Args:
            texts: The exact embedding inputs.
            progress: Told how many more are done, after each batch.

        Raises:
            EmbedderUnavailable: The endpoint cannot be reached, or answers with something else.
        """
        inputs = [sendable(self._prefix + text) for text in texts]

        async def embedded() -> list[Vector]:
            async with self._connection() as client:
                return await self._all(client, inputs, progress)

        return asyncio.run(embedded())

    async def close(self) -> None:
        """
        Close the connection.
        """
        await self._client.aclose()

    def _connection(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            base_url=self._base_url,
            headers=self._headers,
            timeout=self._timeout_seconds,
            transport=self._transport,
        )

    async def _all(
        self,
        client: httpx.AsyncClient,
        inputs: Sequence[str],
        progress: Callable[[int], None] | None,
    ) -> list[Vector]:
        vectors: list[Vector] = []
        for start in range(0, len(inputs), self._batch_texts):
            batch = inputs[start : start + self._batch_texts]
            vectors += await self._batch(client, batch)
            if progress is not None:
                progress(len(batch))
        return vectors

    async def _batch(self, client: httpx.AsyncClient, inputs: Sequence[str]) -> list[Vector]:
        body = {"model": self._identity.name, "input": inputs, "encoding_format": "float"}
        reply = await answer_of(
            client, "/v1/embeddings", body, name=ENDPOINT, failure=EmbedderUnavailable
        )
        try:
            by_index = {
                int(entry["index"]): [float(value) for value in entry["embedding"]]
                for entry in reply.json()["data"]
            }
        except (ValueError, KeyError, TypeError) as error:
            raise EmbedderUnavailable(f"{ENDPOINT} answers in another form") from error
        vectors = [by_index[number] for number in sorted(by_index)]
        wanted = self._identity.dimension
        is_whole = sorted(by_index) == list(range(len(inputs)))
        if not is_whole or any(len(vector) != wanted for vector in vectors):
            raise EmbedderUnavailable(
                f"{ENDPOINT} does not give {len(inputs)} vectors of {wanted} values"
            )
        if not all(map(math.isfinite, itertools.chain.from_iterable(vectors))):
            raise EmbedderUnavailable(f"{ENDPOINT} gives values that are no numbers")
        return [_normalised(vector) for vector in vectors]


def _normalised(vector: list[float]) -> list[float]:
    length = math.hypot(*vector)
    if not length:
        raise EmbedderUnavailable(f"{ENDPOINT} gives a vector of zeros")
    return [value / length for value in vector]
