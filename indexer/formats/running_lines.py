"""
Running heads and feet: which lines at the edges of pages repeat on them beyond doubt. Pure.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

EDGE_LINES = 2
"""Lines at the top and bottom of a page that may be a running head or foot."""

LEAST_LINES = 6
"""Shorter pages are left as they are: their few lines may be alike and still be content."""

LEAST_REPEATS = 3
REPEATED_SHARE = 0.5
MOST_INSIDE = 1
"""How often the text of a head may stand inside of pages, as a title does; rows do so oftener."""

LEAST_WORDS = 2
"""Beside a page number that no word for "page" stands with: "Article 3" is a heading."""

PAGE_WORDS = frozenset(
    [
        *("page", "pages", "pg", "pp", "p", "seite", "s", "página", "pagina", "pág", "pag"),
        *("sida", "side", "sivu", "strona", "str", "стр", "страница", "oldal", "sayfa"),
        *("第", "页", "頁", "ページ", "쪽", "페이지"),
    ]
)

_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]+")
_BARE = re.compile(r"[\s\-–—|/()\[\]·•.~]*")  # noqa: RUF001 - dashes as texts have them
_JOINED_BEFORE = re.compile(r"\d[./:,\-–]$")  # noqa: RUF001 - dashes as texts have them
_JOINED_AFTER = re.compile(r"[./:,\-–]\d")  # noqa: RUF001 - dashes as texts have them
_TOTAL = re.compile(r"(?:\s*/\s*|\s+\w+\s+)(\d+)")


@dataclass(frozen=True, slots=True)
class Kept:
    """
    Pages without their running heads and feet.

    Attributes:
        left_out: The lines that went, in order.
    """

    pages: list[str]
    left_out: tuple[str, ...]


def without_running_lines(pages: Sequence[str]) -> Kept:
    """
    Return the pages without the heads and feet that repeat on at least three and half of them, or
    of the odd or the even ones.

    A line repeats where its text is equal, or equal but for a page number. The first of each stays,
    so that nothing but page numbers is lost; bare numbers go altogether.
    """
    lines = [page.split("\n") for page in pages]
    edges = [_edge_numbers(one) for one in lines]
    places: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    inside: dict[str, int] = defaultdict(int)
    for index, page in enumerate(lines):
        for number, line in enumerate(page):
            side = edges[index].get(number)
            if side is None:
                inside[_plain(line)] += 1
                continue
            for key in _keys(line, index, len(pages)):
                if places[side, key].setdefault(index, number) != number:
                    inside[key] += MOST_INSIDE + 1  # twice at one edge: a row
    gone: set[tuple[int, int]] = set()
    for (_, key), found in places.items():
        if inside[key] <= MOST_INSIDE and _repeats(found, len(pages)):
            stays = min(found) if _WORD.search(key) else None
            gone |= {place for place in found.items() if place[0] != stays}
    return Kept(
        [
            "\n".join(line for n, line in enumerate(page) if (index, n) not in gone).strip("\n")
            for index, page in enumerate(lines)
        ],
        tuple(lines[index][number].strip() for index, number in sorted(gone)),
    )


def _edge_numbers(lines: Sequence[str]) -> dict[int, str]:
    """
    Return the numbers of the lines that may be a head or a foot, with the edge that each is at.
    """
    filled = [number for number, line in enumerate(lines) if line.strip()]
    if len(filled) < LEAST_LINES:
        return {}
    return {
        **dict.fromkeys(filled[:EDGE_LINES], "top"),
        **dict.fromkeys(filled[-EDGE_LINES:], "bottom"),
    }


def _repeats(found: dict[int, int], pages: int) -> bool:
    for group in (range(pages), range(0, pages, 2), range(1, pages, 2)):
        count = sum(index in group for index in found)
        if count >= max(LEAST_REPEATS, REPEATED_SHARE * len(group)):
            return True
    return False


def _plain(line: str) -> str:
    return " ".join(line.split())


def _keys(line: str, index: int, pages: int) -> Iterator[str]:
    """
    Yield the text of a line, and again with its page number as the distance from the page's place.
    """
    text = _plain(line)
    yield text
    for number in _NUMBER.finditer(text):
        if len(number[0]) < 10 and _may_be_page(text, number, pages):  # noqa: PLR2004 - a page number of ten digits is none
            before, after = text[: number.start()], text[number.end() :]
            yield f"{before}\x00{int(number[0]) - index}\x00{after}"


def _may_be_page(text: str, number: re.Match[str], pages: int) -> bool:
    """
    Return whether a number of a line would be its page's, if it grows by one a page.
    """
    before, after = text[: number.start()], text[number.end() :]
    words = [word.lower() for word in _WORD.findall(text)]
    if not PAGE_WORDS.isdisjoint(words):
        return True
    total = _TOTAL.match(after)
    if total is not None and int(total[1][:9]) == pages:
        return True
    if _JOINED_BEFORE.search(before) or _JOINED_AFTER.match(after):
        return False
    if not words:
        return bool(_BARE.fullmatch(before + after))
    is_at_end = not before.strip() or not after.strip()
    return is_at_end and len(words) >= LEAST_WORDS and int(number[0]) <= pages
