"""
Approximate searches, and two shards, find nearly the same candidates: the overlap is measured.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Sequence

import pytest

from adapters.collection_settings import CollectionSettings, Quantization
from adapters.qdrant_connection import QdrantServer
from adapters.qdrant_index import QdrantIndex
from adapters.qdrant_search import SearchSettings
from adapters.qdrant_store import QdrantStore
from assembler.model import PointKind
from assembler.ports import DenseSearch, SparseSearch
from assembler.scope import ReadScope, Scope
from tests.contract.corpus import DIMENSION, Source, hits_of, publish
from tests.fakes import hash_vector
from tests.qdrant_server.server import TestServer

LIMIT = 50
QUERIES = 40
WORDS = [f"w{number}" for number in range(400)]
WEIGHTS = [1 / (rank + 2) for rank in range(len(WORDS))]
"""As in real texts, few words are frequent and many are rare."""

Found = list[list[str]]


def corpus(tenant: str, sources: int) -> list[Source]:
    draw = random.Random(f"corpus {tenant}")
    return [
        Source(
            f"{tenant}{number}",
            tuple(
                " ".join(draw.choices(WORDS, WEIGHTS, k=draw.randint(8, 40))) + "."
                for _ in range(5)
            ),
        )
        for number in range(sources)
    ]


async def candidates(
    collections: CollectionSettings, search: SearchSettings, *, is_exact: bool
) -> tuple[Found, Found]:
    """
    Return the keys that searches by vector and by text find.
    """
    draw = random.Random(9)
    with TestServer(indexing_kilobytes=1) as server:
        place = QdrantServer("127.0.0.1", grpc_port=server.port)
        store = QdrantStore(place, settings=collections)
        index = QdrantIndex(place, settings=search, is_exact=is_exact)
        publish(store, corpus("other", 40), tenant="other")
        version = publish(store, corpus("mine", 250), tenant="mine")
        collection = server.collection(f"ctx__docs__{version.generation}")
        collection.optimize()
        for (replica,) in collection.shards:
            assert replica.engine.info().indexed_vectors_count > 0
        scope = ReadScope("docs", version, readers_required=False, asked=Scope(tenant="mine"))
        dense: Found = []
        sparse: Found = []
        for _ in range(QUERIES):
            text = " ".join(draw.choices(WORDS, k=5))
            by_vector = await index.search_vectors(
                scope, [DenseSearch(hash_vector(text, DIMENSION), LIMIT)]
            )
            by_text = await index.search_text(scope, [SparseSearch(text, PointKind.CHUNK, LIMIT)])
            dense.append([hit.chunk.key for hit in hits_of(by_vector[0])])
            sparse.append([hit.chunk.key for hit in hits_of(by_text[0])])
        await index.close()
        store.close()
    return dense, sparse


def overlap(one: Sequence[Sequence[str]], other: Sequence[Sequence[str]]) -> float:
    """
    Return the mean share of the one's candidates that are the other's too.
    """
    shares = [len(set(a) & set(b)) / len(set(a)) for a, b in zip(one, other, strict=True) if a]
    return sum(shares) / len(shares)


@pytest.fixture(scope="module")
def exact() -> tuple[Found, Found]:
    return asyncio.run(candidates(CollectionSettings(), SearchSettings(), is_exact=True))


@pytest.mark.parametrize(
    ("collections", "search", "least_dense", "least_sparse"),
    [
        (CollectionSettings(), SearchSettings(), 0.99, 1.0),
        (CollectionSettings(hnsw_m=0, hnsw_payload_m=16), SearchSettings(), 0.99, 1.0),
        (
            CollectionSettings(quantization=Quantization.SCALAR),
            SearchSettings(oversampling=2.0),
            0.99,
            1.0,
        ),
        (CollectionSettings(shards=2), SearchSettings(), 0.99, 0.9),
    ],
    ids=["links", "links-in-tenants", "8-bit", "two-shards"],
)
async def test_nearly_the_same_candidates_are_found(
    exact: tuple[Found, Found],
    collections: CollectionSettings,
    search: SearchSettings,
    least_dense: float,
    least_sparse: float,
) -> None:
    found = await candidates(collections, search, is_exact=False)

    by_vector, by_text = (overlap(one, two) for one, two in zip(exact, found, strict=True))
    sys.stdout.write(f"\noverlap of {LIMIT}: by vector {by_vector:.4f}, by text {by_text:.4f}\n")
    assert all(len(keys) == LIMIT for keys in exact[0])
    assert by_vector >= least_dense
    assert by_text >= least_sparse
