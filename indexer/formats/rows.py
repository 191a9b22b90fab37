"""
CSV to a Markdown table, JSON lines of chats to turns.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from typing import Any

from indexer.formats.converted import Converted, NotConverted, table
from indexer.formats.csv_rows import (
    MOST_OPEN_QUOTES,
    delimiter_of,
    has_text,
    named_delimiter,
    rows_of,
)

SPEAKERS = ("role", "speaker", "author", "from", "sender", "name", "user")
WORDS = ("content", "text", "message", "value", "body")
TURNS = ("messages", "conversations", "conversation", "turns", "dialog", "dialogue")
TIMES = ("timestamp", "time", "date", "created_at")
TITLES = ("title", "id", "conversation_id")


def csv_to_markdown(text: str) -> Converted:
    """
    Return the rows as one table; the delimiter is named by a line `sep=;`, which is no row, or
    found by looking.

    Raises:
        NotConverted: A field has no end.
    """
    lines = text.split("\n")
    opened: list[int] = []
    delimiter = named_delimiter(lines[0])
    if delimiter is not None:
        lines[0] = ""
    try:
        found = rows_of(lines, delimiter or delimiter_of(lines), opened)
        rows = [row for row in found if has_text(row)]
    except csv.Error as error:
        raise NotConverted(f"is no CSV: {error}") from error
    if not opened:
        return Converted(table(rows))
    more = "and those after them " if len(opened) == MOST_OPEN_QUOTES else ""
    told = (
        f"has {len(opened)} lines with a quote that is never closed, the first of them line "
        f"{opened[0]}; their quotes {more}are read as letters"
    )
    return Converted(table(rows), left_out=(told,))


def chats_to_markdown(text: str) -> Converted:
    """
    Return the turns of chats: a line is a turn, or a conversation with its turns.

    Raises:
        NotConverted: A line is not JSON, or no turn; names it.
    """
    parts: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise NotConverted(f"line {number} is not JSON: {error}") from error
        told = _conversation(row) if isinstance(row, dict) else None
        if told is None:
            raise NotConverted(
                f"line {number} is no turn of a chat: it needs one of {', '.join(SPEAKERS)}, and "
                f"one of {', '.join(WORDS)}; or {TURNS[0]}"
            )
        parts.append(told)
    return Converted("\n\n".join(parts) + "\n" if parts else "")


def _conversation(row: Mapping[str, Any]) -> str | None:
    for key in TURNS:
        if isinstance(row.get(key), list):
            turns = [_turn(one) if isinstance(one, dict) else None for one in row[key]]
            told = [one for one in turns if one is not None]
            if len(told) < len(turns):
                return None
            title = next((str(row[name]) for name in TITLES if row.get(name)), "Conversation")
            return "\n\n".join([f"# {' '.join(title.split())}", *told])
    return _turn(row)


def _turn(row: Mapping[str, Any]) -> str | None:
    speaker = next((row[key] for key in SPEAKERS if isinstance(row.get(key), str)), None)
    said = next((key for key in WORDS if key in row), None)
    if isinstance(speaker, str) and said is not None:
        time = next((f"[{row[key]}] " for key in TIMES if isinstance(row.get(key), str)), "")
        return f"{time}**{' '.join(speaker.split())}:** {_said(row[said]).strip()}"
    return None


def _said(words: object) -> str:
    """
    Return a text, also of one that comes in parts.
    """
    if isinstance(words, str):
        return words.replace("\r\n", "\n").replace("\r", "\n")
    if isinstance(words, list):
        return "\n".join(_said(one) for one in words)
    if isinstance(words, dict):
        return _said(next((words[key] for key in WORDS if key in words), ""))
    return "" if words is None else str(words)
