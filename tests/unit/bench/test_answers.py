"""
Answers and verdicts by an endpoint on loopback: what is asked, tried again, kept and counted.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bench.answers.__main__ import app
from bench.answers.chat import ATTEMPTS, Chat, EndpointFailed, Replies
from bench.answers.judge import AGAIN, DECLINED, judged, verdict_of

PAGES = {
    "trains": "# Trains\n\nTickets are refunded until the day before.\n\nDogs travel for free.\n",
    "bread": "# Bread\n\nLet the dough rest for nine hours in a cool cellar.\n",
    "tea": "# Tea\n\nGreen tea is brewed at seventy degrees for two minutes.\n",
}
ASKED = {
    "trains": ("What do dogs pay?", "Dogs travel for free."),
    "bread": ("How long does dough rest?", "nine hours"),
}


class Endpoint:
    """
    A chat endpoint that is told what to reply.

    Attributes:
        say: From the body to a status and either a text or a whole answer.
        asked: The bodies and headers that came.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[dict[str, Any], Mapping[str, str]]] = []
        self.say: Callable[[dict[str, Any]], tuple[int, Any]] = lambda _: (200, "yes")
        self._lock = threading.Lock()
        place = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with place._lock:
                    place.asked.append((body, {**self.headers, "path": self.path}))
                    status, said = place.say(body)
                if isinstance(said, str):
                    usage = {"prompt_tokens": 10, "completion_tokens": 2}
                    said = {"choices": [{"message": {"content": said}}], "usage": usage}
                sent = json.dumps(said).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *values: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def chat(endpoint: Endpoint, waits: list[float], tmp_path: Path) -> Iterator[Chat]:
    made = Chat(
        f"{endpoint.url}/v1/",
        api_key="secret",
        replies=Replies(tmp_path / "kept" / "replies.jsonl"),
        sleep=waits.append,
    )
    yield made
    made.close()


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


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """
    Return a folder with one set of three pages and two questions.
    """
    place = tmp_path / "sets" / "tiny"
    (place / "docs").mkdir(parents=True)
    docs, questions = [], []
    for name, text in PAGES.items():
        (place / "docs" / f"{name}.txt").write_text(text, encoding="utf-8")
        docs.append({"doc_id": name, "lang": "en", "format": "markdown"})
    for name, (question, part) in ASKED.items():
        start = PAGES[name].index(part)
        found = {"doc_id": name, "start": start, "end": start + len(part), "text": part}
        questions.append({"id": name, "question": question, "evidence": [found]})
    for file, rows in (("docs.jsonl", docs), ("questions.dev.jsonl", questions)):
        (place / file).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return tmp_path / "sets"


def test_a_run_from_contexts_to_figures(
    endpoint: Endpoint,
    data: Path,
    tmp_path: Path,
    model_folder: Path,
    tokenizer_folder: Path,
) -> None:
    def say(body: dict[str, Any]) -> tuple[int, str]:
        """
        Answer with the whole context; support what holds the evidence.
        """
        content = body["messages"][1]["content"]
        if body["model"] == "answers":
            return 200, content
        given = json.loads(content)
        is_there = all(one in given["answer"] for one in given["evidence"])
        return 200, json.dumps({"supported": is_there})

    endpoint.say = say
    out = tmp_path / "figures.json"
    words = ["--data", data, "--set", "tiny", "--endpoint", endpoint.url, "--work", tmp_path]
    words += ["--answer-model", "answers", "--judge-model", "judges", "--budgets", "5,200"]
    words += ["--json", out, "--api-key-env", "ENDPOINT_KEY", "--model", model_folder]
    given = {
        "CONTEXT_ASSEMBLER_TOKENIZER_DIR": str(tokenizer_folder),
        "ENDPOINT_KEY": "secret",
    }

    def run(**environment: str) -> Any:
        done = CliRunner().invoke(app, [str(one) for one in words], env={**given, **environment})
        if done.exception is not None:
            raise done.exception
        return done

    done = run()
    asked = len(endpoint.asked)
    again = run()

    found = json.loads(out.read_text())["budgets"]
    for system in ("ours, full", "ours, auto", "best same-ingredient line"):
        assert found["200"][system]["supported"] == [1.0, 1.0, 1.0]
        assert found["5"][system]["supported"][0] < 1.0
        assert found["200"][system]["no_verdict"] == 0
    assert found["200"]["ours, full"]["gain"] == [0.0, 0.0, 0.0]
    assert "answered by answers, judged by judges" in done.stdout
    assert "prompt tokens" in done.stdout
    assert len(endpoint.asked) == asked
    assert "answers: 0 asked, 0 prompt tokens" in again.stdout
    with pytest.raises(ValueError, match="ENDPOINT_KEY, which is not set"):
        run(ENDPOINT_KEY="")
