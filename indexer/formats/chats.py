"""
JSON lines of chats to turns.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from indexer.formats.converted import Converted, NotConverted, counted

SPEAKERS = ("role", "speaker", "author", "from", "sender", "name", "user")
WORDS = ("content", "text", "message", "value", "body")
TURNS = ("messages", "conversations", "conversation", "turns", "dialog", "dialogue")
TIMES = ("timestamp", "time", "date", "created_at")
TITLES = ("title", "id", "conversation_id")
SYSTEM = "system"
"""Where a conversation keeps what was said before its turns."""

REFUSAL = "refusal"
CALLS = ("tool_calls", "function_call")
CALL_TYPES = ("tool_use", "tool_call", "function_call")
ARGUMENTS = ("arguments", "args", "input")
REASONING = "pieces of reasoning"
NO_TEXT = {
    **dict.fromkeys(("image", "images", "image_url", "input_image"), "images"),
    **dict.fromkeys(("audio", "input_audio"), "audio recordings"),
    **dict.fromkeys(("video", "videos", "video_url", "input_video"), "videos"),
    **dict.fromkeys(
        ("attachment", "attachments", "file", "files", "input_file", "document"), "attachments"
    ),
    **dict.fromkeys(("reasoning", "reasoning_content", "thinking", "redacted_thinking"), REASONING),
}
"""What is left out, by the type of a part or the name of a field."""

ALL_KEYS = (*WORDS, REFUSAL, *CALLS, *NO_TEXT)


def chats_to_markdown(text: str) -> Converted:
    """
    Return the turns of chats: a line is a turn, or a conversation with its turns. Refusals and
    calls of tools are text; images, files and the like, and turns with nothing else, are left out.

    Raises:
        NotConverted: A line is not JSON, or no turn; names it.
    """
    parts: list[str] = []
    left_out: Counter[str] = Counter()
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            told = _conversation(row, left_out) if isinstance(row, dict) else None
        except (ValueError, RecursionError) as error:
            raise NotConverted(f"line {number} is not JSON: {error}") from error
        if told is None:
            raise NotConverted(
                f"line {number} is no turn of a chat: it needs one of {', '.join(SPEAKERS)}, and "
                f"one of {', '.join(WORDS)}; or {TURNS[0]}"
            )
        parts += [told] if told else []
    count = counted(left_out)
    return Converted(
        "\n\n".join(parts) + "\n" if parts else "",
        left_out=(f"has {count} left out",) if count else (),
    )


def _conversation(row: Mapping[str, Any], left_out: Counter[str]) -> str | None:
    for key in TURNS:
        if isinstance(row.get(key), list):
            turns = [_turn(one, left_out) if isinstance(one, dict) else None for one in row[key]]
            told = [one for one in turns if one is not None]
            if len(told) < len(turns):
                return None
            if before := _said(row.get(SYSTEM), left_out):
                told.insert(0, f"**{SYSTEM}:** {before}")
            title = next((str(row[name]) for name in TITLES if row.get(name)), "Conversation")
            shown = [one for one in told if one]
            return "\n\n".join([f"# {' '.join(title.split())}", *shown]) if shown else ""
    return _turn(row, left_out)


def _turn(row: Mapping[str, Any], left_out: Counter[str]) -> str | None:
    """
    Return a turn, "" for one without text, None for what is none.
    """
    speaker = next((row[key] for key in SPEAKERS if isinstance(row.get(key), str)), None)
    if not isinstance(speaker, str) or not any(key in row for key in ALL_KEYS):
        return None
    said = _said(row, left_out)
    if not said:
        left_out["turns without text"] += 1
        return ""
    time = next((f"[{row[key]}] " for key in TIMES if isinstance(row.get(key), str)), "")
    return f"{time}**{' '.join(speaker.split())}:** {said}"


def _said(words: object, left_out: Counter[str]) -> str:
    """
    Return a text, also of one that comes in parts, and count what of it is none.
    """
    if isinstance(words, str):
        return words.replace("\r\n", "\n").replace("\r", "\n").strip()
    if isinstance(words, list):
        return "\n".join(said for one in words if (said := _said(one, left_out)))
    if isinstance(words, dict):
        return _part(words, left_out)
    return "" if words is None else str(words)


def _part(part: Mapping[str, Any], left_out: Counter[str]) -> str:
    named = part.get("type")
    kind = named if isinstance(named, str) else ""
    if kind in CALL_TYPES and (call := _call(part)):
        return call
    filled = next((key for key in WORDS if part.get(key) not in (None, "", [])), None)
    said = [] if filled is None else [_said(part[filled], left_out)]
    refusal = part.get(REFUSAL)
    said += [_said(refusal, left_out)] if isinstance(refusal, str) else []
    for one in [one for key in CALLS for one in _listed(part.get(key))]:
        call = _call(one)
        said += [call]
        left_out["tool calls without a name"] += not call
    without = {NO_TEXT[kind]: 1} if kind in NO_TEXT else _without(part)
    if REASONING in without and kind in NO_TEXT and filled is not None:
        without = {}
    left_out.update(without)
    if part and not without and not any(key in part for key in ALL_KEYS):
        left_out["parts of other types"] += 1
    return "\n".join(one for one in said if one)


def _without(part: Mapping[str, Any]) -> dict[str, int]:
    """
    Return how many things that are no text the fields of a turn hold.
    """
    found: Counter[str] = Counter()
    for key, kind in NO_TEXT.items():
        found[kind] += len(_listed(part.get(key)))
    return {kind: count for kind, count in found.items() if count}


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


def _call(call: object) -> str:
    """
    Return the call of a tool as text; "" for what names no tool.
    """
    inner = call.get("function", call) if isinstance(call, dict) else None
    name = inner.get("name") if isinstance(inner, dict) else None
    if not isinstance(inner, dict) or not isinstance(name, str) or not name.strip():
        return ""
    found = next((inner[key] for key in ARGUMENTS if inner.get(key) is not None), "")
    arguments = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    return f"calls {' '.join(name.split())}({arguments.strip()})"
