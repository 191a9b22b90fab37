"""
Verdicts by an endpoint on loopback: what the judge sees, and what counts as a verdict.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench.answers.chat import Chat
from bench.answers.judge import AGAIN, DECLINED, judged, verdict_of
from tests.unit.bench.chat_endpoint import Endpoint


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ('{"supported": true}', True),
        (' {"supported": false}\n', False),
        ('```json\n{"supported": true}\n```', None),
        ('{"supported": "true"}', None),
        ('{"supported": 1}', None),
        ('{"supported": true, "why": ""}', None),
        ("[true]", None),
        ("true", None),
        ("[" * 100_000, None),
        ("", None),
    ],
)
def test_a_verdict_is_the_object_that_was_asked_for(text: str, verdict: bool | None) -> None:
    assert verdict_of(text) is verdict


def judge(chat: Chat) -> Any:
    return judged(
        chat,
        answer_model="a",
        judge_model="j",
        context="[1] Dogs travel for free.",
        question="Dogs?",
        evidence=["Dogs travel"],
    )


def test_the_judge_sees_evidence_and_answer_but_not_the_context(
    endpoint: Endpoint, chat: Chat
) -> None:
    endpoint.say = lambda body: (200, "Free." if body["model"] == "a" else '{"supported": true}')

    verdict = judge(chat)

    assert verdict.is_supported is True
    (to_answer, _), (to_judge, _) = endpoint.asked
    assert "<context>\n[1] Dogs travel for free." in to_answer["messages"][1]["content"]
    data = json.loads(to_judge["messages"][1]["content"])
    assert data == {"question": "Dogs?", "evidence": ["Dogs travel"], "answer": "Free."}
    assert "[1]" not in json.dumps(to_judge)


def test_a_judge_without_form_is_asked_again_once(endpoint: Endpoint, chat: Chat) -> None:
    def say(body: dict[str, Any]) -> tuple[int, str]:
        is_again = body["messages"][-1]["content"] == AGAIN
        return 200, '{"supported": false}' if is_again else "Well, yes."

    endpoint.say = say
    second = judge(chat)
    endpoint.say = lambda _: (200, "Well.")
    never = judged(
        chat, answer_model="a", judge_model="k", context="", question="?", evidence=["x"]
    )

    assert (second.is_supported, len(second.judged)) == (False, 2)
    assert (never.is_supported, never.is_declined, len(never.judged)) == (None, False, 2)


def test_who_declines_is_not_judged(endpoint: Endpoint, chat: Chat) -> None:
    endpoint.say = lambda _: (200, DECLINED)

    verdict = judge(chat)

    assert (verdict.is_supported, verdict.is_declined, verdict.judged) == (False, True, ())
    assert len(endpoint.asked) == 1
