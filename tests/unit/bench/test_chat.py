"""
Answers by an endpoint on loopback: what is asked, tried again and kept.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.answers.chat import ATTEMPTS, Chat, EndpointFailed, Replies
from tests.unit.bench.chat_endpoint import Endpoint

USER = [{"role": "user", "content": "hello"}]


def test_a_prompt_is_asked_once_at_temperature_0_and_the_key_is_not_kept(
    endpoint: Endpoint, chat: Chat, tmp_path: Path
) -> None:
    first, second = chat.ask("m", USER), chat.ask("m", USER)
    chat.ask("other", USER)
    path = tmp_path / "kept" / "replies.jsonl"
    with path.open("a") as file:
        file.write('{"key": "cut')
    later = Chat(endpoint.url, api_key=None, replies=Replies(path))
    third = later.ask("m", USER)
    later.close()

    assert (first.text, first.prompt_tokens, first.is_cached) == ("yes", 10, False)
    assert (len(endpoint.asked), second.text) == (2, "yes")
    assert second.is_cached
    assert third == second
    assert len(endpoint.asked) == 2
    body, headers = endpoint.asked[0]
    assert body == {"model": "m", "messages": USER, "temperature": 0}
    assert headers["path"] == "/v1/chat/completions"
    assert headers["authorization"] == "Bearer secret"
    assert "secret" not in path.read_text()


def test_what_may_pass_is_tried_again_after_longer_and_longer(
    endpoint: Endpoint, chat: Chat, waits: list[float]
) -> None:
    statuses = iter([429, 503, 200])
    endpoint.say = lambda _: (next(statuses), "yes")

    assert chat.ask("m", USER).text == "yes"
    assert waits == [1.0, 2.0]


@pytest.mark.parametrize(
    ("said", "part", "calls"),
    [
        ((500, {"error": "busy"}), "answers 500", ATTEMPTS),
        ((401, {"error": "who?"}), "answers 401", 1),
        ((200, {"choices": []}), "another form", 1),
        ((200, []), "another form", 1),
        ((200, {"choices": [{"message": {"content": 7}}]}), "no text", 1),
    ],
)
def test_an_endpoint_that_fails_is_named(
    endpoint: Endpoint, chat: Chat, said: tuple[int, Any], part: str, calls: int
) -> None:
    endpoint.say = lambda _: said

    with pytest.raises(EndpointFailed, match=part):
        chat.ask("m", USER)
    assert len(endpoint.asked) == calls


def test_nobody_there_is_said(waits: list[float]) -> None:
    with pytest.raises(EndpointFailed, match="cannot be reached"):
        Chat("http://127.0.0.1:1", api_key=None, replies=Replies(None), sleep=waits.append).ask(
            "m", USER
        )
    assert len(waits) == ATTEMPTS - 1
