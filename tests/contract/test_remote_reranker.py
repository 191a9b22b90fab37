"""
What the reranker behind an endpoint promises beyond the port.
"""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from adapters.remote_reranker import Dialect, RemoteReranker
from adapters.trace import TRACEPARENT
from assembler.errors import RerankerUnavailable
from tests.contract.rerank_endpoint import Endpoint, remote


class TestTheRemoteReranker:
    async def test_text_embeddings_inference_is_asked_for_raw_scores(self) -> None:
        endpoint = Endpoint()

        await remote(endpoint, api_key="secret").rerank("Ku\u0308ndigung", ["e\u0301 \ud800"])

        assert str(endpoint.requests[0].url) == "http://rerank.test/rerank"
        assert endpoint.requests[0].headers["authorization"] == "Bearer secret"
        assert endpoint.bodies == [
            {
                "query": "K\u00fcndigung",
                "texts": ["\u00e9 \ufffd"],
                "raw_scores": True,
                "truncate": True,
            }
        ]

    async def test_cohere_is_asked_for_every_document(self) -> None:
        endpoint = Endpoint()

        await remote(endpoint, dialect=Dialect.COHERE, model="rerank-v3.5").rerank("q", ["a", "b"])

        assert str(endpoint.requests[0].url) == "http://rerank.test/v2/rerank"
        assert "authorization" not in endpoint.requests[0].headers
        assert endpoint.bodies == [
            {"model": "rerank-v3.5", "query": "q", "documents": ["a", "b"], "top_n": 2}
        ]

    @pytest.mark.parametrize(
        ("dialect", "url", "asked"),
        [
            (Dialect.TEI, "http://h/", "http://h/rerank"),
            (Dialect.TEI, "http://h/rerank", "http://h/rerank"),
            (Dialect.TEI, "http://h/models/one", "http://h/models/one/rerank"),
            (Dialect.COHERE, "http://h", "http://h/v2/rerank"),
            (Dialect.COHERE, "http://h/v1", "http://h/v1/rerank"),
            (Dialect.COHERE, "http://h/v2/", "http://h/v2/rerank"),
            (Dialect.COHERE, "http://h/rerank", "http://h/rerank"),
        ],
    )
    async def test_the_address_may_end_as_people_write_it(
        self, dialect: Dialect, url: str, asked: str
    ) -> None:
        endpoint = Endpoint()

        await remote(endpoint, dialect=dialect, url=url).rerank("q", ["a"])

        assert str(endpoint.requests[0].url) == asked

    async def test_many_texts_go_in_bounded_calls(self) -> None:
        endpoint = Endpoint()

        scores = await remote(endpoint, batch_texts=2).rerank("b d", ["a", "b", "c", "d", "b d"])

        assert [body["texts"] for body in endpoint.bodies] == [["a", "b"], ["c", "d"], ["b d"]]
        assert scores == [0.0, 1.0, 0.0, 1.0, 2.0]

    async def test_the_trace_is_passed_on(self) -> None:
        endpoint = Endpoint()
        token = TRACEPARENT.set("00-abc-def-01")
        try:
            await remote(endpoint).rerank("q", ["a"])
        finally:
            TRACEPARENT.reset(token)

        assert endpoint.requests[0].headers["traceparent"] == "00-abc-def-01"

    def test_the_identity_names_dialect_and_model_or_address(self) -> None:
        endpoint = Endpoint()

        assert remote(endpoint).identity == "tei:http://rerank.test/rerank"
        assert remote(endpoint, dialect=Dialect.COHERE, model="m").identity == "cohere:m"

    @pytest.mark.parametrize(
        ("dialect", "content"),
        [
            (Dialect.TEI, None),
            (Dialect.TEI, {}),
            (Dialect.TEI, []),
            (Dialect.TEI, {"error": "no"}),
            (Dialect.TEI, [{"index": 0}]),
            (Dialect.TEI, [{"index": 1, "score": 1}]),
            (Dialect.TEI, [{"index": None, "score": 1}]),
            (Dialect.TEI, [{"index": 0, "score": None}]),
            (Dialect.TEI, [{"index": 0, "score": "x"}]),
            (Dialect.TEI, [{"index": 0, "score": "nan"}]),
            (Dialect.TEI, [{"index": 0, "score": 10**400}]),
            (Dialect.TEI, [{"index": 0, "score": 1}, {"index": 0, "score": 2}]),
            (Dialect.TEI, [{"index": 0, "score": 1}, {"index": 1, "score": 2}]),
            (Dialect.COHERE, []),
            (Dialect.COHERE, {"results": None}),
            (Dialect.COHERE, {"results": []}),
            (Dialect.COHERE, {"results": [{"index": 0, "score": 1}]}),
            (Dialect.COHERE, {"results": [{"index": 0, "relevance_score": "inf"}]}),
        ],
    )
    async def test_an_answer_of_another_form_is_an_error(
        self, dialect: Dialect, content: Any
    ) -> None:
        with pytest.raises(RerankerUnavailable):
            await remote(lambda _: httpx.Response(200, json=content), dialect=dialect).rerank(
                "q", ["a"]
            )

    async def test_a_page_that_is_no_json_is_an_error(self) -> None:
        with pytest.raises(RerankerUnavailable, match="another form"):
            await remote(lambda _: httpx.Response(200, text="<html>")).rerank("q", ["a"])

    @pytest.mark.parametrize("status", [400, 401, 413, 422, 424, 429, 500, 503])
    async def test_a_refusal_says_its_status_and_nothing_of_the_text(self, status: int) -> None:
        refusing = remote(lambda _: httpx.Response(status, json={"error": "you sent: secret"}))

        with pytest.raises(RerankerUnavailable, match=str(status)) as caught:
            await refusing.rerank("secret", ["secret"])

        assert "secret" not in str(caught.value)

    @pytest.mark.parametrize(
        "error", [httpx.ConnectError, httpx.ReadTimeout, httpx.RemoteProtocolError]
    )
    async def test_an_endpoint_that_cannot_be_reached_is_unavailable(
        self, error: type[httpx.TransportError]
    ) -> None:
        def fail(request: httpx.Request) -> httpx.Response:
            raise error("no", request=request)

        with pytest.raises(RerankerUnavailable, match=error.__name__):
            await remote(fail).rerank("q", ["a"])

    async def test_a_closed_port_is_unavailable_and_asking_again_is_possible(self) -> None:
        reranker = RemoteReranker("http://127.0.0.1:9", dialect=Dialect.TEI)

        for _ in range(2):
            with pytest.raises(RerankerUnavailable, match="ConnectError"):
                await reranker.rerank("q", ["a"])

        await reranker.close()
