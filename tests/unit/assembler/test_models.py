"""
Targets of several embedding models in one request: each is searched by its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from adapters.store import EmbeddingSpec
from assembler.assemble import ContextAssembler
from assembler.errors import IndexUnusable, InvalidRequest, QueryTooLong
from assembler.model import SectionHit
from assembler.ports import DenseSearch, Embedder, ModelIdentity, Vector
from assembler.request import (
    AssembleRequest,
    Budget,
    ContextTokens,
    Query,
    QueryVector,
    Retrieval,
    RetrievalMode,
    Target,
)
from assembler.scale import dense_scales
from assembler.scope import ReadScope, Scope
from indexer.index import run_index
from indexer.request import IndexRequest
from tests.fake_index import FakeIndex
from tests.fakes import FakeEmbedder, hash_vector
from tests.small_index import TRAVEL, Counters, SmallIndex

OTHER = ModelIdentity("other", "1" * 64, 4)


class OtherEmbedder(FakeEmbedder):
    """
    Another model of another dimension, that remembers what it embedded and takes short queries.
    """

    def __init__(self) -> None:
        super().__init__(OTHER.dimension)
        self.calls: list[tuple[str, ...]] = []

    @property
    def identity(self) -> ModelIdentity:
        return OTHER

    @property
    def spec(self) -> EmbeddingSpec:
        return EmbeddingSpec(OTHER, "r1", 256, "mean", "", "", normalised=True)

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.calls.append(tuple(texts))
        for position, text in enumerate(texts):
            if len(text) > 40:
                raise QueryTooLong(position, tokens=len(text), most=40)
        return [hash_vector(f"other {text}", OTHER.dimension) for text in texts]

    def embed_documents(self, texts, progress=None) -> list[Vector]:
        return [hash_vector(f"other {text}", OTHER.dimension) for text in texts]


class Watched(FakeIndex):
    """
    An index that remembers by which vectors it was searched.
    """

    def __init__(self) -> None:
        super().__init__()
        self.searched: list[tuple[str, str, tuple[Vector, ...]]] = []

    async def search_vectors(self, scope: ReadScope, searches: Sequence[DenseSearch]):
        vectors = tuple(tuple(one.vector) for one in searches)
        self.searched.append((scope.index, scope.tenant, vectors))
        return await super().search_vectors(scope, searches)


@pytest.fixture
def small(tmp_path: Path) -> SmallIndex:
    """
    Return an index `docs` of one model, tenant a's part of which was made with another one.
    """
    folder = tmp_path / "docs"
    folder.mkdir()
    small = SmallIndex(folder, Watched())
    small.write(travel__md=TRAVEL)
    small.index()
    request = IndexRequest(index="docs", paths=(folder,), tenant="a")
    run_index(request, small.store, OtherEmbedder(), lambda *_: None)
    return small


def assembler_of(small: SmallIndex, *embedders: Embedder) -> ContextAssembler:
    ticks = itertools.count()
    return ContextAssembler(
        catalog=small.store,
        index=small.store,
        embedder=None,
        counters=Counters(),
        profiles=small.profiles,
        clock=lambda: float(next(ticks)),
        more_embedders=embedders,
    )


def asking(
    *tenants: str,
    queries: tuple[Query, ...] = (Query("Trains"), Query("Refunds")),
    mode: RetrievalMode = RetrievalMode.HYBRID,
) -> AssembleRequest:
    return AssembleRequest(
        queries=queries,
        targets=tuple(Target("docs", Scope(tenant=tenant)) for tenant in tenants),
        budget=Budget("chars", ContextTokens(400)),
        retrieval=Retrieval(mode=mode),
    )


@pytest.mark.parametrize("mode", [RetrievalMode.HYBRID, RetrievalMode.COARSE_TO_FINE])
async def test_every_target_is_searched_by_vectors_of_its_own_model(
    small: SmallIndex, mode: RetrievalMode
) -> None:
    other = OtherEmbedder()

    context = await assembler_of(small, FakeEmbedder(), other).assemble(
        asking("", "a", "", mode=mode)
    )

    own = tuple(hash_vector(text, 8) for text in ("Trains", "Refunds"))
    others = tuple(hash_vector(f"other {text}", 4) for text in ("Trains", "Refunds"))
    assert isinstance(small.store, Watched)
    assert set(small.store.searched) == {("docs", "", own), ("docs", "a", others)}
    assert other.calls == [("Trains", "Refunds")]
    assert context.context


async def test_a_model_that_is_not_there_is_named_with_those_that_are(small: SmallIndex) -> None:
    assembler = assembler_of(small, FakeEmbedder())

    assert (await assembler.assemble(asking(""))).context
    with pytest.raises(IndexUnusable, match=r"model 'other', .* \(it runs: 'fake'\)"):
        await assembler.assemble(asking("", "a"))
    with pytest.raises(IndexUnusable, match=r"model 'fake', .* \(it runs: none\)"):
        await assembler_of(small).assemble(asking(""))


async def test_without_the_model_an_index_is_served_by_vectors_and_by_words(
    small: SmallIndex,
) -> None:
    vector = QueryVector(hash_vector("other Trains", 4), "other")
    queries = (Query("Trains", vector=vector),)
    assembler = assembler_of(small, FakeEmbedder())

    by_vector = await assembler.assemble(asking("a", queries=queries))
    by_words = await assembler.assemble(asking("a", mode=RetrievalMode.SPARSE))
    by_model = await assembler_of(small, OtherEmbedder()).assemble(
        asking("a", queries=(Query("Trains"),))
    )

    assert by_vector.context == by_model.context
    assert by_words.context
    with pytest.raises(InvalidRequest, match=r"targets\[1\] was made with 'fake'"):
        await assembler.assemble(asking("a", "", queries=queries))


async def test_given_and_made_vectors_stand_at_their_queries(small: SmallIndex) -> None:
    given = hash_vector("anything", 4)
    queries = (Query("Trains"), Query("Refunds", vector=QueryVector(given, "other")), Query("Oslo"))

    await assembler_of(small, OtherEmbedder()).assemble(asking("a", queries=queries))

    assert isinstance(small.store, Watched)
    ((_, _, vectors),) = small.store.searched
    assert vectors == (hash_vector("other Trains", 4), given, hash_vector("other Oslo", 4))


async def test_a_query_too_long_for_one_of_the_models_is_named_by_its_place(
    small: SmallIndex,
) -> None:
    queries = (Query("Trains"), Query("word " * 9))

    with pytest.raises(QueryTooLong, match=r"queries\[1\]\.text"):
        await assembler_of(small, FakeEmbedder(), OtherEmbedder()).assemble(
            asking("", "a", queries=queries)
        )


async def test_the_fingerprint_tells_the_models(small: SmallIndex) -> None:
    assembler = assembler_of(small, FakeEmbedder(), OtherEmbedder())

    prints = [
        (await assembler.assemble(asking(*tenants))).request_fingerprint
        for tenants in (("",), ("a",), ("", "a"))
    ]

    assert len(set(prints)) == 3


def test_cosines_are_scaled_among_those_of_one_model() -> None:
    hits = [
        [SectionHit(f"{n}", score) for n, score in enumerate(scores)]
        for scores in ((0.9, 0.8), (0.4, 0.1), (0.85,))
    ]
    found = list(enumerate(hits))

    per_model = dense_scales(found, ("e5", "minilm", "e5"))
    together = dense_scales(found)

    assert [per_model[0](0.9), per_model[1](0.4)] == [1.0, 1.0]
    assert per_model[2](0.85) == pytest.approx(0.51)
    assert per_model[1](0.1) == pytest.approx(0.02)
    assert together[1](0.4) == pytest.approx(0.02 + 0.98 * 0.3 / 0.8)
