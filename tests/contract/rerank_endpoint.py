"""
A rerank endpoint of the tests' own, and who asks it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx

from adapters.remote_reranker import Dialect, RemoteReranker
from tests.fakes import shared_words


class Endpoint:
    """
    A rerank endpoint of the test's own, which speaks both dialects and answers best first.
    """

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.bodies: list[dict[str, Any]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.requests.append(request)
        self.bodies.append(body)
        is_tei = "texts" in body
        texts, name = (body["texts"], "score") if is_tei else (body["documents"], "relevance_score")
        entries = [
            {"index": number, name: shared_words(body["query"], text)}
            for number, text in enumerate(texts)
        ]
        entries.sort(key=lambda entry: -entry[name])
        return httpx.Response(200, json=entries if is_tei else {"id": "1", "results": entries})


def remote(handler: Callable[[httpx.Request], httpx.Response], **options: Any) -> RemoteReranker:
    return RemoteReranker(
        options.pop("url", "http://rerank.test"),
        dialect=options.pop("dialect", Dialect.TEI),
        transport=httpx.MockTransport(handler),
        **options,
    )


TEXTS = ["a fine is never paid", "oslo", "a refund is paid", "", "who is a train", "oslo"]
