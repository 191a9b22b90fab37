"""
Collections as libraries make and fill them are looked at as what they are.
"""

from __future__ import annotations

import pytest
from qdrant_client import QdrantClient
from qdrant_client.http import models as rest

from adapters.attached_check import look_at, similarity_of
from adapters.attached_points import read_point
from adapters.attachment import mapping_of
from tests.attached import id_of
from tests.fakes import FakeEmbedder, hash_vector
from tests.payloads_of_makers import LANGCHAIN, LLAMAINDEX, collections, vectors
from tests.qdrant_server.server import TestServer

SIZE = FakeEmbedder().identity.dimension
PAYLOADS = {"langchain": LANGCHAIN, "llamaindex": LLAMAINDEX}


@pytest.mark.parametrize("way", collections(SIZE))
async def test_collections_are_read_as_libraries_make_them(server: TestServer, way: str) -> None:
    library = way.split(maxsplit=1)[0]
    mapping, payloads = mapping_of(library), PAYLOADS[library]
    texts = [read_point(mapping, "", payload).text for payload in payloads]
    client = QdrantClient(
        host="127.0.0.1", grpc_port=server.port, prefer_grpc=True, check_compatibility=False
    )
    client.create_collection("theirs", **collections(SIZE)[way])
    points = [
        rest.PointStruct(
            id=id_of(text), payload=payload, vector=vectors(way, list(hash_vector(text, SIZE)))
        )
        for text, payload in zip(texts, payloads, strict=True)
    ]
    client.upsert("theirs", points, wait=True)

    looked = look_at(client, "theirs", mapping, None, 5.0)
    client.close()
    similarity = await similarity_of(FakeEmbedder(), looked.sample)

    assert looked.vector == ("text-dense" if way == "llamaindex hybrid" else "")
    assert looked.sample.problems == {}
    assert {point.text for point, _ in looked.sample.fitting} == set(texts)
    assert similarity == pytest.approx(1.0, abs=1e-5)
