"""
One suite for every embedder, and what the exported and the remote model promise beyond the port.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from tokenizers import Tokenizer

from adapters.embedder import OnnxEmbedder
from adapters.model_files import sha256_of
from adapters.remote_embedder import RemoteEmbedder
from assembler.errors import EmbedderUnavailable, InvalidRequest
from assembler.ports import Embedder, Vector
from tests.fakes import FakeEmbedder

DIMENSION = 4
PRINTABLE = (
    "What is the refund policy?",
    "Die Kündigungsfrist beträgt drei Monate.",
    "日本語",
    "a",
)
NO_MODEL = ({"pooling": "max"}, {"max_tokens": 2}, {"max_tokens": "many"})
STRAY = ("NUL \0 inside", "lone \ud800 surrogate")


class Endpoint:
    """
    An embeddings endpoint of the test's own, which remembers what it was asked.
    """

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.authorization: str | None = None

    def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.bodies.append(body)
        self.authorization = request.headers.get("authorization")
        assert request.url.path == "/v1/embeddings"
        entries = [
            {"index": number, "embedding": self.vector(text)}
            for number, text in enumerate(body["input"])
        ]
        return httpx.Response(200, json={"data": entries[::-1]})

    def vector(self, text: str) -> list[float]:
        return [float(1 + byte) for byte in hashlib.sha256(text.encode()).digest()[:DIMENSION]]


def remote(handler: Callable[[httpx.Request], httpx.Response], **options: Any) -> RemoteEmbedder:
    return RemoteEmbedder(
        options.pop("base_url", "http://model.test"),
        model="m",
        dimension=DIMENSION,
        transport=httpx.MockTransport(handler),
        **options,
    )


@pytest.fixture(scope="module")
def onnx(model_folder: Path) -> OnnxEmbedder:
    return OnnxEmbedder(model_folder)


@pytest.fixture(params=["fake", "onnx", "remote"])
def embedder(request: pytest.FixtureRequest, onnx: OnnxEmbedder) -> Embedder:
    if request.param == "fake":
        return FakeEmbedder()
    return onnx if request.param == "onnx" else remote(Endpoint())


def length(vector: Vector) -> float:
    return math.hypot(*vector)


def cosine(one: Vector, other: Vector) -> float:
    return float(np.dot(np.asarray(one), np.asarray(other)))


class TestEveryEmbedder:
    async def test_every_text_gets_a_normalised_vector_of_the_models_dimension(
        self, embedder: Embedder
    ) -> None:
        vectors = await embedder.embed(PRINTABLE)

        assert len(vectors) == len(PRINTABLE)
        assert {len(vector) for vector in vectors} == {embedder.identity.dimension}
        assert all(length(vector) == pytest.approx(1, abs=1e-5) for vector in vectors)

    async def test_a_vector_does_not_depend_on_what_else_is_asked(self, embedder: Embedder) -> None:
        alone = (await embedder.embed(["a"]))[0]

        among = (await embedder.embed(["some other question", "a"]))[1]

        assert list(among) == list(alone)

    async def test_no_texts_give_no_vectors(self, embedder: Embedder) -> None:
        assert list(await embedder.embed([])) == []

    def test_the_identity_names_the_weights(self, embedder: Embedder) -> None:
        assert len(embedder.identity.sha256) == 64
        assert embedder.identity.name


def of_length(onnx: OnnxEmbedder, tokens: int) -> str:
    """
    Return a text of exactly so many tokens, special ones included.
    """
    text = " ".join(["word"] * (tokens - 2))
    assert onnx.count(text) == tokens
    return text


class TestExportedModel:
    async def test_a_query_of_the_maximum_is_taken_and_one_more_token_is_refused_by_its_place(
        self, onnx: OnnxEmbedder
    ) -> None:
        most = onnx.spec.max_tokens

        await onnx.embed([of_length(onnx, most)])
        with pytest.raises(InvalidRequest, match=rf"{most + 1} tokens.*{most}") as caught:
            await onnx.embed(["short", of_length(onnx, most + 1)])

        assert caught.value.field == "queries[1].text"

    def test_a_document_over_the_maximum_is_refused_before_any_work(
        self, onnx: OnnxEmbedder
    ) -> None:
        done: list[int] = []
        too_long = of_length(onnx, onnx.spec.max_tokens + 1)

        with pytest.raises(ValueError, match="text 1 has 257 tokens"):
            onnx.embed_documents(["short", too_long], done.append)

        assert done == []

    async def test_the_end_of_the_longest_text_still_counts(self, onnx: OnnxEmbedder) -> None:
        text = of_length(onnx, onnx.spec.max_tokens)

        one, other = await onnx.embed([text, text.removesuffix("word") + "volcano"])

        assert cosine(one, other) < 0.9999

    async def test_documents_come_back_in_their_order_and_as_they_are_alone(
        self, onnx: OnnxEmbedder
    ) -> None:
        texts = [f"{'long ' * (number * 7 % 50)}text {number}" for number in range(70)]
        done: list[int] = []

        made = onnx.embed_documents(texts, done.append, batch_texts=16)

        alone = await onnx.embed(texts)
        assert done == [16, 16, 16, 16, 6]
        np.testing.assert_allclose(made, alone, atol=1e-6)

    def test_no_documents_give_no_vectors(self, onnx: OnnxEmbedder) -> None:
        assert onnx.embed_documents([]) == []

    async def test_decomposed_letters_give_the_vector_of_composed_ones(
        self, onnx: OnnxEmbedder
    ) -> None:
        one, other = await onnx.embed(["K\u00fcndigung", "Ku\u0308ndigung"])

        assert one == other

    async def test_blank_text_and_stray_code_points_give_finite_vectors(
        self, onnx: OnnxEmbedder
    ) -> None:
        vectors = await onnx.embed(["", " ", *STRAY])

        assert np.isfinite(np.asarray(vectors)).all()

    def test_a_special_token_that_a_text_spells_is_plain_text(self, onnx: OnnxEmbedder) -> None:
        text = "before [SEP] after"

        pieces = [text[start:end] for start, end in onnx.offsets(text)]

        assert pieces == ["before", "[", "SEP", "]", "after"]
        assert onnx.count(text) == len(pieces) + 2

    def test_offsets_are_places_in_the_text_as_it_was_given(self, onnx: OnnxEmbedder) -> None:
        text = "Ku\u0308ndigung \ud800 endet"

        start, end = onnx.offsets(text)[-1]

        assert text[start:end] in "endet"
        assert end == len(text)

    async def test_the_event_loop_goes_on_while_queries_are_embedded(
        self, onnx: OnnxEmbedder
    ) -> None:
        work = asyncio.create_task(onnx.embed([of_length(onnx, 256)] * 8))
        beats = 0
        started = time.perf_counter()

        while not work.done():
            await asyncio.sleep(0.001)
            beats += 1

        assert time.perf_counter() - started > 0.005
        assert beats > 3

    async def test_threads_share_one_model(self, onnx: OnnxEmbedder) -> None:
        texts = [f"question number {number}" for number in range(12)]

        together = await asyncio.gather(*(onnx.embed([text]) for text in texts))

        assert [one[0] for one in together] == list(await onnx.embed(texts))


@pytest.fixture
def copied(model_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model_folder, tmp_path / "model"))


def describe(folder: Path, **changes: object) -> None:
    path = folder / "model.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


class TestModelFolder:
    def test_a_tokenizer_set_to_cut_and_pad_neither_cuts_nor_pads(self, copied: Path) -> None:
        path = copied / "tokenizer.json"
        tokenizer = Tokenizer.from_file(str(path))
        tokenizer.enable_truncation(128)
        tokenizer.enable_padding(length=128)
        tokenizer.save(str(path))
        describe(copied, tokenizer_sha256=sha256_of(path))

        embedder = OnnxEmbedder(copied)

        assert embedder.count("word " * 200) == 202
        assert embedder.count("a") == 3

    def test_prefixes_are_counted_and_embedded(self, copied: Path, onnx: OnnxEmbedder) -> None:
        describe(copied, prefix="passage: ")

        embedder = OnnxEmbedder(copied)

        assert embedder.count("word") == onnx.count("passage: word")
        made, expected = embedder.embed_documents(["word"]), onnx.embed_documents(["passage: word"])
        assert made == expected

    async def test_queries_have_a_prefix_of_their_own(
        self, copied: Path, onnx: OnnxEmbedder
    ) -> None:
        describe(copied, prefix="passage: ", query_prefix="query: ")

        made = await OnnxEmbedder(copied).embed(["word"])

        assert made == await onnx.embed(["query: word"])

    @pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "model.json"])
    def test_a_missing_file_is_named(self, copied: Path, name: str) -> None:
        (copied / name).unlink()

        with pytest.raises(EmbedderUnavailable, match=rf"{name}.*model export"):
            OnnxEmbedder(copied)

    @pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
    def test_a_file_that_is_not_the_exported_one_is_named(self, copied: Path, name: str) -> None:
        with (copied / name).open("ab") as file:
            file.write(b" ")

        with pytest.raises(EmbedderUnavailable, match=rf"{name} is not the exported file"):
            OnnxEmbedder(copied)

    @pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null"])
    def test_a_damaged_description_is_an_error_with_the_remedy(
        self, copied: Path, text: str
    ) -> None:
        (copied / "model.json").write_text(text)

        with pytest.raises(EmbedderUnavailable, match="model export"):
            OnnxEmbedder(copied)

    @pytest.mark.parametrize("change", [*NO_MODEL, {"dimension": 0}, {"dimension": 385}])
    def test_a_description_of_no_model_is_refused(
        self, copied: Path, change: dict[str, object]
    ) -> None:
        describe(copied, **change)

        with pytest.raises(EmbedderUnavailable, match="model export"):
            OnnxEmbedder(copied)
