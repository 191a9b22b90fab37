"""
How an existing Qdrant collection is read as an index: where its payloads have what is needed.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from adapters.index_names import is_index_name
from assembler.ports import ModelIdentity
from assembler.scope import IndexVersion

PayloadPath = Annotated[str, Field(pattern=r"^[^\"\s.]+(\.[^\"\s.]+)*$")]
"""Keys from the outside in, with points between them. A text that holds JSON is looked into."""


@dataclass(frozen=True, slots=True)
class PayloadMapping:
    """
    Where the payloads of a collection have what is read of them; None where they have it nowhere.

    Attributes:
        text: The chunk's text.
        source: Which source it is of.
        version: The label of the source's version.
        content: Anything that differs between two texts of a source.
        start: The code point of the source's text at which the chunk begins.
        end: The one after its last; without it, the chunk's text says it.
        ordinal: The chunk's number in its source; used where there is no start.
        section: What the chunks of one section have in common.
        tenant: Whose it is.
        json_keys: First keys whose value is a text that holds JSON: what is in there cannot be
            filtered by.
    """

    text: PayloadPath
    source: PayloadPath
    version: PayloadPath | None = None
    content: PayloadPath | None = None
    start: PayloadPath | None = None
    end: PayloadPath | None = None
    ordinal: PayloadPath | None = None
    section: PayloadPath | None = None
    tenant: PayloadPath | None = None
    json_keys: tuple[PayloadPath, ...] = ()

    def __post_init__(self) -> None:
        for name in ("source", "section", "tenant", "ordinal"):
            path = getattr(self, name)
            if path is not None and not self.is_filterable(path):
                msg = f"{name} is read by a filter, and {path!r} lies in a text that holds JSON"
                raise ValueError(msg)
        if self.end is not None and self.start is None:
            msg = "end has no use without start"
            raise ValueError(msg)
        if self.ordinal is not None and self.start is not None:
            msg = "ordinal has no use beside start: chunks are ordered by where they begin"
            raise ValueError(msg)
        if self.section is not None and self.start is None and self.ordinal is None:
            msg = "section has no use without start or ordinal: nothing orders its chunks"
            raise ValueError(msg)

    def is_filterable(self, path: str) -> bool:
        """
        Return whether the server can filter by a path.
        """
        return path.partition(".")[0] not in self.json_keys

    @property
    def paths(self) -> dict[str, str]:
        """
        Return the paths that are mapped, by what they are of.
        """
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        del found["json_keys"]
        return {name: path for name, path in found.items() if path is not None}

    @property
    def returned(self) -> tuple[str, ...]:
        """
        Return the payload keys that reads ask for.
        """
        wanted = (
            path if self.is_filterable(path) else path.partition(".")[0]
            for path in self.paths.values()
        )
        return tuple(dict.fromkeys(wanted))


PRESETS: Mapping[str, PayloadMapping] = MappingProxyType(
    {
        "langchain": PayloadMapping(
            text="page_content", source="metadata.source", start="metadata.start_index"
        ),
        "llamaindex": PayloadMapping(
            text="_node_content.text",
            source="doc_id",
            content="_node_content.relationships.1.hash",
            start="_node_content.start_char_idx",
            end="_node_content.end_char_idx",
            json_keys=("_node_content",),
        ),
    }
)
"""What the vector stores of these libraries write unless they are told otherwise."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """
    An existing collection under the name of an index. Nothing is ever written to it.

    Attributes:
        collection: Its name on the server.
        mapping: Where its payloads have what is needed.
        model: The embedding model of its vectors.
        model_sha256: Hash of its weights, as services know their models; None where queries have to
            bring vectors.
        dimension: Of its vectors.
        vector: The name of its vectors; "" for those without one.
        profile: What requests use that name none.
    """

    collection: Annotated[str, Field(min_length=1)]
    mapping: PayloadMapping
    model: Annotated[str, Field(min_length=1)]
    dimension: Annotated[int, Field(ge=1)]
    model_sha256: str | None = None
    vector: str = ""
    profile: str = "default"

    @property
    def identity(self) -> ModelIdentity:
        """
        Return the model; one that no service runs has a hash that no weights have.
        """
        sha256 = self.model_sha256 or f"attached:{self.model}"
        return ModelIdentity(self.model, sha256, self.dimension)

    @property
    def version(self) -> IndexVersion:
        """
        Return the one index version: another mapping is another.
        """
        shape = json.dumps(asdict(self), sort_keys=True)
        return IndexVersion("a" + hashlib.sha256(shape.encode()).hexdigest()[:10], 1)


class AttachedInvalid(Exception):
    """
    A file of attached collections is not what it has to be; names file, table and key, and the
    remedy.
    """

    def __init__(self, path: Path, name: str, problem: str) -> None:
        where = f"{name}: " if name else ""
        super().__init__(f"{path}: {where}{problem}")


_ATTACHMENT = TypeAdapter(Attachment)


def read_attached(path: Path | None) -> dict[str, Attachment]:
    """
    Return the attached collections of a file, by the name of their index.

    Raises:
        AttachedInvalid: The file cannot be read, or a table is not an attached collection.
    """
    if path is None:
        return {}
    try:
        tables = tomllib.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise AttachedInvalid(path, "", f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise AttachedInvalid(path, "", f"is not TOML: {error}") from error
    return {name: _attachment(path, name, table) for name, table in tables.items()}


def add_attached(path: Path, name: str, attachment: Attachment) -> None:
    """
    Add an attached collection to a file, or put it in the place of the one of this name.

    Raises:
        AttachedInvalid: The file is wrong.
    """
    known = read_attached(path) if path.exists() else {}
    tables = [as_table(one, it) for one, it in sorted({**known, name: attachment}.items())]
    path.parent.mkdir(parents=True, exist_ok=True)
    written = path.with_name(f"{path.name}.new")
    written.write_text("\n".join(tables), encoding="utf-8")
    written.replace(path)


def as_table(name: str, attachment: Attachment) -> str:
    """
    Return an attached collection as TOML tables.
    """
    own = {one.name: getattr(attachment, one.name) for one in fields(attachment)}
    mapping = own.pop("mapping")
    lines = [f"[{name}]", *_lines(own), f"[{name}.mapping]", *_lines(mapping.paths)]
    if mapping.json_keys:
        lines += _lines({"json_keys": list(mapping.json_keys)})
    return "\n".join(lines) + "\n"


def mapping_of(preset: str | None, **paths: str | None) -> PayloadMapping:
    """
    Return a mapping: a preset's, with the given paths in its place.

    Raises:
        ValueError: There is no such preset, a path is malformed, or a needed one is missing.
    """
    given = {name: path for name, path in paths.items() if path is not None}
    if preset is not None:
        if preset not in PRESETS:
            msg = f"there is no preset {preset!r}; there are: {', '.join(PRESETS)}"
            raise ValueError(msg)
        return replace(PRESETS[preset], **given)  # type: ignore[arg-type]
    return PayloadMapping(**given)  # type: ignore[arg-type]


def _lines(values: Mapping[str, object]) -> list[str]:
    # TOML's basic strings, numbers and arrays are written as JSON's.
    return [f"{key} = {json.dumps(value)}" for key, value in values.items() if value is not None]


def _attachment(path: Path, name: str, table: Any) -> Attachment:
    if not is_index_name(name):
        raise AttachedInvalid(path, name, "is no name of an index; use [a-z0-9-]{1,40}")
    if not isinstance(table, Mapping):
        raise AttachedInvalid(path, name, f"is not a table; write [{name}] on a line of its own")
    known = {"mapping": {one.name for one in fields(PayloadMapping)}}
    known[""] = {one.name for one in fields(Attachment)}
    for where, part in (("", table), ("mapping", table.get("mapping", {}))):
        for key in part if isinstance(part, Mapping) else ():
            if key not in known[where]:
                have = ", ".join(sorted(known[where]))
                raise AttachedInvalid(path, name, f"{key!r} is not a key; there are: {have}")
    try:
        return _ATTACHMENT.validate_python(dict(table))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise AttachedInvalid(path, name, f"{field or 'the table'}: {first['msg']}") from error
