"""
What is to be indexed: files and folders, and what the sources file says of each.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any

from adapters.bm25 import is_language
from assembler.errors import InvalidRequest
from assembler.filters import FieldValue
from assembler.model import FieldType, MetadataValue
from indexer.read_source import Unreadable, media_type_of
from indexer.walk import files_of, shown

KEYS = frozenset(
    [
        "path",
        "source_id",
        "version",
        "active",
        "title",
        "uri",
        "media_type",
        "language",
        "readers",
        "metadata",
    ]
)
MOST_NAME_CHARS = 1024
NO_LANGUAGE = "is not a BCP 47 tag such as en or pt-BR, nor the English name of a known language"
PROSE = ("text/x-rst", "text/x-markdown")
INT64 = range(-(2**63), 2**63)

_SURROGATE = re.compile("[\ud800-\udfff]")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """
    A file with everything that is known of it before it is read.

    Attributes:
        version: The label; None takes the first 12 hex digits of the content's hash.
        is_active: Marked as the active version; None leaves it to the order.
        language: BCP 47; None is to be detected.
        names_readers: Whether `readers` is said; else those that are stored stay.
        left_out: What reading it left out, a sentence without its subject for each kind.
    """

    path: Path
    source_id: str
    media_type: str
    version: str | None = None
    is_active: bool | None = None
    title: str = ""
    uri: str = ""
    language: str | None = None
    readers: tuple[str, ...] | None = None
    names_readers: bool = False
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()


def find_sources(
    paths: Sequence[Path],
    *,
    sources_file: Path | None = None,
    version: str | None = None,
    language: str | None = None,
    hidden: list[str] | None = None,
) -> tuple[tuple[SourceFile, ...], tuple[Unreadable, ...]]:
    """
    Return the files of the paths, folders searched through, and what was passed over.

    Hidden files and files without a suffix of text are passed over in folders, and so are links to
    folders and out of them; a file that is named itself is always taken.

    Args:
        paths: Files and folders.
        sources_file: Says more of them, by paths below the folders or by absolute ones.
        version: The label of every file that has no other.
        language: Likewise.
        hidden: Gets the hidden files and folders that were passed over.

    Raises:
        InvalidRequest: The sources file or a path is wrong; names file, line and field.
    """
    told = _told(sources_file, paths) if sources_file else {}
    found: list[SourceFile] = []
    skipped: list[Unreadable] = []
    for root in paths:
        if not root.exists():
            raise InvalidRequest("paths", f"{root} does not exist")
        for path, name in files_of(root, skipped, hidden):
            if _SURROGATE.search(name):
                skipped.append(Unreadable(shown(path), "has a name that is not UTF-8"))
                continue
            kind = media_type_of(path)
            if kind is None and root.is_dir() and name not in told:
                skipped.append(Unreadable(str(path), "has no suffix of a text format"))
                continue
            facts = told.pop(name, {})
            if len(facts.get("source_id", name)) > MOST_NAME_CHARS:
                reason = f"has a path of over {MOST_NAME_CHARS} characters; name a source_id for it"
                skipped.append(Unreadable(str(path), reason))
                continue
            found.append(
                SourceFile(
                    path=path,
                    source_id=facts.get("source_id", name),
                    media_type=facts.get("media_type", kind or "text/plain"),
                    version=facts.get("version", version),
                    is_active=facts.get("active"),
                    title=facts.get("title", ""),
                    uri=facts.get("uri", ""),
                    language=facts.get("language", language),
                    readers=facts.get("readers"),
                    names_readers="readers" in facts,
                    metadata=facts.get("metadata", {}),
                )
            )
    if told:
        name, why = min(told), {one.path: f": it {one.reason}" for one in skipped}
        reason = next((why[one] for root in paths if (one := shown(root / name)) in why), "")
        raise InvalidRequest("sources", f"{sources_file}: no file {name!r} was found{reason}")
    return tuple(found), tuple(skipped)


def filterable(
    metadata: Mapping[str, MetadataValue], schema: Mapping[str, FieldType]
) -> dict[str, FieldValue]:
    """
    Return the declared fields of a source with the types that the schema declares.

    Raises:
        ValueError: A value has another type; names the field.
    """
    fields: dict[str, FieldValue] = {}
    for name, kind in schema.items():
        if (value := metadata.get(name)) is not None:
            fields[name] = _typed(name, value, kind)
    return fields


def _told(path: Path, roots: Sequence[Path]) -> dict[str, dict[str, Any]]:
    told: dict[str, dict[str, Any]] = {}
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise InvalidRequest("sources", f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 at byte {error.start}; save it as UTF-8"
        raise InvalidRequest("sources", f"{path}: {problem}") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        place = f"{path}:{number}"
        try:
            facts = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidRequest("sources", f"{place}: is not JSON: {error}") from error
        if not isinstance(facts, dict):
            raise InvalidRequest("sources", f"{place}: is not a JSON object")
        checked = _checked(facts, place)
        name = PurePosixPath(checked["path"]).as_posix()
        if PurePosixPath(name).is_absolute():
            name = _name_below(Path(name), roots, place)
        if name in told:
            raise InvalidRequest("sources", f"{place}: path {name!r} stands there twice")
        told[name] = checked
    return told


def _name_below(path: Path, roots: Sequence[Path], place: str) -> str:
    """
    Return the name of a file below the folder that holds it, as `files_of` gives it.
    """
    wanted = path.parent.resolve() / path.name  # a link to a file keeps its own name
    for root in roots:
        if not root.is_dir():
            if wanted == root.parent.resolve() / root.name:
                return root.name
            continue
        top = root.resolve()
        if wanted != top and wanted.is_relative_to(top):
            return wanted.relative_to(top).as_posix()
    raise InvalidRequest(
        "sources", f"{place}: path {str(path)!r} lies in none of the given folders"
    )


def _checked(facts: dict[str, Any], place: str) -> dict[str, Any]:
    for key, value in facts.items():
        if key not in KEYS:
            known = ", ".join(sorted(KEYS))
            raise InvalidRequest("sources", f"{place}: {key!r} is not one of {known}")
        if _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
            raise InvalidRequest("sources", f"{place}: {key} has half of a surrogate pair")
    if not isinstance(facts.get("path"), str) or not facts["path"]:
        raise InvalidRequest("sources", f"{place}: path is missing")
    _check_texts(facts, place)
    if not isinstance(facts.get("active", True), bool):
        raise InvalidRequest("sources", f"{place}: active must be true or false")
    if "readers" in facts:  # a line that says nothing of readers leaves them as they are stored
        facts["readers"] = _readers(facts["readers"], place)
    facts["metadata"] = _metadata(facts.get("metadata", {}), place)
    return facts


def _check_texts(facts: dict[str, Any], place: str) -> None:
    for key in ("source_id", "version", "title", "uri", "media_type", "language"):
        value = facts.get(key, "-")
        if not isinstance(value, str) or (not value and key in ("source_id", "version")):
            raise InvalidRequest("sources", f"{place}: {key} must be a text that is not empty")
        if len(value) > MOST_NAME_CHARS:
            raise InvalidRequest("sources", f"{place}: {key} is longer than {MOST_NAME_CHARS}")
    language = facts.get("language", "")
    if language and not is_language(language):
        raise InvalidRequest("sources", f"{place}: language {language!r} {NO_LANGUAGE}")


def _readers(value: Any, place: str) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
        raise InvalidRequest("sources", f"{place}: readers must be a list of names")
    return tuple(sorted(set(value)))


def _metadata(value: Any, place: str) -> dict[str, MetadataValue]:
    if not isinstance(value, dict):
        raise InvalidRequest("sources", f"{place}: metadata must be an object")
    return {key: _frozen(one, place, key) for key, one in value.items()}


def _frozen(value: Any, place: str, key: str) -> MetadataValue:
    if isinstance(value, list):
        return tuple(_frozen(one, place, key) for one in value)
    is_finite = math.isfinite(value) if isinstance(value, float) else True
    if not is_finite or (isinstance(value, int) and value not in INT64):
        raise InvalidRequest("sources", f"{place}: metadata {key!r} is a number beyond 64 bits")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise InvalidRequest("sources", f"{place}: metadata {key!r} must be a value or a list of them")


def _typed(name: str, value: MetadataValue, kind: FieldType) -> FieldValue:
    problem = f"metadata {name!r} is {value!r}, the schema says {kind.value}"
    if kind is FieldType.KEYWORD and isinstance(value, str):
        return value
    if kind is FieldType.KEYWORD_LIST:
        if isinstance(value, str):
            return (value,)
        if isinstance(value, tuple) and all(isinstance(one, str) for one in value):
            return tuple(str(one) for one in value)
    if kind is FieldType.BOOL and isinstance(value, bool):
        return value
    is_int = isinstance(value, int) and not isinstance(value, bool)
    if kind is FieldType.INT64 and is_int and isinstance(value, int) and value in INT64:
        return value
    if kind is FieldType.TIMESTAMP and isinstance(value, str):
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            raise ValueError(f"{problem} (RFC 3339 with a time zone)") from None
        if time.tzinfo is not None:
            return (time - EPOCH) // timedelta(microseconds=1)
    raise ValueError(problem)


def is_code(media_type: str) -> bool:
    """
    Return whether a text is cut by lines rather than by sentences.
    """
    return media_type.startswith("text/x-") and media_type not in PROSE
