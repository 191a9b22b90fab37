"""
What the remote embedder promises beyond the port.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from adapters.remote_embedder import RemoteEmbedder
from assembler.errors import EmbedderUnavailable
from tests.contract.test_embedder_contract import DIMENSION, Endpoint, length, remote


async def test_vectors_are_put_in_order_by_their_index() -> None:
    endpoint = Endpoint()

    first, second = await remote(endpoint).embed(["one", "two"])

    assert first == (await remote(endpoint).embed(["one"]))[0]
    assert first != second


async def test_many_texts_go_in_bounded_calls() -> None:
    endpoint = Endpoint()

    vectors = await remote(endpoint, batch_texts=2).embed(["a", "b", "c", "d", "e"])

    assert [body["input"] for body in endpoint.bodies] == [["a", "b"], ["c", "d"], ["e"]]
    assert len(vectors) == 5


def test_documents_are_embedded_without_an_event_loop_and_progress_is_told() -> None:
    endpoint, done = Endpoint(), list[int]()

    vectors = remote(endpoint, batch_texts=2, prefix="passage: ").embed_documents(
        ["a", "b", "c"], done.append
    )

    assert endpoint.bodies[0]["input"] == ["passage: a", "passage: b"]
    assert done == [2, 1]
    assert [length(vector) for vector in vectors] == pytest.approx([1, 1, 1])


async def test_what_is_sent_is_composed_prefixed_and_free_of_surrogates() -> None:
    endpoint = Endpoint()

    await remote(endpoint, query_prefix="query: ").embed(["Ku\u0308ndigung \ud800"])

    assert endpoint.bodies[0] == {
        "model": "m",
        "input": ["query: K\u00fcndigung \ufffd"],
        "encoding_format": "float",
    }


@pytest.mark.parametrize("url", ["http://m.test", "http://m.test/", "http://m.test/v1"])
async def test_the_address_may_end_as_people_write_it(url: str) -> None:
    endpoint = Endpoint()

    await remote(endpoint, base_url=url, api_key="secret").embed(["a"])

    assert endpoint.authorization == "Bearer secret"


def test_the_identity_is_made_of_the_name_unless_the_weights_are_known() -> None:
    endpoint = Endpoint()

    assert remote(endpoint).identity.sha256 == hashlib.sha256(b"remote:m").hexdigest()
    assert remote(endpoint, sha256="f" * 64).identity.sha256 == "f" * 64


def answer(content: Any, status: int = 200) -> Callable[[httpx.Request], httpx.Response]:
    return lambda _: httpx.Response(status, json=content)


def entry(*values: object, index: object = 0) -> dict[str, object]:
    return {"index": index, "embedding": list(values)}


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        {"data": None},
        {"data": []},
        {"data": [{"index": 0}]},
        {"data": [{"index": 0, "embedding": None}]},
        {"data": [{"index": 0, "embedding": "AAAA"}]},
        {"data": [entry(1, 2, 3)]},
        {"data": [entry(1, 2, 3, 4, 5)]},
        {"data": [entry(1, 2, 3, "x")]},
        {"data": [entry(0, 0, 0, 0)]},
        {"data": [entry(1, 2, 3, "nan")]},
        {"data": [entry(1, 2, 3, 4, index=1)]},
        {"data": [entry(1, 2, 3, 4, index=None)]},
        {"data": [entry(1, 2, 3, 4), entry(1, 2, 3, 4, index=1)]},
    ],
)
async def test_an_answer_of_another_form_is_an_error(content: Any) -> None:
    with pytest.raises(EmbedderUnavailable):
        await remote(answer(content)).embed(["a"])


async def test_an_index_given_twice_is_an_error() -> None:
    twice = {"data": [entry(1, 2, 3, 4), entry(4, 3, 2, 1)]}

    with pytest.raises(EmbedderUnavailable, match="does not give 2 vectors"):
        await remote(answer(twice)).embed(["a", "b"])


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
async def test_a_refusal_says_its_status_and_nothing_of_the_text(status: int) -> None:
    with pytest.raises(EmbedderUnavailable, match=str(status)) as caught:
        await remote(answer({"error": "you sent: secret text"}, status)).embed(["secret text"])

    assert "secret" not in str(caught.value)


async def test_a_page_that_is_no_json_is_an_error() -> None:
    with pytest.raises(EmbedderUnavailable, match="another form"):
        await remote(lambda _: httpx.Response(200, text="<html>")).embed(["a"])


@pytest.mark.parametrize(
    "error", [httpx.ConnectError, httpx.ReadTimeout, httpx.RemoteProtocolError]
)
async def test_an_endpoint_that_cannot_be_reached_is_unavailable(
    error: type[httpx.TransportError],
) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise error("no", request=request)

    with pytest.raises(EmbedderUnavailable, match=error.__name__):
        await remote(fail).embed(["a"])


async def test_a_closed_port_is_unavailable_and_asking_again_is_possible() -> None:
    embedder = RemoteEmbedder("http://127.0.0.1:9", model="m", dimension=DIMENSION)

    for _ in range(2):
        with pytest.raises(EmbedderUnavailable, match="ConnectError"):
            await embedder.embed(["a"])

    await embedder.close()
