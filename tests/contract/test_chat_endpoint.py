"""
The endpoint of models that write, against a real HTTP server that answers well and badly.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.chat import Asked, ChatEndpoint, ChatUnavailable, KeptAnswersAlone
from adapters.kept_answers import KeptAnswers
from cli.chat import forget_answers
from server.settings import Settings
from tests.chat_server import Said, chat_server, saying

ASKED = Asked("kind/1/hash/0-5", "a.md", "Be short.", "What is half \ud800 of a pair?")


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., ChatEndpoint]:
    waits: list[float] = []

    def made(url: str, **more) -> ChatEndpoint:
        endpoint = ChatEndpoint(
            url, KeptAnswers(tmp_path / "deep" / "answers.sqlite"), sleep=waits.append, **more
        )
        endpoint.waits = waits  # type: ignore[attr-defined]
        return endpoint

    return made


def test_answers_come_in_order_and_are_asked_for_once(make) -> None:
    many = [Asked(f"kind/1/hash/{n}-{n + 1}", "b.md", "Echo.", f"number {n}") for n in range(20)]
    with chat_server(lambda body: saying(body["messages"][1]["content"].upper())) as server:
        endpoint = make(f"{server.url}/v1/", api_key="secret")

        first = endpoint.answers("small", many)
        endpoint.close()
        again = make(server.url).answers("small", many)

        assert first == again == [f"NUMBER {n}" for n in range(20)]
        assert sorted(server.prompts) == sorted(one.prompt for one in many)
        assert set(server.keys) == {"Bearer secret"}
        assert {(one["model"], one["temperature"]) for one in server.asked} == {("small", 0)}
        make(server.url).answers("other", many[:1])
        assert len(server.asked) == 21


def test_a_lone_surrogate_is_sent_as_the_replacement_character(make) -> None:
    with chat_server(lambda _: saying("ok")) as server:
        assert make(server.url).answers("m", [ASKED]) == ["ok"]
        assert server.prompts == ["What is half \ufffd of a pair?"]


def test_what_may_help_is_tried_again_after_as_long_as_is_asked(make) -> None:
    left = [
        Said(b"slow down", 429, {"retry-after": "7"}),
        Said(b"busy", 503, {"retry-after": "soon"}),
        Said(b"slow down", 429, {"retry-after": "100000"}),
        saying("at last"),
    ]
    with chat_server(lambda _: left.pop(0)) as server:
        endpoint = make(server.url)

        assert endpoint.answers("m", [ASKED]) == ["at last"]
        assert endpoint.waits == [7.0, 2.0, 60.0]


@pytest.mark.parametrize(
    ("said", "problem", "attempts"),
    [
        (Said(b"too many", 429), "answers 429: too many", 4),
        (Said(b"no", 401), "answers 401: no", 1),
        (Said(b"{", 200), "answers in another form", 1),
        (Said(b"[]", 200), "answers in another form", 1),
        (Said(b'{"choices": []}', 200), "answers in another form", 1),
        (saying(None), "answers with something that is no text", 1),
        (Said(b"", is_late=True), "cannot be reached: ReadTimeout", 4),
    ],
)
def test_no_answer_is_an_error_or_is_left_out(
    make, said: Said, problem: str, attempts: int
) -> None:
    seconds = 0.2 if said.is_late else 60.0
    with chat_server(lambda _: said) as server:
        with pytest.raises(ChatUnavailable, match=problem) as refused:
            make(server.url, timeout_seconds=seconds).answers("m", [ASKED])
        assert f"{server.url}/v1/chat/completions" in str(refused.value)
        assert len(server.asked) == attempts
        lenient = make(server.url, timeout_seconds=seconds, leaves_out=True)
        assert lenient.answers("m", [ASKED]) == [None]


def test_the_first_failure_ends_what_waits_and_what_was_answered_is_kept(make) -> None:
    many = [Asked(f"kind/1/hash/{n}", "b.md", "Echo.", f"number {n}") for n in range(100)]
    replies = {"number 0": saying("zero")}
    with chat_server(
        lambda body: replies.get(body["messages"][1]["content"], Said(b"no", 400))
    ) as server:
        with pytest.raises(ChatUnavailable):
            make(server.url, at_once=1).answers("m", many)

        assert len(server.asked) < 100
        assert make(server.url).answers("m", many[:1]) == ["zero"]
        assert server.prompts.count("number 0") == 1


def test_an_endpoint_that_is_not_there_is_named(make) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(ChatUnavailable, match=f"{url}.* cannot be reached: ConnectError"):
        make(url).answers("m", [ASKED])


def test_looking_ahead_knows_what_was_answered_and_asks_nothing(make, tmp_path: Path) -> None:
    with chat_server(lambda _: saying("ok")) as server:
        make(server.url).answers("m", [ASKED])
        kept = KeptAnswers(tmp_path / "deep" / "answers.sqlite")

        found = KeptAnswersAlone(kept).answers("m", [ASKED, Asked("kind/1/hash/9", "a.md", "", "")])
        kept.close()

        assert found == ["ok", None]
        assert len(server.asked) == 1


def test_answers_about_a_source_are_forgotten_and_others_stay(make, tmp_path: Path) -> None:
    other = Asked("kind/1/hash/7", "half \ud800.md", "", "What?")
    with chat_server(lambda _: saying("half \ud800 of a pair")) as server:
        make(server.url).answers("m", [ASKED, other])
        settings = Settings(chat_answers_file=tmp_path / "deep" / "answers.sqlite")

        forget_answers(settings, "a.md")
        forget_answers(Settings(chat_answers_file=tmp_path / "none"), "a.md")
        again = make(server.url).answers("m", [ASKED, other])

        assert again == ["half \ud800 of a pair", "half \ufffd of a pair"]
        assert len(server.asked) == 3
        assert not (tmp_path / "none").exists()
