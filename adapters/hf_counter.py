"""
A token counter over a Hugging Face `tokenizer.json`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from jinja2 import Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer

from assembler.errors import ContextAssemblerError, InvalidRequest
from assembler.ports import ChatMessage

MESSAGES = "budget.prompt_window.messages"


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
            config = _config(folder / "tokenizer_config.json")
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
                f"{self._name} has no chat template; count the frame yourself and send "
                "frame_tokens",
            )
        try:
            prompt = self._template.render(
                **self._variables,
                messages=[_as_dict(message) for message in messages],
                add_generation_prompt=True,
            )
        except (TemplateError, TypeError, ValueError) as error:
            raise InvalidRequest(
                MESSAGES, f"the chat template of {self._name} refuses them: {error}"
            ) from error
        return _count(self._whole, prompt)


def _tokenizer(content: bytes, *, is_plain: bool) -> Tokenizer:
    tokenizer = Tokenizer.from_str(content.decode("utf-8"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = is_plain
    return tokenizer


def _count(tokenizer: Tokenizer, text: str) -> int:
    valid = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return len(tokenizer.encode(valid, add_special_tokens=False).ids)


def _config(path: Path) -> Mapping[str, Any]:
    if not path.exists():
        return {}
    config: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return config


def _template(config: Mapping[str, Any]) -> Template | None:
    source = config.get("chat_template")
    if isinstance(source, list):
        named = {one["name"]: one["template"] for one in source}
        source = named.get("default")
    if source is None:
        return None
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.globals["raise_exception"] = _refuse
    environment.filters["tojson"] = _to_json
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


def _as_dict(message: ChatMessage) -> dict[str, str]:
    named = {} if message.name is None else {"name": message.name}
    return {"role": message.role, "content": message.content, **named}
