"""
CSV to a Markdown table, JSON lines of chats to turns.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

from indexer.formats.converted import Converted, NotConverted, table

SPEAKERS = ("role", "speaker", "author", "from", "sender", "name", "user")
WORDS = ("content", "text", "message", "value", "body")
TURNS = ("messages", "conversations", "conversation", "turns", "dialog", "dialogue")
TIMES = ("timestamp", "time", "date", "created_at")
TITLES = ("title", "id", "conversation_id")
DELIMITERS = ",;\t|"
SAMPLE_CHARS = 8192
MOST_FIELD_CHARS = 10_000_000


def csv_to_markdown(text: str) -> Converted:
    """
    Return the rows as one table; the delimiter is found by looking.

    Raises:
        NotConverted: A quote is never closed, or a field has no end.
    """
    sample = text[:SAMPLE_CHARS]
    try:
        dialect: Any = csv.Sniffer().sniff(sample, DELIMITERS)
    except csv.Error:
        dialect = csv.excel
    csv.field_size_limit(MOST_FIELD_CHARS)
    try:
        rows = [row for row in csv.reader(io.StringIO(text), dialect) if any(map(str.strip, row))]
    except csv.Error as error:
        raise NotConverted(f"is no CSV: {error}") from error
    return Converted(table(rows))


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
