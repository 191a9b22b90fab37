"""
An OpenAI-compatible `/v1/chat/completions` endpoint, asked once per prompt: replies are kept.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

import httpx

from adapters.chat import OK, WORTH_RETRYING

ATTEMPTS = 5
FIRST_WAIT_SECONDS = 1.0
TIMEOUT_SECONDS = 120.0
SHOWN_CHARS = 200

Messages: TypeAlias = "Sequence[Mapping[str, str]]"


class EndpointFailed(Exception):
    """
    The endpoint cannot be reached, refuses, or answers in another form.
    """


@dataclass(frozen=True, slots=True)
class Reply:
    """
    What a model said, and what it cost by the endpoint's own account.

    Attributes:
        prompt_tokens: 0 where the endpoint does not say.
        is_cached: Whether it was asked in an earlier run or call.
    """

    text: str
    prompt_tokens: int
    completion_tokens: int
    is_cached: bool = False


class Replies:
    """
    Replies by the hash of what was asked, kept in a file of JSON lines; the last line may be cut.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._known: dict[str, Reply] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                self._take(line)

    def get(self, key: str) -> Reply | None:
        """
        Return the reply to what has this hash.
        """
        with self._lock:
            return self._known.get(key)

    def keep(self, key: str, reply: Reply) -> None:
        """
        Remember a reply, in the file too.
        """
        line = json.dumps({"key": key, **asdict(reply), "is_cached": True})
        with self._lock:
            self._take(line)
            if self._path is not None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(f"{line}\n")

    def _take(self, line: str) -> None:
        try:
            row = json.loads(line)
            key = row.pop("key")
            self._known[key] = Reply(**row)
        except (ValueError, KeyError, TypeError, AttributeError):
            return  # a run was ended while it wrote: the prompt is asked again


class Chat:
    """
    Asks at temperature 0, again after a while where that may help; several threads may ask.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None,
        replies: Replies,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """
        Name the endpoint.

        Args:
            url: What `/v1/chat/completions` is appended to; a `/v1` at its end is left out.
            api_key: Sent as a bearer token; never kept.
            replies: Where replies are kept.
            sleep: Waits so many seconds.
        """
        self._url = f"{url.rstrip('/').removesuffix('/v1')}/v1/chat/completions"
        self._replies = replies
        self._sleep = sleep
        self._guard = threading.Lock()
        self._turns: dict[str, threading.Lock] = {}
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx.Client(headers=headers, timeout=TIMEOUT_SECONDS)

    def ask(self, model: str, messages: Messages) -> Reply:
        """
        Return what a model says.

        Raises:
            EndpointFailed: It does not, after `ATTEMPTS` attempts where they may help.
        """
        body = {"model": model, "messages": list(messages), "temperature": 0}
        asked = json.dumps([self._url, body], sort_keys=True)
        key = hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()
        with self._guard:
            turn = self._turns.setdefault(key, threading.Lock())
        with turn:  # contexts are often equal, and are asked at the same time
            known = self._replies.get(key)
            if known is None:
                known = _reply(self._posted(body))
                self._replies.keep(key, known)
            return known

    def close(self) -> None:
        """
        Close the connections.
        """
        self._client.close()

    def _posted(self, body: Mapping[str, Any]) -> httpx.Response:
        problem = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                self._sleep(FIRST_WAIT_SECONDS * 2.0 ** (attempt - 1))
            try:
                answer = self._client.post(self._url, json=body)
            except httpx.TransportError as error:
                problem = f"cannot be reached: {type(error).__name__}"
                continue
            except httpx.InvalidURL as error:
                raise EndpointFailed(f"{self._url} is no address: {error}") from error
            if answer.status_code == OK:
                return answer
            problem = f"answers {answer.status_code}: {answer.text[:SHOWN_CHARS]}"
            if answer.status_code not in WORTH_RETRYING:
                break
        raise EndpointFailed(f"{self._url} {problem}")


def _reply(answer: httpx.Response) -> Reply:
    try:
        body = answer.json()
        text = body["choices"][0]["message"]["content"] or ""
        usage = body.get("usage") or {}
        prompt, completion = (
            int(usage.get(f"{name}_tokens") or 0) for name in ("prompt", "completion")
        )
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise EndpointFailed(f"{answer.url} answers in another form") from error
    if not isinstance(text, str):
        raise EndpointFailed(f"{answer.url} answers with something that is no text")
    return Reply(text, prompt, completion)
