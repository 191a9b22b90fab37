"""
Where a quoted passage stands in a text: as it is, or nearly so.
"""

from __future__ import annotations

import re
import unicodedata

from assembler.span import Span

SAME = (
    '"\u201c\u201d\u201e\u201f\u00ab\u00bb',
    "'\u2018\u2019\u201a\u201b`\u00b4",
    "-\u2010\u2011\u2012\u2013\u2014\u2212",
)
"""Signs that copying exchanges."""


def exact_places(passage: str, text: str) -> list[Span]:
    """
    Return every place at which a passage stands as it is, in order; places may overlap.
    """
    found: list[Span] = []
    at = text.find(passage) if passage else -1
    while at >= 0:
        found.append(Span(at, at + len(passage)))
        at = text.find(passage, at + 1)
    return found


def near_places(passage: str, text: str) -> list[Span]:
    """
    Return every place at which a passage stands but for white space, upper and lower case, kinds of
    quotes and dashes, and how accents are composed.
    """
    words = unicodedata.normalize("NFC", passage).split()
    if not words:
        return []
    pattern = re.compile(r"\s+".join("".join(map(_like, word)) for word in words), re.IGNORECASE)
    return [Span(one.start(), one.end()) for one in pattern.finditer(text)]


def _like(letter: str) -> str:
    for signs in SAME:
        if letter in signs:
            return f"[{re.escape(signs)}]"
    apart = unicodedata.normalize("NFD", letter)
    if apart == letter:
        return re.escape(letter)
    return f"(?:{re.escape(letter)}|{re.escape(apart)})"
