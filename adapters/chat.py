"""
An OpenAI-compatible `/v1/chat/completions` endpoint that indexing asks; answers are kept.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx

from adapters.kept_answers import KeptAnswers

OK = 200
WORTH_RETRYING = frozenset([408, 409, 425, 429, 500, 502, 503, 504, 529])
ATTEMPTS = 4
FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 60.0
SHOWN_CHARS = 200


class ChatUnavailable(Exception):
    """
    The endpoint cannot be reached, refuses, or answers in another form; what it had answered is
    kept, so that the next run goes on from there.
    """


@dataclass(frozen=True, slots=True)
class Asked:
    """
    One question to a chat model.

    Attributes:
        key: Names what is asked: the kind and version of the prompt, the document's hash, the
            span. An answer is kept by model and key.
        source_id: What it is about: its answers go when the source is purged.
        system: Says what to do.
        prompt: Says with what.
    """

    key: str
    source_id: str
    system: str
    prompt: str


class ChatEndpoint:
    """
    Asks at temperature 0, several questions at a time, each again where that may help.
    """

    def __init__(
        self,
        base_url: str,
        answers: KeptAnswers,
        *,
        api_key: str | None = None,
        timeout_seconds: float = 60.0,
        at_once: int = 4,
        leaves_out: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """
        Name the endpoint.

        Args:
            base_url: What `/v1/chat/completions` is appended to; a `/v1` at its end is left out.
            answers: Where answers are kept.
            api_key: Sent as a bearer token; never kept.
            timeout_seconds: Longest time of one attempt.
            at_once: Questions on their way at the same time.
            leaves_out: A question that gets no answer has None, in place of ending the run.
            sleep: Waits so many seconds.
        """
        self._url = f"{base_url.rstrip('/').removesuffix('/v1')}/v1/chat/completions"
        self._answers = answers
        self._at_once = at_once
        self._leaves_out = leaves_out
        self._sleep = sleep
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx.Client(headers=headers, timeout=timeout_seconds)

    def answers(self, model: str, asked: Sequence[Asked]) -> list[str | None]:
        """
        Return one answer per question, in order; None for one that is left out.

        Raises:
            ChatUnavailable: A question gets no answer, and nothing is left out.
        """
        threads = ThreadPoolExecutor(self._at_once)
        try:
            return list(threads.map(lambda one: self._answer(model, one), asked))
        finally:
            threads.shutdown(cancel_futures=True)  # the first failure ends what waits

    def close(self) -> None:
        """
        Close the connections.
        """
        self._client.close()

    def _answer(self, model: str, asked: Asked) -> str | None:
        key = answer_key(model, asked)
        known = self._answers.get(key)
        if known is not None:
            return known
        messages = [
            {"role": "system", "content": _sendable(asked.system)},
            {"role": "user", "content": _sendable(asked.prompt)},
        ]
        try:
            said = self._said({"model": model, "messages": messages, "temperature": 0})
        except ChatUnavailable:
            if self._leaves_out:
                return None
            raise
        self._answers.keep(key, asked.source_id, said)
        return said

    def _said(self, body: dict[str, object]) -> str:
        problem = ""
        for attempt in range(ATTEMPTS):
            wait = FIRST_WAIT_SECONDS * 2.0**attempt
            try:
                answer = self._client.post(self._url, json=body)
            except httpx.TransportError as error:
                problem = f"cannot be reached: {type(error).__name__}"
            else:
                if answer.status_code == OK:
                    return _text_of(answer)
                problem = f"answers {answer.status_code}: {answer.text[:SHOWN_CHARS]}"
                if answer.status_code not in WORTH_RETRYING:
                    break
                wait = _asked_wait(answer, wait)
            if attempt + 1 < ATTEMPTS:
                self._sleep(wait)
        raise ChatUnavailable(f"{self._url} {problem}")


class KeptAnswersAlone:
    """
    Answers what was answered before and asks nothing, for looking ahead.
    """

    def __init__(self, answers: KeptAnswers) -> None:
        """
        Name the file.
        """
        self._answers = answers

    def answers(self, model: str, asked: Sequence[Asked]) -> list[str | None]:
        """
        Return one answer per question, in order; None where there is none yet.
        """
        return [self._answers.get(answer_key(model, one)) for one in asked]


def answer_key(model: str, asked: Asked) -> str:
    """
    Return what an answer is kept under.
    """
    return hashlib.sha256(json.dumps([model, asked.key]).encode()).hexdigest()


def _asked_wait(answer: httpx.Response, wait: float) -> float:
    """
    Return the seconds that the endpoint asks to wait for, within bounds.
    """
    try:
        return min(max(float(answer.headers["retry-after"]), 0.0), LONGEST_WAIT_SECONDS)
    except (KeyError, ValueError):
        return wait


def _text_of(answer: httpx.Response) -> str:
    try:
        text = answer.json()["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError) as error:
        raise ChatUnavailable(f"{answer.url} answers in another form") from error
    if not isinstance(text, str):
        raise ChatUnavailable(f"{answer.url} answers with something that is no text")
    return text


def _sendable(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
