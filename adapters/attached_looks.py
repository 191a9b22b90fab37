"""
Whether attached collections still are what was attached: others may make them again.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from array import array
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass

from qdrant_client import AsyncQdrantClient
from qdrant_client import grpc as wire

from adapters.attached_check import Sample, sample_of, sample_request, similarity_of
from adapters.attached_shape import misfit, missing
from adapters.attachment import Attachment
from adapters.qdrant_connection import translated
from adapters.qdrant_link import QdrantLink
from assembler.errors import IndexUnusable
from assembler.ports import Clock, Embedder

LOOK_SECONDS = 1.0
"""How long a collection is taken for what it was when it was looked at, as a head is served."""

LEAST_SIMILARITY = 0.3
"""A sample that is less near to the model's own vectors is of another model. `attach` asks for
more: what it took stays usable when its first points are others."""


@dataclass(frozen=True, slots=True)
class _Compared:
    sample: bytes
    problem: str | None


class AttachedLooks:
    """
    Looks at attached collections: at how their vectors are kept, while they are asked for, once a
    second at most and after a read that was refused; at what their points hold, when told to.

    It is used on one event loop.
    """

    def __init__(
        self,
        attached: Mapping[str, Attachment],
        link: QdrantLink,
        *,
        clock: Clock = time.monotonic,
    ) -> None:
        self._attached = attached
        self._link = link
        self._clock = clock
        self._looked_at: dict[str, float] = {}
        self._unfit: dict[str, str | None] = {}
        self._compared: dict[str, _Compared] = {}

    @property
    def names(self) -> Sequence[str]:
        """
        Return the names of the indexes.
        """
        return tuple(self._attached)

    async def require(self, index: str) -> None:
        """
        Check that a collection can be read, by a look that is at most a second old.

        Raises:
            IndexUnusable: It is missing, or not what was attached; names the remedy.
            IndexUnavailable: The server cannot be asked.
        """
        looked_at = self._looked_at.get(index)
        if looked_at is None or self._clock() - looked_at >= LOOK_SECONDS:
            await self.look(index)
        self._require(index)

    async def explain(self, index: str, refused: IndexUnusable) -> IndexUnusable:
        """
        Return why the server refused a read: what a new look finds, or else what it said.

        Raises:
            IndexUnavailable: The server cannot be asked.
        """
        await self.look(index)
        try:
            self._require(index)
        except IndexUnusable as problem:
            return problem
        return refused

    async def look(self, index: str) -> None:
        """
        Look at how a collection's vectors are kept.

        Raises:
            IndexUnavailable: The server cannot be asked.
        """
        began, attachment = self._clock(), self._attached[index]

        def send(
            client: AsyncQdrantClient, timeout: float
        ) -> Awaitable[wire.GetCollectionInfoResponse]:
            request = wire.GetCollectionInfoRequest(collection_name=attachment.collection)
            call: Awaitable[wire.GetCollectionInfoResponse]
            call = client.grpc_collections.Get(request, timeout=timeout)
            return call

        try:
            with translated(index, missing=missing(index, attachment)):
                answer = await self._link.call("collection_info", send)
        except IndexUnusable as gone:
            problem: str | None = gone.problem
        else:
            problem = misfit(attachment, answer.result)
        self._unfit[index] = problem
        self._looked_at[index] = began

    async def compare(self, index: str, embedders: Sequence[Embedder]) -> str | None:
        """
        Look at a collection, at some of its points too, and return why it cannot be read; None
        where it can.

        Texts are embedded only where the sample is another than the last time.

        Args:
            index: The name of the index.
            embedders: The service's models; vectors of others are not compared.

        Raises:
            IndexUnavailable: The server cannot be asked.
            EmbedderUnavailable: The model cannot.
        """
        await self.look(index)
        if self._unfit[index] is None:
            attachment = self._attached[index]
            sample = await self._sample(index, attachment)
            fingerprint, known = _fingerprint(sample), self._compared.get(index)
            if known is None or known.sample != fingerprint:
                problem = await _unlike(attachment, sample, embedders)
                self._compared[index] = _Compared(fingerprint, problem)
        return self._problem(index)

    async def _sample(self, index: str, attachment: Attachment) -> Sample:
        def send(client: AsyncQdrantClient, timeout: float) -> Awaitable[wire.ScrollResponse]:
            request = sample_request(attachment.collection, attachment.mapping, attachment.vector)
            call: Awaitable[wire.ScrollResponse]
            call = client.grpc_points.Scroll(request, timeout=timeout)
            return call

        with translated(index, missing=missing(index, attachment)):
            answer = await self._link.call("scroll", send)
        return await asyncio.to_thread(
            sample_of, answer.result, attachment.mapping, attachment.vector
        )

    def _problem(self, index: str) -> str | None:
        compared = self._compared.get(index)
        return self._unfit[index] or (compared.problem if compared else None)

    def _require(self, index: str) -> None:
        problem = self._problem(index)
        if problem is not None:
            raise IndexUnusable(index, problem)


def _fingerprint(sample: Sample) -> bytes:
    """
    Return what differs between two samples whose texts, vectors or faults differ.
    """
    made = hashlib.blake2b(digest_size=16)
    for point, vector in sample.fitting:
        made.update(repr((point.key, point.text)).encode())
        made.update(array("d", vector).tobytes())
    made.update(repr((sample.points, sorted(sample.problems.items()))).encode())
    return made.digest()


async def _unlike(
    attachment: Attachment, sample: Sample, embedders: Sequence[Embedder]
) -> str | None:
    if not sample.points:
        return None
    if not sample.fitting:
        return (
            f"none of {sample.points} of its points fits the mapping; lacking: {sample.lacking}; "
            "run `attach` again with where they have it, and restart the services that read its "
            "file"
        )
    for embedder in embedders:
        if embedder.identity.sha256 == attachment.model_sha256:
            similarity = await similarity_of(embedder, sample)
            if similarity < LEAST_SIMILARITY:
                return (
                    f"its vectors are not of model {attachment.model!r}: they have a cosine of "
                    f"{similarity:.2f} with the model's of the same texts; embed it with that "
                    "model, or run `attach` again and restart the services that read its file"
                )
    return None
