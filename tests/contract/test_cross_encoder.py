"""
What the reranker in the service promises beyond the port.
"""

from __future__ import annotations

import asyncio
import math
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.cross_encoder import CrossEncoderReranker
from assembler.errors import RerankerUnavailable
from tests.contract.rerank_endpoint import TEXTS
from tests.tiny_model import tiny_cross_encoder


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

    def test_a_service_loads_nothing_heavy_until_it_is_made(self) -> None:
        code = (
            "import sys, cli.main, server.bootstrap as b; from server.settings import Settings; "
            "assert b.make_reranker(Settings()) is None; "
            "b.make_backend(Settings()); "
            "heavy = {'torch', 'transformers', 'sentence_transformers', 'qdrant_client', 'indexer', "
            "'evaluation', 'pandas'}; "
            "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
        )

        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
