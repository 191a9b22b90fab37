"""
Query vectors, remembered; equal queries that are asked at once are embedded once.
"""

from __future__ import annotations

import asyncio
import hashlib
from array import array
from collections.abc import Sequence
from typing import TypeAlias

from cachetools import LRUCache

from assembler.errors import ContextAssemblerError, QueryTooLong
from assembler.ports import Embedder, ModelIdentity, Vector

KEPT = 4096
"""Vectors that are kept: about 13 MB of 384 numbers each."""

Flight: TypeAlias = "asyncio.Task[dict[bytes, Vector]]"


class RememberedQueries:
    """
    An embedder whose vectors are kept by the hash of the query; no text is kept.

    A caller that goes away ends nothing that others wait for.
    """

    def __init__(self, embedder: Embedder, *, kept: int = KEPT) -> None:
        self._embedder = embedder
        self._vectors: LRUCache[bytes, array[float]] = LRUCache(kept)
        self._flights: dict[bytes, Flight] = {}
        self.hits = 0
        self.misses = 0

    @property
    def identity(self) -> ModelIdentity:
        """
        Return which model this is.
        """
        return self._embedder.identity

    def requests(self) -> tuple[int, int]:
        """
        Return how many vectors were known or on their way, and how many had to be made.
        """
        return self.hits, self.misses

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """
        Return one normalised vector per query.

        Raises:
            EmbedderUnavailable: The model could not be asked.
            QueryTooLong: A query has more tokens than the model takes; the field is
                ``queries[i].text`` with its place among the given texts.
        """
        keys = [_key(text) for text in texts]
        found = self._known(keys)
        flying = {key: self._flights[key] for key in keys if key in self._flights}
        places = {key: place for place, key in reversed(list(enumerate(keys)))}
        own = sorted(places[key] for key in places if key not in found and key not in flying)
        self.hits += len(texts) - len(own)
        self.misses += len(own)
        found.update(await self._made(texts, own))
        for key, flight in flying.items():
            found.update(await self._joined(flight, texts, key, places[key]))
        return [found[key] for key in keys]

    def _known(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        return {key: tuple(self._vectors[key]) for key in keys if key in self._vectors}

    async def _made(self, texts: Sequence[str], places: Sequence[int]) -> dict[bytes, Vector]:
        if not places:
            return {}
        wanted = {_key(texts[place]): texts[place] for place in places}
        flight = asyncio.create_task(self._embedded(wanted))
        flight.add_done_callback(_heard)
        self._flights.update(dict.fromkeys(wanted, flight))
        try:
            return await asyncio.shield(flight)
        except QueryTooLong as error:
            place = places[error.position]
            raise QueryTooLong(place, tokens=error.tokens, most=error.most) from None

    async def _joined(
        self, flight: Flight, texts: Sequence[str], key: bytes, place: int
    ) -> dict[bytes, Vector]:
        """
        Return what another caller asked for; where that fails, the reason may be its other queries.
        """
        try:
            return {key: (await asyncio.shield(flight))[key]}
        except ContextAssemblerError:
            return await self._made(texts, [place])

    async def _embedded(self, wanted: dict[bytes, str]) -> dict[bytes, Vector]:
        try:
            vectors = await self._embedder.embed(list(wanted.values()))
            made = dict(zip(wanted, vectors, strict=True))
            # A list of numbers takes four times as much.
            self._vectors.update({key: array("d", vector) for key, vector in made.items()})
            return made
        finally:
            for key in wanted:
                self._flights.pop(key, None)


def requests_of(embedders: Sequence[RememberedQueries]) -> tuple[int, int]:
    """
    Return the hits and misses of several embedders.
    """
    found = [one.requests() for one in embedders]
    return sum(hits for hits, _ in found), sum(misses for _, misses in found)


def _heard(flight: Flight) -> None:
    """
    Take note of an error, also where all who wanted the vectors have gone.
    """
    if not flight.cancelled():
        flight.exception()


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
