r"""
Bytes to source text: decoded, line ends made `\n`, a byte order mark removed, nothing else.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, replace
from pathlib import Path

from indexer.formats.converted import OLE, Converted, NotConverted
from indexer.formats.registry import BINARY, SUFFIXES, TEXT

MOST_BYTES = 50_000_000
UNSEEN = "\x00\u200b\ufeff"
"""A text of these and of white space alone is empty."""

MEDIA_TYPES = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".txt": "text/plain",
    ".text": "text/plain",
    ".html": "text/html",
    ".htm": "text/html",
    ".rst": "text/x-rst",
    **SUFFIXES,
}
CODE_SUFFIXES = frozenset(
    [
        ".py",
        ".pyi",
        ".rs",
        ".js",
        ".mjs",
        ".ts",
        ".tsx",
        ".jsx",
        ".go",
        ".java",
        ".kt",
        ".c",
        ".h",
        ".cc",
        ".cpp",
        ".hpp",
        ".cs",
        ".rb",
        ".php",
        ".swift",
        ".scala",
        ".sh",
        ".sql",
        ".css",
        ".lua",
        ".pl",
        ".r",
        ".toml",
        ".yaml",
        ".yml",
        ".json",
        ".ini",
        ".cfg",
        ".proto",
    ]
)
CODE = "text/x-code"
BEGINNINGS = {b"%PDF-": "a PDF", b"PK\x03\x04": "a zip or Office file", OLE: "an older Office file"}
"""What files begin with that are no text, whatever their suffix says."""

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(eq=True)
class Unreadable(Exception):
    """
    A file that cannot become a source, and why.
    """

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def media_type_of(path: Path) -> str | None:
    """
    Return the media type by suffix; None where the suffix is not one of text.
    """
    suffix = path.suffix.lower()
    if suffix in MEDIA_TYPES:
        return MEDIA_TYPES[suffix]
    return CODE if suffix in CODE_SUFFIXES else None


def read_source(path: Path, media_type: str, most_bytes: int = MOST_BYTES) -> Converted:
    """
    Return the source text of a file: offsets count in exactly this.

    HTML, Office files, books, tables and chats become a converter's Markdown, PDF the text of its
    pages. A NUL among text is kept; a file that is not UTF-8 (or UTF-16 with a byte order mark),
    that is damaged, protected, empty, or of another format than its suffix says, is refused.

    Raises:
        Unreadable: Says why.
    """
    name = str(path)
    try:
        size = path.stat().st_size
        if size > most_bytes:
            raise Unreadable(
                name,
                f"has {size} bytes; at most {most_bytes} are read, split it or raise the limit",
            )
        content = path.read_bytes()
    except OSError as error:
        raise Unreadable(name, error.strerror or type(error).__name__) from error
    try:
        found = _converted(content, media_type, name)
    except NotConverted as error:
        raise Unreadable(name, str(error)) from error
    if all(letter.isspace() or letter in UNSEEN for letter in found.text):
        raise Unreadable(name, "; it ".join(["is empty", *found.left_out]))
    return found


def _converted(content: bytes, media_type: str, name: str) -> Converted:
    from_bytes = BINARY.get(media_type)
    if from_bytes is not None:
        if not content:
            raise Unreadable(name, "is empty")
        return from_bytes(content)
    text = decoded(content, name).replace("\r\n", "\n").replace("\r", "\n")
    from_text = TEXT.get(media_type)
    return Converted(text) if from_text is None else _encodable(from_text(text))


def _encodable(found: Converted) -> Converted:
    """
    Return it with halves of surrogate pairs, which escapes can spell, as U+FFFD.
    """
    return replace(found, text=_SURROGATE.sub("\ufffd", found.text))


def decoded(content: bytes, name: str) -> str:
    """
    Return the text of a file that is UTF-8, or UTF-16 with a byte order mark, without that mark.

    Raises:
        Unreadable: It is another encoding, or no text.
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    else:
        encoding = "utf-8-sig"
        for beginning, kind in BEGINNINGS.items():
            if content.startswith(beginning):
                raise Unreadable(name, f"is {kind} by its content; name it so")
        _refuse_binary(content.count(0), len(content), name)
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise Unreadable(
            name, f"is not {encoding.removesuffix('-sig')} at byte {error.start}; convert it first"
        ) from error
    _refuse_binary(text.count("\x00"), len(text), name)  # UTF-32 looks like UTF-16 with NULs
    return text


def _refuse_binary(nuls: int, length: int, name: str) -> None:
    if nuls > max(length // 100, 1):
        raise Unreadable(name, "is binary; only text is indexed")
