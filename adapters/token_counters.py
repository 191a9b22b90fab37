"""
Token counters over local tokenizer files: tiktoken's rank files and Hugging Face tokenizers.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

import tiktoken
from jinja2 import Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tiktoken.model import encoding_name_for_model
from tokenizers import Tokenizer

from adapters.ordinary_count import count_ordinary
from adapters.tokenizer_files import RANKS, rank_path
from assembler.errors import ContextAssemblerError, InvalidRequest, TokenizerUnknown
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

MESSAGES = "budget.prompt_window.messages"

_HF_NAME = re.compile(r"[a-z0-9._-]+")


class TiktokenCounter:
    """
    Counts with a tiktoken encoding; spellings of special tokens in a text count as plain text, a
    pair of surrogates as the code point that it stands for, one that is alone as U+FFFD.
    """

    def __init__(self, name: str, sha256: str, encoding: tiktoken.Encoding) -> None:
        self._name, self._sha256, self._encoding = name, sha256, encoding

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
        return count_ordinary(self._encoding, text)

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

    Spellings of special tokens in a text count as plain text. A prompt is rendered whole with the
    chat template of `tokenizer_config.json`, where it has one, and its special tokens count as
    such. Surrogates count as the code point that a pair of them stands for, and as U+FFFD where
    one is alone.
    """

    def __init__(self, name: str, folder: Path) -> None:
        """
        Load the files.

        Raises:
            ContextAssemblerError: A file is damaged.
        """
        self._name = name
        try:
            content = (folder / "tokenizer.json").read_bytes()
            self._sha256 = hashlib.sha256(content).hexdigest()
            path = folder / "tokenizer_config.json"
            config = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
            self._variables = _special_tokens(config)
            self._template = _template(config)
            self._plain = _tokenizer(content, is_plain=True)
            self._whole = _tokenizer(content, is_plain=False) if self._template else None
        except Exception as error:  # tokenizers raises bare exceptions
            raise ContextAssemblerError(f"tokenizer {name!r} cannot be loaded: {error}") from error

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
        return _count(self._plain, text)

    def count_messages(self, messages: Sequence[ChatMessage]) -> int:
        """
        Return the number of tokens of a prompt rendered with the model's own chat template.

        Raises:
            InvalidRequest: The tokenizer has no template, or it refuses the messages.
        """
        if self._template is None or self._whole is None:
            raise InvalidRequest(
                MESSAGES,
                f"{self._name} has no chat template: render them as your model does, count that as "
                "a text, and send what surrounds a context as frame_tokens",
            )
        rows = [
            {key: text for key, text in asdict(one).items() if text is not None} for one in messages
        ]
        try:
            prompt = self._template.render(
                **self._variables, messages=rows, add_generation_prompt=True
            )
        except (TemplateError, TypeError, ValueError) as error:
            raise InvalidRequest(
                MESSAGES, f"the chat template of {self._name} refuses them: {error}"
            ) from error
        return _count(self._whole, prompt)


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
        there = sorted(name for name in RANKS if rank_path(folder, name).exists())
        ranks = {name: _ranks(rank_path(folder, name), RANKS[name]) for name in there}
        constructors, made = _constructors(ranks), {}
        for name, file_name in ENCODINGS.items():
            if file_name in there:
                if file_name not in made:  # those of one file differ in special tokens alone
                    made[file_name] = tiktoken.Encoding(**constructors[name]())
                    made[file_name]._mergeable_ranks = {}  # noqa: SLF001 - 17 MB, of no use here
                self._counters[name] = TiktokenCounter(name, RANKS[file_name], made[file_name])


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
    spec: Any = importlib.util.find_spec("tiktoken_ext.openai_public")
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


def _tokenizer(content: bytes, *, is_plain: bool) -> Tokenizer:
    tokenizer = Tokenizer.from_str(content.decode("utf-8"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = is_plain
    return tokenizer


def _count(tokenizer: Tokenizer, text: str) -> int:
    valid = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return len(tokenizer.encode(valid, add_special_tokens=False).ids)


def _template(config: Mapping[str, Any]) -> Template | None:
    source = config.get("chat_template")
    if isinstance(source, list):
        source = {one["name"]: one["template"] for one in source}.get("default")
    if source is None:
        return None
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.globals["raise_exception"], environment.filters["tojson"] = _refuse, _to_json
    return environment.from_string(source)


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)


def _to_json(value: object, indent: int | None = None) -> str:
    """
    Return JSON as chat templates expect it: without the HTML escapes of Jinja's own filter.
    """
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _special_tokens(config: Mapping[str, Any]) -> dict[str, str]:
    """
    Return the ``bos_token`` and its like, which templates name.
    """
    tokens = {
        name: value.get("content") if isinstance(value, dict) else value
        for name, value in config.items()
        if name.endswith("_token")
    }
    return {name: value for name, value in tokens.items() if isinstance(value, str)}
