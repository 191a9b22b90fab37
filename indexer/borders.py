"""
Where a text may be cut: paragraph and sentence starts, and forced places in overlong sentences.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import regex
import sentencex

from assembler.model import Border, BorderKind
from assembler.span import Span
from indexer.ruler import Ruler

_PARAGRAPH = re.compile(r"\n(?:[ \t]*\n)+")
"""Ends at a line's start: the indentation belongs to the paragraph (it is content in code)."""

_LINE = re.compile(r"\n+")
_GRAPHEME = regex.compile(r"\X")
_LISTED = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)]|#{1,6}\s|>|```|~~~)")
_NUMBERED = regex.compile(r"(?<=\p{Ll}{4}[.!?][)\]»“”\"]?|[)\]»“”\"][.!?])(?=\d{1,3} ?\p{Lu})")
"""A margin or note number that stuck to the end of a sentence: "… is due.12 The fee …"."""

_CLOSING = regex.compile(r"[*_~`\"'\p{Pf})\]]+(?:\s+|$)")
"""Marks that close what the sentence before opened: "**Never.** It stays", "(See above.) It"."""

_ROW = re.compile(r"[ \t]*\|")
"""A line that is a row of a table, in any text."""

VERSION = "3"
"""Changes when equal text gets other borders."""

GRAPHEMES_LOOKED_BACK = 64
LEAST_CLUSTERS = 4


def find_borders(
    text: str,
    language: str,
    ruler: Ruler,
    most_tokens: int,
    *,
    is_code: bool,
    tables: Sequence[Span] = (),
) -> tuple[Border, ...]:
    """
    Return every border of a source text in order, the start of the text not included.

    Args:
        text: The whole source text.
        language: BCP 47 tag; "" for unknown.
        ruler: Token lengths in the text.
        most_tokens: Sentences longer than this get forced borders.
        is_code: Every line is a sentence.
        tables: Ranges, in order, whose every line is one, too: a cell says something else without
            the rest of its row.
    """
    last = len(text.rstrip())
    paragraphs = [match.end() for match in _PARAGRAPH.finditer(text) if match.end() < last]
    kinds = dict.fromkeys(paragraphs, BorderKind.PARAGRAPH)
    edges = [0, *paragraphs, len(text)]
    table_starts, table_ends = [one.start for one in tables], [one.end for one in tables]
    for start, end in itertools.pairwise(edges):
        first, last = bisect_right(table_ends, start), bisect_left(table_starts, end)
        near = tables[first:last]
        for offset in _sentences(text, start, end, language, near, is_code=is_code):
            kinds.setdefault(offset, BorderKind.SENTENCE)
    kinds.pop(0, None)
    whole = [0, *sorted(kinds), len(text)]
    for start, end in itertools.pairwise(whole):
        for offset in _forced(text, Span(start, end), ruler, most_tokens):
            kinds.setdefault(offset, BorderKind.FORCED)
    return tuple(Border(offset, kinds[offset]) for offset in sorted(kinds))


def _sentences(
    text: str, start: int, end: int, language: str, tables: Sequence[Span], *, is_code: bool
) -> list[int]:
    paragraph = text[start:end]
    lines = [
        0,
        *(match.end() for match in _LINE.finditer(paragraph) if match.end() < len(paragraph)),
    ]
    if is_code:
        return [start + line for line in lines]
    rows = {
        line
        for line in lines
        if _ROW.match(paragraph, line) or any(one.start <= start + line < one.end for one in tables)
    }
    listed = [line for line in lines if line in rows or _LISTED.match(paragraph, line)]
    starts = set(listed)
    # a line that follows a listed one and is not part of it begins a sentence of its own
    if listed:
        starts.update(lines)
    cuts = sorted({0, *starts, len(paragraph)})
    offsets: list[int] = []
    for low, high in itertools.pairwise(cuts):
        offsets.append(start + low)
        if low in rows:
            continue
        position, found = low, []
        for sentence in sentencex.segment(language or "en", paragraph[low:high]):
            if position > low and sentence.strip():
                found.append(_behind_closing(paragraph, position, high))
            position += len(sentence)
        if position == high:
            offsets += (start + offset for offset in found if offset < high)
        offsets += (match.start() for match in _NUMBERED.finditer(text, start + low, start + high))
    return sorted(set(offsets))


def _behind_closing(text: str, offset: int, end: int) -> int:
    """
    Return a sentence's start, moved behind marks that close what stands before it.
    """
    closing = None if text[offset - 1].isspace() else _CLOSING.match(text, offset, end)
    return closing.end() if closing else offset


def forced_cut(text: str, start: int, reach: int) -> int:
    """
    Return where a piece from the start ends that has no border up to the reach: at a word, else
    between letters as readers see them.
    """
    return _word_start(text, start, reach) or _grapheme_start(text, start, reach)


def letter_start(text: str, offset: int) -> int:
    """
    Return the start of the letter, as readers see it, that an offset lies in.
    """
    if offset >= len(text) or (text[offset].isascii() and text[offset - 1].isascii()):
        return offset
    return _grapheme_start(text, max(offset - GRAPHEMES_LOOKED_BACK, 0), offset)


def _forced(text: str, sentence: Span, ruler: Ruler, most_tokens: int) -> list[int]:
    """
    Return cuts that leave pieces of at most so many tokens, at words where there are any.
    """
    cuts: list[int] = []
    start = sentence.start
    while ruler.tokens(Span(start, sentence.end)) > most_tokens:
        reach = ruler.reach(start, most_tokens, sentence.end)
        cut = forced_cut(text, start, reach)
        if cut <= start or cut >= sentence.end:
            break
        cuts.append(cut)
        start = cut
    return cuts


def _word_start(text: str, start: int, reach: int) -> int | None:
    """
    Return the last word's start in the second half of the piece, or None where there is none.
    """
    for offset in range(reach, (start + reach) // 2, -1):
        if text[offset - 1].isspace() and offset < len(text) and not text[offset].isspace():
            return offset
    return None


def _grapheme_start(text: str, start: int, reach: int) -> int:
    """
    Return the last grapheme cluster's start that is not beyond the reach.
    """
    low = max(start, reach - GRAPHEMES_LOOKED_BACK)
    clusters = _clusters(text, low, reach)
    if low > start and len(clusters) < LEAST_CLUSTERS:  # one cluster reaches back beyond `low`
        clusters = _clusters(text, start, reach)
    inside = [offset for offset in clusters[1:] if offset <= reach]
    return inside[-1] if inside else reach


def _clusters(text: str, low: int, reach: int) -> list[int]:
    return [match.start() for match in _GRAPHEME.finditer(text, low, reach + GRAPHEMES_LOOKED_BACK)]
