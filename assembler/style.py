"""
The delimiters of a reply: no source text contains them, as a reader sees it.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from assembler.request import Format

UNSEEN_RANGES = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0000, 0xE0FFF),
)
"""Code points that nothing is drawn for, beside those of the category Cf (Default_Ignorable)."""


def _unseen() -> str:
    """
    Return the class of all of them for a regular expression, in ranges: one by one, those beyond
    the 16-bit plane would be compared with every letter of a text.
    """
    codes = range(sys.maxunicode + 1)
    formats = [(code, code) for code in codes if unicodedata.category(chr(code)) == "Cf"]
    joined: list[tuple[int, int]] = []
    for first, last in sorted((*UNSEEN_RANGES, *formats)):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in joined)


_IS_UNSEEN = re.compile(f"[{_unseen()}]+")

_LINE_START = r"(?:\A|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])\s*"


@dataclass(frozen=True, slots=True)
class Style:
    """
    The delimiters of one reply. They are changed where source text contains them, never the text.

    Attributes:
        prefix: Stands before the number in `[n]`.
        tag: Name of the XML element around a passage.
        ellipsis: Stands in a gap.
    """

    prefix: str = ""
    tag: str = "passage"
    ellipsis: str = "[…]"

    @property
    def gap_in_line(self) -> str:
        """
        Return the mark of a gap inside a line.
        """
        return f" {self.ellipsis} "

    @property
    def gap_between_lines(self) -> str:
        """
        Return the mark of a gap that spans a line end.
        """
        return f"\n{self.ellipsis}\n"

    def marker(self, number: int, form: Format) -> str:
        """
        Return the citation marker of the passage with this 1-based number.
        """
        return f'id="{number}"' if form is Format.XML else f"[{self.prefix}{number}]"


def choose_style(texts: Iterable[Iterable[str]], form: Format) -> Style:
    """
    Return the first delimiters that no text contains, in a fixed order of trials.
    """
    bodies = [_seen(text) for passage in texts for text in passage]
    prefix, tag = "", "passage"
    if form is Format.XML:
        tag = next(
            name
            for name in _trials("passage", "_")
            if not any(re.search(rf"<\s*/?\s*{name}\b", body, re.IGNORECASE) for body in bodies)
        )
    else:
        prefix = next(
            name
            for name in _trials("S", "", first="")
            if not any(_begins_a_line(rf"\[{name}\d+\]", body) for body in bodies)
        )
    ellipsis = next(
        f"[{mark}]"
        for mark in (" ".join("…" * repeat) for repeat in range(1, len(bodies) + 10**6))
        if not any(f"[{mark}]" in body for body in bodies)
    )
    return Style(prefix, tag, ellipsis)


def _seen(text: str) -> str:
    """
    Return a text as a reader sees it: without what nothing is drawn for.
    """
    return text if text.isascii() else _IS_UNSEEN.sub("", text)


def _begins_a_line(mark: str, body: str) -> bool:
    """
    Return whether a mark begins a line; it is looked for anywhere first, which is much faster.
    """
    return bool(re.search(mark, body) and re.search(_LINE_START + mark, body))


def _trials(name: str, joint: str, *, first: str | None = None) -> Iterator[str]:
    if first is not None:
        yield first
    yield name
    number = 2
    while True:
        yield f"{name}{joint}{number}" if joint else name * number
        number += 1
