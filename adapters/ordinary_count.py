"""
Count a text with a tiktoken encoding, whatever the text holds.

Measured on one core, a million times one letter: 0.3 to 0.4 s; four million: 1.8 to 2.3 s; three
million blanks: 1.8 s. It grows evenly, so that a limit on characters bounds it.
"""

from __future__ import annotations

import regex
import tiktoken

LONG_BLANK_CHARS = 500_000
"""From 999,999 blanks in a row on, tiktoken's own splitter panics with a stack overflow."""


def count_ordinary(
    encoding: tiktoken.Encoding, text: str, long_blank_chars: int = LONG_BLANK_CHARS
) -> int:
    """
    Return the number of tokens of a text, spellings of special tokens being plain text.

    Surrogates count as the code point that a pair of them stands for, and as U+FFFD alone.
    """
    # the look-behind makes a run be tried once, from its start: without it the search is quadratic
    if len(text) < long_blank_chars or not regex.search(rf"(?<!\s)\s{{{long_blank_chars}}}", text):
        return len(encoding.encode_ordinary(text))
    return _count_by_piece(encoding, text)


def _count_by_piece(encoding: tiktoken.Encoding, text: str) -> int:
    """
    Count as `encode_ordinary` does, but split by a pattern engine that takes endless blanks.

    The engine's tables of Unicode are newer than tiktoken's: a character that only it knows as a
    letter may be split otherwise. No recount can tell, for tiktoken itself fails on such a text.
    """
    valid = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    # tiktoken has no public way to either; a property test holds the two counts equal
    pieces = regex.finditer(encoding._pat_str, valid)  # noqa: SLF001 - no public way, see above
    return sum(len(encoding._encode_single_piece(piece.group())) for piece in pieces)  # noqa: SLF001 - no public way, see above
