"""
The folder of an exported embedding model: its description and the files that it vouches for.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from adapters.store import EmbeddingSpec
from assembler.errors import EmbedderUnavailable
from assembler.ports import ModelIdentity

WEIGHTS = "model.onnx"
TOKENIZER = "tokenizer.json"
DESCRIPTION = "model.json"
READ_BYTES = 1 << 20
POOLINGS = ("mean", "cls")


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """
    What `model.json` says.

    Attributes:
        sha256: Hash of the original weights: the model's identity.
        max_tokens: The model's own maximum, special tokens included.
        special_tokens: How many of them every text gets.
        pooling: One of `POOLINGS`.
        onnx_sha256: Hash of `model.onnx`.
        tokenizer_sha256: Hash of `tokenizer.json`.
    """

    name: str
    sha256: str
    revision: str
    dimension: int
    max_tokens: int
    special_tokens: int
    pooling: str
    prefix: str
    query_prefix: str
    normalised: bool
    opset: int
    onnx_sha256: str
    tokenizer_sha256: str

    def __post_init__(self) -> None:
        """
        Check what vectors depend on.
        """
        if self.pooling not in POOLINGS:
            msg = f"pooling {self.pooling!r} is not one of {', '.join(POOLINGS)}"
            raise ValueError(msg)
        if self.dimension < 1 or not 0 <= self.special_tokens < self.max_tokens:
            msg = (
                f"dimension {self.dimension}, {self.max_tokens} tokens and {self.special_tokens} "
                "special ones make no model"
            )
            raise ValueError(msg)

    @property
    def spec(self) -> EmbeddingSpec:
        """
        Return how texts become vectors.
        """
        return EmbeddingSpec(
            model=ModelIdentity(self.name, self.sha256, self.dimension),
            revision=self.revision,
            max_tokens=self.max_tokens,
            pooling=self.pooling,
            prefix=self.prefix,
            query_prefix=self.query_prefix,
            normalised=self.normalised,
        )


def write_description(folder: Path, description: ModelDescription) -> None:
    """
    Write `model.json`.
    """
    text = json.dumps(asdict(description), indent=2, sort_keys=True) + "\n"
    (folder / DESCRIPTION).write_text(text, encoding="utf-8")


def read_description(folder: Path) -> ModelDescription:
    """
    Return the description of a folder whose files are the ones it vouches for.

    Raises:
        EmbedderUnavailable: A file is missing, unreadable or another one.
    """
    remedy = "run `context-assembler model export` to write it again"
    try:
        content = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        description = ModelDescription(**content)
        hashes = {
            WEIGHTS: description.onnx_sha256,
            TOKENIZER: description.tokenizer_sha256,
        }
        for name, expected in hashes.items():
            if sha256_of(folder / name) != expected:
                raise EmbedderUnavailable(f"{folder / name} is not the exported file; {remedy}")
    except FileNotFoundError as error:
        raise EmbedderUnavailable(f"{error.filename} is not there; {remedy}") from error
    except (OSError, ValueError, TypeError) as error:
        raise EmbedderUnavailable(f"model folder {folder}: {error}; {remedy}") from error
    return description


def sha256_of(path: Path) -> str:
    """
    Return the hash of a file, in hex.
    """
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(READ_BYTES):
            digest.update(block)
    return digest.hexdigest()
