"""
An embedding model behind an OpenAI-compatible `/v1/embeddings` endpoint.
"""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections.abc import Sequence

import httpx

from assembler.errors import EmbedderUnavailable
from assembler.ports import ModelIdentity, Vector

HTTP_OK = 200


class RemoteEmbedder:
    """
    Embeds queries over HTTP; the connection is made, and made again, when it is needed.
    """

    def __init__(
        self,
        base_url: str,
        *,
        model: str,
        dimension: int,
        api_key: str | None = None,
        timeout_seconds: float = 5.0,
        sha256: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """
        Name the endpoint.

        Args:
            base_url: What `/v1/embeddings` is appended to.
            model: The model's name there.
            dimension: Length of its vectors; others are refused.
            api_key: Sent as a bearer token.
            timeout_seconds: Longest time of one call.
            sha256: The weights' hash, where it is known; else one is made of the name.
            transport: For tests.
        """
        named = hashlib.sha256(f"remote:{model}".encode()).hexdigest()
        self._identity = ModelIdentity(model, sha256 or named, dimension)
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx.AsyncClient(
            base_url=base_url.removesuffix("/"),
            headers=headers,
            timeout=timeout_seconds,
            transport=transport,
        )

    @property
    def identity(self) -> ModelIdentity:
        """
        Return which model this is.
        """
        return self._identity

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """
        Return one normalised vector per text.

        Raises:
            EmbedderUnavailable: The endpoint cannot be reached, or answers with something else.
        """
        body = {
            "model": self._identity.name,
            "input": [unicodedata.normalize("NFC", text) for text in texts],
        }
        try:
            reply = await self._client.post("/v1/embeddings", json=body)
        except httpx.HTTPError as error:
            raise EmbedderUnavailable(
                f"the embeddings endpoint cannot be reached: {type(error).__name__}"
            ) from error
        if reply.status_code != HTTP_OK:
            raise EmbedderUnavailable(f"the embeddings endpoint answers {reply.status_code}")
        try:
            entries = sorted(reply.json()["data"], key=lambda entry: entry["index"])
            vectors = [[float(value) for value in entry["embedding"]] for entry in entries]
        except (ValueError, KeyError, TypeError) as error:
            raise EmbedderUnavailable("the embeddings endpoint answers in another form") from error
        wanted = self._identity.dimension
        if len(vectors) != len(texts) or any(len(vector) != wanted for vector in vectors):
            raise EmbedderUnavailable(
                f"the embeddings endpoint does not give {len(texts)} vectors of {wanted} values"
            )
        return [_normalised(vector) for vector in vectors]

    async def close(self) -> None:
        """
        Close the connection.
        """
        await self._client.aclose()


def _normalised(vector: list[float]) -> list[float]:
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector] if length else vector
