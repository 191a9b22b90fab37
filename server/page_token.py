"""
The token that goes on with a source text where a reply stopped.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass

from assembler.errors import InvalidRequest

_FORM = re.compile(
    r"(?P<hash>[0-9a-f]{64}):(?P<start>[0-9]{1,15}):(?P<source>[0-9a-f]{16}):(?P<version>[0-9a-f]{16})"
)
_DIGEST_CHARS = 16


@dataclass(frozen=True, slots=True)
class PageToken:
    """
    Where a reply stopped, and in which text of which source.

    Attributes:
        content_sha256: The text; pages of one text never go on with another one, whatever is
            published meanwhile.
        start: Code points that were returned or passed over.
        source: Digest of the index, tenant and source.
        version: Digest of the version's label.
    """

    content_sha256: str
    start: int
    source: str
    version: str

    def __str__(self) -> str:
        return f"{self.content_sha256}:{self.start}:{self.source}:{self.version}"


def make_token(
    content_sha256: str, start: int, *, index: str, tenant: str, source_id: str, version: str
) -> str:
    """
    Return the token of what follows `start`.
    """
    return str(
        PageToken(content_sha256, start, _digest(index, tenant, source_id), _digest(version))
    )


def read_token(
    token: str,
    *,
    index: str,
    tenant: str,
    source_id: str,
    version: str | None,
    content_sha256: str | None,
) -> PageToken:
    """
    Return what a token says.

    Args:
        token: As the caller sent it.
        index: The index that is asked for.
        tenant: The tenant that is asked for.
        source_id: The source that is asked for.
        version: The label that is asked for; None asks for none.
        content_sha256: The text that is asked for; None asks for none.

    Raises:
        InvalidRequest: It is none, or one of another text than is asked for.
    """
    found = _FORM.fullmatch(token)
    if found is None:
        raise InvalidRequest("page_token", "is not one that a reply gave; leave it out to begin")
    page = PageToken(found["hash"], int(found["start"]), found["source"], found["version"])
    if (
        page.source != _digest(index, tenant, source_id)
        or (version is not None and page.version != _digest(version))
        or content_sha256 not in (None, page.content_sha256)
    ):
        raise InvalidRequest(
            "page_token",
            "is of another index, tenant, source, version or text than is asked for; "
            "send it with the request that it was the reply to",
        )
    return page


def _digest(*names: str) -> str:
    told = json.dumps(names).encode()
    return hashlib.sha256(told).hexdigest()[:_DIGEST_CHARS]
