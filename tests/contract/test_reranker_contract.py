"""
What every reranker promises, held against the fake, a tiny model of the test's own and an endpoint
in either dialect; and what the real ones promise beyond the port.
"""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from adapters.cross_encoder import CrossEncoderReranker
from adapters.remote_reranker import Dialect, RemoteReranker
from adapters.trace import TRACEPARENT
from assembler.errors import RerankerUnavailable
from assembler.ports import Reranker
from tests.fakes import FakeReranker, shared_words
from tests.tiny_model import WORDS, tiny_cross_encoder


@pytest.fixture(scope="module")
def cross_encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    Return the folder of a random model.
    """
    return tiny_cross_encoder(tmp_path_factory.mktemp("cross-encoder"), labels=1)


@pytest.fixture(scope="module")
def cross_encoder(cross_encoder_folder: Path) -> CrossEncoderReranker:
    return CrossEncoderReranker(str(cross_encoder_folder))


class Endpoint:
    """
    A rerank endpoint of the test's own, which speaks both dialects and answers best first.
    """

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.bodies: list[dict[str, Any]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.requests.append(request)
        self.bodies.append(body)
        is_tei = "texts" in body
        texts, name = (body["texts"], "score") if is_tei else (body["documents"], "relevance_score")
        entries = [
            {"index": number, name: shared_words(body["query"], text)}
            for number, text in enumerate(texts)
        ]
        entries.sort(key=lambda entry: -entry[name])
        return httpx.Response(200, json=entries if is_tei else {"id": "1", "results": entries})


def remote(handler: Callable[[httpx.Request], httpx.Response], **options: Any) -> RemoteReranker:
    return RemoteReranker(
        options.pop("url", "http://rerank.test"),
        dialect=options.pop("dialect", Dialect.TEI),
        transport=httpx.MockTransport(handler),
        **options,
    )


@pytest.fixture(params=["fake", "cross_encoder", "tei", "cohere"])
def reranker(request: pytest.FixtureRequest) -> Reranker:
    if request.param == "fake":
        return FakeReranker()
    if request.param == "cross_encoder":
        made: CrossEncoderReranker = request.getfixturevalue("cross_encoder")
        return made
    return remote(Endpoint(), dialect=Dialect(request.param), model="m")


TEXTS = ["a fine is never paid", "oslo", "a refund is paid", "", "who is a train", "oslo"]


class TestEveryReranker:
    async def test_every_text_gets_one_finite_score(self, reranker: Reranker) -> None:
        scores = await reranker.rerank("is a refund paid", TEXTS)

        assert len(scores) == len(TEXTS)
        assert all(map(math.isfinite, scores))
        assert len(set(scores)) > 2

    async def test_a_score_follows_its_text_whatever_the_order(self, reranker: Reranker) -> None:
        forward = await reranker.rerank("is a refund paid", TEXTS)
        backward = await reranker.rerank("is a refund paid", TEXTS[::-1])

        assert list(backward)[::-1] == list(forward)

    async def test_a_score_does_not_depend_on_what_else_is_read(self, reranker: Reranker) -> None:
        among = await reranker.rerank("is a refund paid", TEXTS)

        alone = [(await reranker.rerank("is a refund paid", [text]))[0] for text in TEXTS]

        assert alone == pytest.approx(list(among), abs=1e-5)

    async def test_no_texts_get_no_scores(self, reranker: Reranker) -> None:
        assert list(await reranker.rerank("a", [])) == []

    async def test_any_characters_are_read(self, reranker: Reranker) -> None:
        scores = await reranker.rerank(
            "\ud800", ["\ud800", "[SEP] [PAD]", "\x00", "e\u0301 " * 400]
        )

        assert all(map(math.isfinite, scores))

    async def test_calls_may_overlap(self, reranker: Reranker) -> None:
        expected = [list(await reranker.rerank(word, TEXTS)) for word in WORDS]

        made = await asyncio.gather(*(reranker.rerank(word, TEXTS) for word in WORDS))

        assert [list(row) for row in made] == expected

    def test_it_has_an_identity(self, reranker: Reranker) -> None:
        assert reranker.identity


class TestTheCrossEncoder:
    async def test_scores_are_those_of_the_original_without_its_activation(
        self, cross_encoder: CrossEncoderReranker, cross_encoder_folder: Path
    ) -> None:
        torch = pytest.importorskip("torch")
        original = pytest.importorskip("sentence_transformers").CrossEncoder(
            str(cross_encoder_folder), device="cpu"
        )
        pairs = [("is a refund paid", text) for text in TEXTS]
        expected = original.predict(pairs, activation_fn=torch.nn.Identity())

        scores = await cross_encoder.rerank("is a refund paid", TEXTS)

        assert scores == pytest.approx(expected.tolist(), abs=1e-5)

    def test_the_identity_is_of_the_weights(
        self, cross_encoder: CrossEncoderReranker, cross_encoder_folder: Path, tmp_path: Path
    ) -> None:
        again = CrossEncoderReranker(str(cross_encoder_folder)).identity

        assert again == cross_encoder.identity
        assert len(again.rpartition(":")[2]) == 64

    async def test_the_event_loop_goes_on_meanwhile(
        self, cross_encoder: CrossEncoderReranker
    ) -> None:
        call = asyncio.create_task(cross_encoder.rerank("a", [f"{'is ' * n}a" for n in range(200)]))
        turns = 0
        while not call.done():
            await asyncio.sleep(0.001)
            turns += 1

        assert turns > 1

    def test_a_model_that_is_not_there_or_no_reranker_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(RerankerUnavailable, match="cannot be loaded"):
            CrossEncoderReranker(str(tmp_path / "none"))
        with pytest.raises(RerankerUnavailable, match="gives 3 scores per text"):
            CrossEncoderReranker(str(tiny_cross_encoder(tmp_path, labels=3)))

    def test_a_missing_package_names_the_remedy(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "sentence_transformers", None)

        with pytest.raises(RerankerUnavailable, match="optional dependencies `models`"):
            CrossEncoderReranker("any")

    def test_a_model_that_says_no_numbers_is_an_error(self, cross_encoder_folder: Path) -> None:
        broken = CrossEncoderReranker(str(cross_encoder_folder))
        for parameter in broken._model.parameters():
            parameter.data.fill_(math.nan)

        with pytest.raises(RerankerUnavailable, match="no numbers"):
            asyncio.run(broken.rerank("a", ["a"]))

    def test_the_heavy_packages_are_not_loaded_until_it_is_made(self) -> None:
        code = (
            "import sys, server.bootstrap as b; from server.settings import Settings; "
            "assert b.make_reranker(Settings()) is None; "
            "assert not {'torch', 'transformers', 'sentence_transformers'} & set(sys.modules)"
        )

        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


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
