"""
Tokens of pages: good for what they were given for, refused by name for all else.
"""

from __future__ import annotations

from typing import Any

import pytest

from assembler.errors import InvalidRequest
from server.page_token import make_token, read_token

HASH = "0123456789abcdef" * 4
PLACE = {"index": "docs", "tenant": "acme", "source_id": "a.md"}
TOKEN = make_token(HASH, 400, version="v1", **PLACE)


@pytest.mark.parametrize("version", [None, "v1"])
@pytest.mark.parametrize("content_sha256", [None, HASH])
def test_a_token_goes_on_where_the_reply_stopped(
    version: str | None, content_sha256: str | None
) -> None:
    page = read_token(TOKEN, version=version, content_sha256=content_sha256, **PLACE)

    assert (page.content_sha256, page.start) == (HASH, 400)
    assert str(page) == TOKEN


@pytest.mark.parametrize(
    "other",
    [
        {"index": "other"},
        {"tenant": ""},
        {"tenant": "acm", "source_id": "ea.md"},
        {"source_id": "b.md"},
        {"version": "v2"},
        {"version": ""},
        {"content_sha256": HASH[::-1]},
    ],
)
def test_a_token_of_something_else_is_refused_by_name(other: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"version": None, "content_sha256": None, **PLACE, **other}

    with pytest.raises(InvalidRequest, match="is of another index, tenant") as caught:
        read_token(TOKEN, **asked)

    assert caught.value.field == "page_token"


@pytest.mark.parametrize("token", ["x", f"{HASH}:400", TOKEN + "0", TOKEN.replace(":400:", ":-1:")])
def test_what_is_no_token_is_refused_by_name(token: str) -> None:
    with pytest.raises(InvalidRequest, match="is not one that a reply gave") as caught:
        read_token(token, version=None, content_sha256=None, **PLACE)

    assert caught.value.field == "page_token"
