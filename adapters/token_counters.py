"""
Token counters over local tokenizer files: tiktoken's rank files and Hugging Face tokenizers.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tiktoken
from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tiktoken.model import MODEL_TO_ENCODING
from tokenizers import Tokenizer

from adapters.tokenizer_files import RANKS
from assembler.errors import InvalidRequest, TokenizerUnknown
from assembler.ports import ChatMessage, TokenCounter

TOKENS_PER_MESSAGE = 3
TOKENS_PER_NAME = 1
TOKENS_OF_THE_REPLY = 3
"""OpenAI Cookbook, "How to count tokens with tiktoken", for gpt-3.5-turbo-0125 and later."""

HARMONY = "o200k_harmony"
CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"
_HF_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


class TiktokenCounter:
    """
    Counts with a tiktoken encoding; spellings of special tokens in a text count as plain text.

    A lone surrogate counts as the replacement character that its UTF-8 form decodes to.
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


class HuggingFaceCounter:
    """
    Counts with a `tokenizer.json`, its own truncation, padding and added tokens switched off.

    Prompts are rendered whole with the chat template of `tokenizer_config.json`, where it has one.
    """

    def __init__(self, name: str, folder: Path) -> None:
        content = (folder / "tokenizer.json").read_bytes()
        self._name = name
        self._sha256 = hashlib.sha256(content).hexdigest()
        self._tokenizer = Tokenizer.from_str(content.decode("utf-8"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        config = folder / "tokenizer_config.json"
        self._config: dict[str, Any] = (
            json.loads(config.read_text(encoding="utf-8")) if config.exists() else {}
        )

    @property
    def name(self) -> str:
        """
        Return ``hf:<name>``.
        """
        return self._name

    @property
    def sha256(self) -> str:
        """
        Return the hash of `tokenizer.json`.
        """
        return self._sha256

    def count(self, text: str) -> int:
        """
        Return the number of tokens of a text of its own.
        """
        plain = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return len(self._tokenizer.encode(plain, add_special_tokens=False).ids)

    def count_messages(self, messages: Sequence[ChatMessage]) -> int:
        """
        Return the number of tokens of a prompt rendered with the model's own chat template.

        Raises:
            InvalidRequest: The tokenizer has no template, or it refuses the messages.
        """
        field = "budget.prompt_window.messages"
        template = self._config.get("chat_template")
        if not isinstance(template, str):
            raise InvalidRequest(
                field,
                f"{self._name} has no chat template; count the frame and send frame_tokens",
            )
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        try:
            prompt = environment.from_string(template).render(
                messages=[_as_dict(message) for message in messages],
                add_generation_prompt=True,
                bos_token=_token(self._config.get("bos_token")),
                eos_token=_token(self._config.get("eos_token")),
            )
        except (TemplateError, TypeError, ValueError) as error:
            raise InvalidRequest(field, f"the chat template refuses them: {error}") from error
        return self.count(prompt)


class TokenizerFolder:
    """
    The tokenizers whose files are in a folder; all are loaded at once, and never again.

    Rank files have the names of tiktoken's own cache; found by an encoding's or a model's name;
    `<folder>/<name>/tokenizer.json` is ``hf:<name>``.
    """

    def __init__(self, folder: Path) -> None:
        """
        Load everything.

        Raises:
            TokenizerUnknown: A rank file is not the one that tiktoken expects.
        """
        self._counters: dict[str, TokenCounter] = {}
        for name, ranks in RANKS.items():
            path = folder / ranks.file_name
            if path.exists():
                self._add_encoding(name, path)
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
        resolved = name if name in self._counters else MODEL_TO_ENCODING.get(name, "")
        try:
            return self._counters[resolved]
        except KeyError:
            raise TokenizerUnknown(name, self.names()) from None

    def names(self) -> tuple[str, ...]:
        """
        Return every encoding and ``hf:`` name that is there, sorted.
        """
        return tuple(sorted(self._counters))

    def _add_encoding(self, name: str, path: Path) -> None:
        if hashlib.sha256(path.read_bytes()).hexdigest() != RANKS[name].sha256:
            raise TokenizerUnknown(name)
        names = (name, HARMONY) if name == "o200k_base" else (name,)
        with _cache_folder(path.parent):
            for one in names:
                encoding = tiktoken.get_encoding(one)
                self._counters[one] = TiktokenCounter(one, RANKS[name].sha256, encoding)


@contextmanager
def _cache_folder(folder: Path) -> Iterator[None]:
    """
    Let tiktoken read rank files from a folder; it knows no argument for that.
    """
    before = os.environ.get(CACHE_VARIABLE)
    os.environ[CACHE_VARIABLE] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[CACHE_VARIABLE]
        else:
            os.environ[CACHE_VARIABLE] = before


def _as_dict(message: ChatMessage) -> dict[str, str]:
    named = {} if message.name is None else {"name": message.name}
    return {"role": message.role, "content": message.content, **named}


def _token(value: object) -> str:
    if isinstance(value, dict):
        return str(value.get("content", ""))
    return value if isinstance(value, str) else ""
