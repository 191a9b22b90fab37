"""
Attached collections that are made again with something else: what was attached is looked at again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import grpc
import pytest
from qdrant_client import QdrantClient
from qdrant_client import grpc as wire
from qdrant_client.http import models as rest

from adapters.attached_index import AttachedIndex
from adapters.attached_looks import LOOK_SECONDS, AttachedLooks
from adapters.attachment import Attachment, mapping_of
from adapters.qdrant_connection import QdrantServer
from adapters.qdrant_index import DEFAULT_SEARCH
from adapters.qdrant_link import QdrantLink
from assembler.errors import IndexUnavailable, IndexUnusable, QueryTooLong
from assembler.ports import DenseSearch, Vector
from assembler.scope import ReadScope, Scope
from tests.attached import id_of
from tests.contract.hand_clock import HandClock
from tests.fakes import FakeEmbedder, hash_vector
from tests.qdrant_server.server import TestServer

SIZE = FakeEmbedder().identity.dimension
MINE = rest.VectorParams(size=SIZE, distance=rest.Distance.COSINE)
PAYLOAD = {"page_content": "Refunds are paid.", "metadata": {"source": "a.md"}}
VECTOR = list(hash_vector("Refunds are paid.", SIZE))


class ShortEmbedder(FakeEmbedder):
    """
    A model that takes four letters, and counts what it embeds.
    """

    def __init__(self) -> None:
        super().__init__()
        self.embedded = 0

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        for number, text in enumerate(texts):
            if len(text) > 4:
                raise QueryTooLong(number, tokens=len(text), most=4)
        self.embedded += len(texts)
        return await super().embed(texts)


@dataclass
class Attached:
    """
    One attached collection, and who fills it.
    """

    server: TestServer
    client: QdrantClient
    looks: AttachedLooks
    index: AttachedIndex
    clock: HandClock

    def make(self, vectors: Any, **more: Any) -> None:
        if self.client.collection_exists("theirs"):
            self.client.delete_collection("theirs")
        self.client.create_collection("theirs", vectors, **more)

    def write(self, payload: dict[str, Any], vector: Any, point: int = 1) -> None:
        made = rest.PointStruct(id=id_of(point), payload=payload, vector=vector)
        self.client.upsert("theirs", [made], wait=True)

    async def refused(self) -> str:
        with pytest.raises(IndexUnusable) as caught:
            await self.index.resolve("docs", "")
        return caught.value.problem

    async def search(self) -> int:
        state = await self.index.resolve("docs", "")
        scope = ReadScope("docs", state.version, readers_required=False, asked=Scope())
        (hits,) = await self.index.search_vectors(scope, [DenseSearch(VECTOR, 3)])
        return len(hits)


@pytest.fixture
async def attached(server: TestServer) -> AsyncIterator[Attached]:
    identity = FakeEmbedder().identity
    mine = Attachment(
        collection="theirs",
        mapping=mapping_of("langchain"),
        model=identity.name,
        model_sha256=identity.sha256,
        dimension=SIZE,
    )
    link = QdrantLink(QdrantServer("127.0.0.1", grpc_port=server.port, retries=0))
    clock = HandClock()
    tables = {
        "docs": mine,
        "foreign": replace(mine, model_sha256=None),
        "named": replace(mine, vector="text"),
    }
    looks = AttachedLooks(tables, link, clock=clock)
    index = AttachedIndex(tables, link, looks, DEFAULT_SEARCH, is_exact=True)
    client = QdrantClient(
        host="127.0.0.1", grpc_port=server.port, prefer_grpc=True, check_compatibility=False
    )
    made = Attached(server, client, looks, index, clock)
    made.make(MINE)
    made.write(PAYLOAD, VECTOR)
    yield made
    client.close()
    await link.close()


@pytest.mark.parametrize(
    ("made", "more", "says"),
    [
        (rest.VectorParams(size=SIZE, distance=rest.Distance.DOT), {}, "compared by Dot"),
        (rest.VectorParams(size=SIZE, distance=rest.Distance.EUCLID), {}, "compared by Euclid"),
        (rest.VectorParams(size=SIZE, distance=rest.Distance.MANHATTAN), {}, "by Manhattan"),
        (rest.VectorParams(size=4, distance=rest.Distance.COSINE), {}, "have 4 dimensions"),
        ({"text": MINE, "title": MINE}, {}, "there are: 'text', 'title'"),
        ({}, {"sparse_vectors_config": {"": rest.SparseVectorParams()}}, "there are: none"),
        (
            rest.VectorParams(
                size=SIZE,
                distance=rest.Distance.COSINE,
                multivector_config=rest.MultiVectorConfig(
                    comparator=rest.MultiVectorComparator.MAX_SIM
                ),
            ),
            {},
            "several vectors for each point",
        ),
    ],
)
async def test_a_collection_that_is_made_again_with_other_vectors_is_refused_until_it_fits(
    attached: Attached, made: Any, more: dict[str, Any], says: str
) -> None:
    assert await attached.search() == 1

    attached.make(made, **more)
    attached.clock.seconds += LOOK_SECONDS
    refused = await attached.refused()
    attached.make(MINE)
    attached.write(PAYLOAD, VECTOR)
    attached.clock.seconds += LOOK_SECONDS

    assert says in refused
    assert "make it" in refused or "name a vector" in refused
    assert await attached.search() == 1


async def test_a_collection_that_was_wrong_before_the_start_is_refused_at_the_first_request(
    attached: Attached,
) -> None:
    attached.make(rest.VectorParams(size=SIZE, distance=rest.Distance.DOT))

    assert "compared by Dot" in await attached.refused()
    assert attached.looks.names == ("docs", "foreign", "named")


async def test_it_is_looked_at_once_a_second_however_many_ask(attached: Attached) -> None:
    attached.server.forget()

    for _ in range(5):
        await attached.search()
    attached.clock.seconds += LOOK_SECONDS
    for _ in range(5):
        await attached.search()

    assert attached.server.calls.count("Get") == 2


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (rest.VectorParams(size=4, distance=rest.Distance.COSINE), "have 4 dimensions"),
        ({"text": MINE}, "there are: 'text'"),
        (None, "'theirs' is missing"),
    ],
)
async def test_a_read_that_is_refused_says_what_has_changed(
    attached: Attached, made: Any, says: str
) -> None:
    assert await attached.search() == 1

    attached.make(made or MINE)
    if made is None:
        attached.client.delete_collection("theirs")
    with pytest.raises(IndexUnusable, match=says):
        await attached.search()

    assert says in await attached.refused()


async def test_a_read_that_is_refused_for_something_else_says_that(attached: Attached) -> None:
    attached.server.fail["QueryBatch"] = [grpc.StatusCode.INVALID_ARGUMENT]

    with pytest.raises(IndexUnusable, match="refused by the test"):
        await attached.search()

    assert await attached.search() == 1


async def test_a_server_that_cannot_be_asked_is_unavailable(attached: Attached) -> None:
    attached.server.refuse = grpc.StatusCode.UNAVAILABLE

    with pytest.raises(IndexUnavailable):
        await attached.index.resolve("docs", "")


@pytest.mark.parametrize(
    ("payload", "vector", "says"),
    [
        ({"text": "Refunds are paid."}, VECTOR, "none of 1 of its points fits the mapping"),
        (PAYLOAD, [-value for value in VECTOR], "not of model 'fake': they have a cosine of -1.00"),
    ],
    ids=["payloads", "model"],
)
async def test_points_of_another_kind_or_model_are_refused_once_they_are_looked_at(
    attached: Attached, payload: dict[str, Any], vector: list[float], says: str
) -> None:
    before = await attached.looks.compare("docs", [FakeEmbedder()])
    attached.make(MINE)
    attached.write(payload, vector)
    changed = await attached.looks.compare("docs", [FakeEmbedder()])
    refused = await attached.refused()
    attached.write(PAYLOAD, VECTOR)
    mended = await attached.looks.compare("docs", [FakeEmbedder()])

    assert before is mended is None
    assert changed == refused
    assert says in refused
    assert "run `attach` again" in refused
    assert await attached.search() == 1


async def test_texts_are_embedded_again_only_where_the_sample_has_changed(
    attached: Attached,
) -> None:
    embedder = ShortEmbedder()
    part = PAYLOAD["page_content"][:4]  # type: ignore[index]
    attached.write(PAYLOAD, list(hash_vector(str(part), SIZE)))

    first = await attached.looks.compare("docs", [embedder])
    again = await attached.looks.compare("docs", [embedder])
    once = embedder.embedded
    attached.write({**PAYLOAD, "page_content": "Paid"}, list(hash_vector("Paid", SIZE)))
    changed = await attached.looks.compare("docs", [embedder])

    assert first is again is changed is None
    assert (once, embedder.embedded) == (1, 2)


async def test_vectors_of_a_model_that_the_service_lacks_are_not_compared(
    attached: Attached,
) -> None:
    attached.write(PAYLOAD, [-value for value in VECTOR])

    assert await attached.looks.compare("foreign", [FakeEmbedder()]) is None


async def test_points_without_the_vector_do_not_fit(attached: Attached) -> None:
    attached.make({"text": MINE, "title": MINE})
    attached.write(PAYLOAD, {"title": VECTOR})

    lacking = await attached.looks.compare("named", [FakeEmbedder()])
    attached.write(PAYLOAD, {"text": VECTOR}, point=2)

    assert lacking is not None
    assert "none of 1 of its points fits the mapping; lacking: vector 'text' (1)" in lacking
    assert await attached.looks.compare("named", [FakeEmbedder()]) is None


async def test_an_empty_collection_is_no_other_one(attached: Attached) -> None:
    attached.make(MINE)

    assert await attached.looks.compare("docs", [FakeEmbedder()]) is None
    assert await attached.search() == 0


async def test_vectors_of_another_shape_are_told_before_points_are_looked_at(
    attached: Attached,
) -> None:
    attached.make(rest.VectorParams(size=4, distance=rest.Distance.COSINE))
    attached.server.forget()

    problem = await attached.looks.compare("docs", [FakeEmbedder()])

    assert problem is not None
    assert "have 4 dimensions" in problem
    assert attached.server.calls == ["Get"]
    assert isinstance(attached.server.requests[0], wire.GetCollectionInfoRequest)
