"""
`context-assembler keys`: make API keys, and entries for the file of callers.
"""

from __future__ import annotations

import json as json_format
import os
import secrets
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from assembler.errors import InvalidRequest
from server.callers import EVERY_TENANT, CallerEntry, CallersFile, key_sha256, parse_callers
from server.callers import parse_file as parse_callers_file

KEY_BYTES = 32
KEY_PREFIX = "ctxa_"
LEAST_KEY_CHARS = 32

app = typer.Typer(help="API keys and the file of callers.", no_args_is_help=True)

Name = Annotated[str, typer.Option(help="Who calls; for the service's log.")]
Tenants = Annotated[
    list[str] | None,
    typer.Option(
        "--tenant",
        help="A tenant that the caller may read; repeatable. '' is the empty one, "
        f"'{EVERY_TENANT}' all, those to come included.",
    ),
]
MaySetPrincipals = Annotated[
    bool,
    typer.Option("--may-set-principals", help="It may say on whose behalf it asks."),
]
CallersPath = Annotated[
    Path | None,
    typer.Option("--file", help="File of callers that the entry is added to. Default: printed."),
]


@app.callback()
def group() -> None:
    """
    API keys and the file of callers.
    """


@app.command("new")
def new(
    name: Name,
    tenant: Tenants = None,
    may_set_principals: MaySetPrincipals = False,  # noqa: FBT002 - a flag of the command line
    file: CallersPath = None,
) -> None:
    """
    Make a key: its first line is the key, which is shown this once and kept nowhere.
    """
    key = KEY_PREFIX + secrets.token_urlsafe(KEY_BYTES)
    entry = _entry(name, key, tenant, may_set_principals=may_set_principals)
    if file is not None:
        _add(entry, file)  # a key that could not be stored is never shown
    typer.echo(key)
    if file is None:
        _show(entry)


@app.command("hash")
def hash_key(
    name: Name,
    tenant: Tenants = None,
    may_set_principals: MaySetPrincipals = False,  # noqa: FBT002 - a flag of the command line
    file: CallersPath = None,
) -> None:
    """
    Make the entry of a key that there is already, read from standard input.
    """
    key = sys.stdin.read().strip()
    if len(key) < LEAST_KEY_CHARS or not key.isascii() or any(mark.isspace() for mark in key):
        raise InvalidRequest(
            "key",
            f"needs at least {LEAST_KEY_CHARS} ASCII characters without spaces: a hash hides only "
            "what cannot be guessed; make one with `context-assembler keys new`",
        )
    entry = _entry(name, key, tenant, may_set_principals=may_set_principals)
    if file is None:
        _show(entry)
    else:
        _add(entry, file)


def _entry(
    name: str, key: str, tenants: list[str] | None, *, may_set_principals: bool
) -> CallerEntry:
    if not tenants:
        raise InvalidRequest("tenant", "is missing; name what the key may read, '' or '*' included")
    try:
        return CallerEntry(
            name=name,
            key_sha256=key_sha256(key),
            tenants=tenants,
            may_set_principals=may_set_principals,
        )
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise InvalidRequest(str(first["loc"][0]), first["msg"]) from None


def _show(entry: CallerEntry) -> None:
    typer.echo(json_format.dumps(_plain(entry), indent=2, ensure_ascii=False))


def _add(entry: CallerEntry, path: Path) -> None:
    found = (
        parse_callers_file(path, path.read_bytes()) if path.exists() else CallersFile(callers=[])
    )
    whole = {"callers": [_plain(one) for one in (*found.callers, entry)]}
    content = (json_format.dumps(whole, indent=2, ensure_ascii=False) + "\n").encode()
    parse_callers(path, content)
    _replace(path, content)


def _plain(entry: CallerEntry) -> dict[str, Any]:
    return entry.model_dump(exclude_none=True)


def _replace(path: Path, content: bytes) -> None:
    """
    Write a file that is never seen half written, for its owner alone.
    """
    if not path.parent.is_dir():
        raise InvalidRequest("file", f"{path.parent} is no folder; make it, or name another file")
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        problem = f"{path.parent} takes no file ({error.strerror}); name a file in another folder"
        raise InvalidRequest("file", problem) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
