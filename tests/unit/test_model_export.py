"""
The export of a sentence-transformers model, held against the original.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from adapters import model_export
from adapters.embedder import OnnxEmbedder
from adapters.model_export import DEFAULT_SHA256, export_model
from adapters.model_files import ModelDescription, read_description, sha256_of
from assembler.errors import EmbedderUnavailable

TEXTS = [
    "Refunds are paid within 30 days.",
    "Die Kündigungsfrist beträgt drei Monate.",
    "Ile dni urlopu mam w roku?",
    "返金は三十日以内に行われます。",
    "for i in range(10): print(i)",
    "word " * 250,
]

sentence_transformers = pytest.importorskip("sentence_transformers")
modules = pytest.importorskip("sentence_transformers.sentence_transformer.modules")


@pytest.fixture(scope="module")
def original() -> Path:
    return model_export._packaged()


@pytest.fixture
def tiny(tmp_path: Path, original: Path) -> Any:
    """
    Return a maker of random models of one layer, with the default model's tokenizer.
    """
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    torch.manual_seed(3)
    folder = tmp_path / "bert"
    config = transformers.BertConfig(
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=96,
    )
    transformers.BertModel(config).save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(original).save_pretrained(folder)

    def make(*more: Any, pooling: Any = "mean", name: str = "tiny", **options: Any) -> Path:
        transformer = modules.Transformer(str(folder))
        transformer.max_seq_length = 64
        pool = modules.Pooling(32, pooling, **options.pop("pool", {}))
        model = sentence_transformers.SentenceTransformer(
            modules=[transformer, pool, *more], device="cpu", **options
        )
        model.save(str(tmp_path / name))
        return tmp_path / name

    return make


def test_the_default_model_is_the_published_one(model_folder: Path, original: Path) -> None:
    description = read_description(model_folder)

    assert description.sha256 == DEFAULT_SHA256 == sha256_of(original / "model.safetensors")
    assert (description.dimension, description.max_tokens, description.special_tokens) == (
        384,
        256,
        2,
    )
    assert (description.pooling, description.normalised) == ("mean", True)


def test_the_exported_model_gives_the_originals_vectors(model_folder: Path, original: Path) -> None:
    model = sentence_transformers.SentenceTransformer(str(original), device="cpu")

    made = OnnxEmbedder(model_folder).embed_documents(TEXTS)

    assert ((np.asarray(made) * model.encode(TEXTS)).sum(axis=1) >= 0.9999).all()


def test_the_exported_tokenizer_neither_cuts_nor_pads(model_folder: Path) -> None:
    tokenizer = Tokenizer.from_file(str(model_folder / "tokenizer.json"))

    assert tokenizer.truncation is None
    assert tokenizer.padding is None


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_model_of_either_pooling_is_exported_and_named_by_its_folder(
    tiny: Any, tmp_path: Path, pooling: str
) -> None:
    source = tiny(pooling=pooling)
    model = sentence_transformers.SentenceTransformer(str(source), device="cpu")

    description = export_model(str(source), tmp_path / "out")

    made = np.asarray(OnnxEmbedder(tmp_path / "out").embed_documents(TEXTS[:3]))
    expected = model.encode(TEXTS[:3], normalize_embeddings=True)
    np.testing.assert_allclose(made, expected, atol=1e-5)
    assert (description.name, description.pooling, description.max_tokens) == ("tiny", pooling, 64)
    assert description.sha256 == sha256_of(source / "model.safetensors")


def test_prefixes_come_from_the_models_prompts_or_from_the_arguments(
    tiny: Any, tmp_path: Path
) -> None:
    source = str(tiny(prompts={"query": "query: ", "passage": "passage: "}))

    own = export_model(source, tmp_path / "own")
    given = export_model(source, tmp_path / "given", prefix="text: ", query_prefix="")

    assert (own.prefix, own.query_prefix) == ("passage: ", "query: ")
    assert (given.prefix, given.query_prefix) == ("text: ", "")


def test_a_default_prompt_of_the_model_does_not_slip_into_the_check(
    tiny: Any, tmp_path: Path
) -> None:
    source = tiny(prompts={"query": "query: "}, default_prompt_name="query")

    assert export_model(str(source), tmp_path / "out").query_prefix == "query: "


def test_parts_that_cannot_be_exported_are_named(tiny: Any, tmp_path: Path) -> None:
    dense = tiny(modules.Dense(32, 16), name="dense")
    largest = tiny(pooling="max", name="largest")
    promptless = tiny(pool={"include_prompt": False}, name="promptless")

    for source, problem in [(dense, "Dense"), (largest, "'max'"), (promptless, "prompt out")]:
        with pytest.raises(EmbedderUnavailable, match=problem):
            export_model(str(source), tmp_path / "out")

    assert not (tmp_path / "out").exists()


def test_a_model_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match="nowhere"):
        export_model(str(tmp_path / "nowhere"), tmp_path / "out")


def test_weights_that_are_not_the_published_ones_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_export, "DEFAULT_SHA256", "0" * 64)

    with pytest.raises(EmbedderUnavailable, match="not the published ones"):
        export_model(None, tmp_path / "out")


@pytest.mark.parametrize("worst", [0.5, float("nan")])
def test_an_export_that_differs_is_refused_and_what_was_there_stays(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worst: float
) -> None:
    out = tmp_path / "out"
    before = export_model(str(tiny()), out)
    monkeypatch.setattr(model_export, "_least_cosine", lambda *_: worst)

    with pytest.raises(EmbedderUnavailable, match="differs from the original"):
        export_model(str(tiny(pooling="cls", name="other")), out)

    assert read_description(out) == before


def test_a_new_export_replaces_the_old_one_and_leaves_nothing_else(
    tiny: Any, tmp_path: Path
) -> None:
    out = tmp_path / "models" / "out"
    export_model(str(tiny()), out)
    (out / "stale").touch()

    export_model(str(tiny(pooling="cls", name="other")), out)

    assert sorted(path.name for path in out.iterdir()) == [
        "model.json",
        "model.onnx",
        "tokenizer.json",
    ]
    assert list(out.parent.iterdir()) == [out]
    assert read_description(out).pooling == "cls"


def test_a_description_holds_what_serving_needs(model_folder: Path) -> None:
    content = json.loads((model_folder / "model.json").read_text())

    assert ModelDescription(**content).spec.model.dimension == 384
    assert content["onnx_sha256"] == sha256_of(model_folder / "model.onnx")
    assert content["tokenizer_sha256"] == sha256_of(model_folder / "tokenizer.json")
