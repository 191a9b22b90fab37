"""
Files of questions and documents as JSON lines: their rows, fields and texts, each named by place.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any


class QuestionSetInvalid(Exception):
    """
    A file of a question set is not what it has to be; names file, line and field.
    """

    def __init__(self, place: str, field: str, problem: str) -> None:
        super().__init__(f"{place}: {field} {problem}" if field else f"{place}: {problem}")
        self.place = place
        self.field = field


def rows_of(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """
    Return the objects of a file of JSON lines, each with its place.

    Raises:
        QuestionSetInvalid: The file cannot be read, or a line is not a JSON object.
    """
    for number, line in enumerate(read_lines(path), start=1):
        if line.strip():
            place = f"{path}:{number}"
            yield place, object_of(place, line)


def object_of(place: str, line: str) -> dict[str, Any]:
    """
    Return the JSON object of a line.

    Raises:
        QuestionSetInvalid: It is none.
    """
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise QuestionSetInvalid(place, "", f"is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise QuestionSetInvalid(place, "", "is not a JSON object")
    return row


def text_of(
    place: str, row: Mapping[str, Any], field: str, *, is_needed: bool = False, inside: str = ""
) -> str:
    """
    Return the text of a field; "" where it may be missing and is.

    Args:
        place: File and line.
        row: The object that has the field.
        field: Its name.
        is_needed: Whether it must be there and not be empty.
        inside: Where the object stands in the line, with a point behind.

    Raises:
        QuestionSetInvalid: It is no text, or is needed and empty.
    """
    value = row.get(field)
    if value is None and not is_needed:
        return ""
    if not isinstance(value, str) or (is_needed and not value):
        raise QuestionSetInvalid(
            place, f"{inside}{field}", f"must be a text that is not empty, got {value!r}"
        )
    return value


def read_lines(path: Path) -> Sequence[str]:
    """
    Return the lines of a file.

    Raises:
        QuestionSetInvalid: It cannot be read.
    """
    return read_text(path).removeprefix("\ufeff").split("\n")


def read_text(path: Path) -> str:
    """
    Return the text of a file.

    Raises:
        QuestionSetInvalid: It cannot be read, or is not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise QuestionSetInvalid(str(path), "", f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 at byte {error.start}; save it as UTF-8"
        raise QuestionSetInvalid(str(path), "", problem) from error
