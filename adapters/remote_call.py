"""
What calls of a model's endpoint have in common.
"""

from __future__ import annotations

import unicodedata
from typing import Any

import httpx

from adapters.trace import TRACEPARENT
from assembler.errors import Unavailable

HTTP_OK = 200


async def answer_of(
    client: httpx.AsyncClient, url: str, body: Any, *, name: str, failure: type[Unavailable]
) -> httpx.Response:
    """
    Return what an endpoint answers to a body.

    Args:
        client: Connects to it.
        url: As the client takes it.
        body: Sent as JSON.
        name: Of the endpoint, for errors.
        failure: The error that is raised.

    Raises:
        Unavailable: It cannot be reached, or answers with another status than 200.
    """
    try:
        reply = await client.post(url, json=body, headers=trace_headers())
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise failure(f"{name} cannot be reached: {type(error).__name__}") from error
    if reply.status_code != HTTP_OK:
        raise failure(f"{name} answers {reply.status_code}")
    return reply


def sendable(text: str) -> str:
    """
    Return the text in NFC, with lone surrogates, which JSON cannot carry, as U+FFFD.
    """
    valid = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return unicodedata.normalize("NFC", valid)


def trace_headers() -> dict[str, str]:
    """
    Return the header that tells an endpoint which trace a call belongs to.
    """
    return {"traceparent": TRACEPARENT.get()} if TRACEPARENT.get() else {}
