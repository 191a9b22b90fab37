"""
Chats become turns, and what of them is no text is told.
"""

from __future__ import annotations

import json

import pytest

from indexer.formats.chats import chats_to_markdown
from indexer.formats.converted import Converted, NotConverted


def chat(*rows: object) -> Converted:
    return chats_to_markdown("\n".join(json.dumps(one) for one in rows))


CALL = {"id": "c1", "function": {"name": "refund", "arguments": '{"amount": 40}'}}
IMAGE = {"type": "image_url", "image_url": {"url": "data:"}}


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        ({"content": None, "tool_calls": [CALL]}, 'calls refund({"amount": 40})'),
        ({"tool_calls": [CALL, CALL]}, "\n".join(['calls refund({"amount": 40})'] * 2)),
        ({"content": "Done.", "tool_calls": [CALL]}, 'Done.\ncalls refund({"amount": 40})'),
        ({"function_call": {"name": "f", "arguments": {"x": "é"}}}, 'calls f({"x": "é"})'),
        ({"content": [{"type": "tool_use", "name": "f", "input": {}}]}, "calls f({})"),
        ({"tool_calls": [{"name": "f"}]}, "calls f()"),
        ({"content": None, "refusal": "I refuse"}, "I refuse"),
        ({"content": [{"type": "refusal", "refusal": "I refuse"}]}, "I refuse"),
        ({"content": [{"type": "tool_result", "content": "40"}]}, "40"),
        ({"content": [{"type": "reasoning", "text": "So"}]}, "So"),
        ({"content": "", "text": "Here"}, "Here"),
        ({"content": "A\r\nB", "attachments": [], "refusal": None}, "A\nB"),
        ({"content": 0}, "0"),
        ({"message": {"content": "x", "tool_calls": [CALL]}}, 'x\ncalls refund({"amount": 40})'),
    ],
)
def test_refusals_and_calls_of_tools_are_text(turn: dict[str, object], said: str) -> None:
    found = chat({"role": "assistant", **turn})
    assert (found.text, found.left_out) == (f"**assistant:** {said}\n", ())


@pytest.mark.parametrize(
    ("turn", "told"),
    [
        ({"content": ["A", IMAGE, IMAGE]}, "2 images"),
        ({"content": ["A", {"type": "image", "source": {}}]}, "1 images"),
        ({"content": ["A", {"type": "input_audio", "input_audio": {"data": "x"}}]}, "1 audio rec"),
        ({"content": "A", "attachments": ["f", "g"], "images": "h"}, "1 images, 2 attachments"),
        ({"content": "A", "reasoning_content": "Hm"}, "1 pieces of reasoning"),
        ({"content": ["A", {"type": "thinking", "thinking": "Hm"}]}, "1 pieces of reasoning"),
        ({"content": ["A", {"type": "location", "at": 5}, {}]}, "1 parts of other types"),
        ({"content": "A", "tool_calls": ["f", {"function": 5}]}, "2 tool calls without a name"),
        ({"content": ["A", {"type": ["text"], "thinking": "Hm"}]}, "1 pieces of reasoning"),
    ],
)
def test_what_is_no_text_is_left_out_and_counted(turn: dict[str, object], told: str) -> None:
    found = chat({"role": "user", **turn})
    assert found.text == "**user:** A\n"
    (sentence,) = found.left_out
    assert sentence.startswith(f"has {told}")
    assert sentence.endswith(" left out")


def test_a_turn_with_nothing_left_has_no_line() -> None:
    found = chat(
        {"role": "user", "content": "", "attachments": ["file"]},
        {"role": "user", "content": [IMAGE]},
        {"messages": [{"role": "user", "content": None}]},
        {"role": "user", "content": "ok"},
    )
    assert found.text == "**user:** ok\n"
    assert found.left_out == ("has 1 attachments, 3 turns without text, 1 images left out",)


def test_a_conversation_begins_with_what_the_system_was_told() -> None:
    found = chat({"system": "Be short.", "messages": [{"role": "user", "content": "Hi"}]})
    assert found.text == "# Conversation\n\n**system:** Be short.\n\n**user:** Hi\n"


def test_a_turn_that_is_nested_too_deep_is_refused_by_its_line() -> None:
    deep = "[" * 900 + '"x"' + "]" * 900
    with pytest.raises(NotConverted, match="line 2 is not JSON"):
        chats_to_markdown(f'\n{{"role": "user", "content": {deep}}}')
