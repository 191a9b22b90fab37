"""
What a converter returns, and how it refuses.
"""

from __future__ import annotations

import importlib
import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType

from assembler.model import MetadataValue

MOST_UNPACKED = 500_000_000
"""Bytes that a zipped document may unpack to."""

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How older Office files begin, and newer ones that a password protects."""


class NotConverted(Exception):
    """
    A file that cannot become text; the message says why and what to do.
    """


@dataclass(frozen=True, slots=True)
class Converted:
    """
    The text of a file.

    Attributes:
        metadata: What the file says that no text holds, for example where its pages begin.
        left_out: A sentence, without its subject, for each kind of thing that is in the file and
            not in the text, or not as it was meant.
    """

    text: str
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()


def library(name: str) -> ModuleType:
    """
    Return an optional library.

    Raises:
        NotConverted: It is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise NotConverted(
            f"needs {name}, which is not installed; install 'context-assembler[formats]'"
        ) from error


def zipped(content: bytes) -> zipfile.ZipFile:
    """
    Return a zipped document, its size checked.

    Raises:
        NotConverted: It is none, is protected, or unpacks to too much.
    """
    if content.startswith(OLE):
        raise NotConverted(
            "is protected by a password or of an older format; save it without, in today's format"
        )
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise NotConverted("is damaged: no zip archive") from error
    size = sum(one.file_size for one in archive.infolist())
    if size > MOST_UNPACKED:
        raise NotConverted(f"unpacks to {size} bytes; at most {MOST_UNPACKED} are read")
    if any(one.flag_bits & 1 for one in archive.infolist()):
        raise NotConverted("is protected by a password; save it without")
    return archive


def damaged(kind: str, error: Exception) -> NotConverted:
    """
    Return the refusal of a file that a library stumbled over.
    """
    return NotConverted(f"is damaged or no {kind} file: {error or type(error).__name__}")


def counted(counts: Mapping[str, int]) -> str:
    """
    Return how many there are of each kind, as the middle of a sentence; "" for none.
    """
    return ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)


def table(rows: list[list[str]]) -> str:
    """
    Return rows of plain text as a Markdown table whose first row is the header; "" for no rows.
    """
    return table_of([[_plain(cell) for cell in row] for row in rows])


def table_of(rows: list[list[str]]) -> str:
    """
    Return rows of Markdown without line ends as a table; "" for no rows.
    """
    if not rows:
        return ""
    width = max(map(len, rows))
    lines = [f"| {' | '.join([*row, *[''] * (width - len(row))])} |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]]) + "\n"


def _plain(cell: str) -> str:
    return " ".join(cell.split()).replace("\\", "\\\\").replace("|", "\\|")
