"""
Token counters over local tokenizer files: tiktoken's rank files and Hugging Face tokenizers.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tiktoken
from tiktoken.model import encoding_name_for_model

from adapters.hf_counter import HuggingFaceCounter
from adapters.tokenizer_files import RANKS, rank_path
from assembler.errors import ContextAssemblerError, TokenizerUnknown
from assembler.ports import ChatMessage, TokenCounter

TOKENS_PER_MESSAGE = 3
TOKENS_PER_NAME = 1
TOKENS_OF_THE_REPLY = 3
"""OpenAI Cookbook, "How to count tokens with tiktoken", for gpt-3.5-turbo-0125 and later."""

ENCODINGS = {
    "cl100k_base": "cl100k_base",
    "o200k_base": "o200k_base",
    "o200k_harmony": "o200k_base",
}
"""The rank file of every encoding that is offered."""

_HF_NAME = re.compile(r"[a-z0-9._-]+")


class TiktokenCounter:
    """
    Counts with a tiktoken encoding; spellings of special tokens in a text count as plain text.

    Surrogates, which no UTF-8 text has, count as the code point that a pair of them stands for,
    and as U+FFFD where one is alone.
    """

    def __init__(self, name: str, sha256: str, encoding: tiktoken.Encoding) -> None:
        self._name = name
        self._sha256 = sha256
        self._encoding = encoding

    @property
    def name(self) -> str:
        """
        Return the encoding's name.
        """
        return self._name

    @property
    def sha256(self) -> str:
        """
        Return the hash of the rank file.
        """
        return self._sha256

    def count(self, text: str) -> int:
        """
        Return the number of tokens of a text of its own.
        """
        return len(self._encoding.encode_ordinary(text))

    def count_messages(self, messages: Sequence[ChatMessage]) -> int:
        """
        Return the number of tokens of a prompt by OpenAI's rule for chat models.
        """
        total = TOKENS_OF_THE_REPLY
        for message in messages:
            total += TOKENS_PER_MESSAGE + self.count(message.role) + self.count(message.content)
            if message.name is not None:
                total += TOKENS_PER_NAME + self.count(message.name)
        return total


class TokenizerFolder:
    """
    The tokenizers whose files are in a folder; all are loaded at once, and never again.

    ``<encoding>.tiktoken`` is found by the name of an encoding or of a model that tiktoken's own
    table maps to it; ``<name>/tokenizer.json`` is ``hf:<name>``. Nothing changes after the
    construction, so that any number of threads may count.
    """

    def __init__(self, folder: Path) -> None:
        """
        Load everything.

        Raises:
            ContextAssemblerError: A file is damaged.
        """
        self._counters: dict[str, TokenCounter] = {}
        self._add_encodings(folder)
        for path in sorted(folder.glob("*/tokenizer.json")):
            if _HF_NAME.fullmatch(path.parent.name):
                name = f"hf:{path.parent.name}"
                self._counters[name] = HuggingFaceCounter(name, path.parent)

    def get(self, name: str) -> TokenCounter:
        """
        Return the counter for an encoding, an OpenAI model or ``hf:<name>``.

        Raises:
            TokenizerUnknown: No file for it is there; there is never a substitute.
        """
        found = self._counters.get(name) or self._counters.get(_encoding_of_model(name))
        if found is None:
            raise TokenizerUnknown(name, self.names())
        return found

    def names(self) -> tuple[str, ...]:
        """
        Return every encoding and ``hf:`` name that is there, sorted.
        """
        return tuple(sorted(self._counters))

    def _add_encodings(self, folder: Path) -> None:
        there = {name for name in RANKS if rank_path(folder, name).exists()}
        ranks = {name: _ranks(rank_path(folder, name), RANKS[name]) for name in sorted(there)}
        constructors = _constructors(ranks)
        for name, file_name in ENCODINGS.items():
            if file_name in there:
                encoding = tiktoken.Encoding(**constructors[name]())
                self._counters[name] = TiktokenCounter(name, RANKS[file_name], encoding)


def _encoding_of_model(name: str) -> str:
    try:
        return encoding_name_for_model(name)
    except KeyError:
        return ""


def _constructors(
    ranks: Mapping[str, Mapping[bytes, int]],
) -> Mapping[str, Callable[[], dict[str, Any]]]:
    """
    Return tiktoken's own definitions of its encodings, made to take ranks that are loaded already.

    They live in a private copy of the module: the shared one would fetch what its cache lacks.
    """
    spec = importlib.util.find_spec("tiktoken_ext.openai_public")
    if spec is None or spec.loader is None:
        raise ContextAssemblerError("tiktoken lacks its list of encodings; install it again")
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def loaded(address: str, expected_hash: str) -> Mapping[bytes, int]:
        name = address.rpartition("/")[2].removesuffix(".tiktoken")
        if RANKS[name] != expected_hash:
            raise ContextAssemblerError(f"this tiktoken expects other ranks of {name} than we have")
        return ranks[name]

    module.load_tiktoken_bpe = loaded
    constructors: Mapping[str, Callable[[], dict[str, Any]]] = module.ENCODING_CONSTRUCTORS
    return constructors


def _ranks(path: Path, expected_hash: str) -> dict[bytes, int]:
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != expected_hash:
        raise ContextAssemblerError(f"{path} is not the file that tiktoken expects; remove it")
    pairs = (line.split() for line in content.splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in pairs}
