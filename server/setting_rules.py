"""
Rules that hold for every setting of a kind: paths, keys, addresses; and how faults are told.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args
from urllib.parse import SplitResult, urlsplit

from pydantic import SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_core import InitErrorDetails, PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

PREFIX = "CONTEXT_ASSEMBLER_"
"""What the environment variables of all settings begin with."""


class SettingUnusable(RuntimeError):
    """
    The service cannot start with a setting's value; names the setting and the remedy.
    """

    def __init__(self, setting: str, problem: str) -> None:
        super().__init__(f"{PREFIX}{setting.upper()}: {problem}")


@contextmanager
def naming(setting: str, *faults: type[Exception]) -> Iterator[None]:
    """
    Raise faults of what a setting names with the setting's name.

    Raises:
        SettingUnusable: One of the faults was raised.
    """
    try:
        yield
    except faults as error:
        raise SettingUnusable(setting, str(error)) from error


class CheckedSettings(BaseSettings):
    """
    Settings whose paths are not empty and whose keys can be sent.
    """

    model_config = SettingsConfigDict(
        frozen=True, use_attribute_docstrings=True, hide_input_in_errors=True
    )

    @field_validator("*", mode="before")
    @classmethod
    def _path_is_not_empty(cls, given: Any, info: ValidationInfo) -> Any:
        name = info.field_name or ""
        annotation = cls.model_fields[name].annotation
        is_path = annotation is Path or Path in get_args(annotation)
        if is_path and isinstance(given, str) and not given.strip():
            kind = "folder" if name.endswith(("_dir", "_dirs")) else "file"
            msg = f"is empty; leave it out, or name a {kind}"
            raise ValueError(msg)
        return given

    @field_validator("*")
    @classmethod
    def _key_can_be_sent(cls, value: Any) -> Any:
        if isinstance(value, SecretStr):
            _require_sendable(value.get_secret_value())
        return value


def _require_sendable(key: str) -> None:
    if key.endswith(("\n", "\r")):
        msg = (
            "ends with a line end, as a Secret made from a file or by `echo` does; "
            "store the key without it (`printf %s` or `echo -n`)"
        )
        raise ValueError(msg)
    if not (key.isascii() and key.isprintable()):
        msg = "has characters that no key has; keys are printable ASCII"
        raise ValueError(msg)
    if key != key.strip():
        msg = "begins or ends with a space; store the key without it"
        raise ValueError(msg)


def wrong(setting: str, problem: str) -> ValidationError:
    """
    Return what a validator of several settings raises, under the name of one of them.
    """
    fault = PydanticCustomError("setting", "{problem}", {"problem": problem})
    details = InitErrorDetails(type=fault, loc=(setting,), input=None)
    return ValidationError.from_exception_data("Settings", [details], hide_input=True)


def setting_problems(error: ValidationError) -> list[tuple[str, str]]:
    """
    Return the variable of each wrong setting, and what is wrong with it.
    """
    found: dict[str, list[str]] = {}
    for problem in error.errors(include_url=False, include_input=False):
        name = f"{PREFIX}{problem['loc'][0]}".upper()
        found.setdefault(name, []).append(problem["msg"].removeprefix("Value error, "))
    return [(name, "; ".join(messages)) for name, messages in found.items()]


def own_port(port: object) -> object:
    """
    Return a port as it was given.

    Raises:
        ValueError: It is the address of a Service, which Kubernetes put where a setting is.
    """
    if isinstance(port, str) and "://" in port:
        msg = (
            f"is {port}, as Kubernetes sets it for a Service of this name; say "
            "`enableServiceLinks: false` in the pod"
        )
        raise ValueError(msg)
    return port


def require_url(url: str | None, form: str) -> str | None:
    """
    Return the URL, where it has a scheme, a host, and a port that there is.

    Raises:
        ValueError: It has not; the message says which form it has to have.
    """
    if url is not None:
        _parts(url, form)
    return url


def require_address(url: str | None, form: str) -> str | None:
    """
    Return the URL, where it says nothing but scheme, host and port.

    Raises:
        ValueError: It says more, or less; the message says which form it has to have.
    """
    if url is None:
        return None
    parts = _parts(url, form)
    if "@" in parts.netloc:
        msg = f"names a user, which is not sent: give the key in qdrant_api_key; must read {form}"
        raise ValueError(msg)
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        msg = f"has a path or more after the port, which gRPC does not know; must read {form}"
        raise ValueError(msg)
    return url


def _parts(url: str, form: str) -> SplitResult:
    msg = f"must read {form}"
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number or over 65535, brackets that do not close
        raise ValueError(msg) from None
    if not is_whole or url != "".join(url.split()):
        raise ValueError(msg)
    return parts
