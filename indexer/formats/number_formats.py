"""
What number formats of Excel write around a number, and durations.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import timedelta
from functools import lru_cache

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|[_*].|\[\$(?P<currency>[^\]-]*)[^\]]*\]|\[[^\]]*\]'
    r"|(?P<digits>general|e[+-]|[0#?.,/@])|(?P<end>;)|(?P<bare>.)",
    re.IGNORECASE | re.DOTALL,
)
_CONDITION = re.compile(r"\[[<>=]")
_SCALED = re.compile(r"[0#?],+(?![0#?,.]*[0#?])")
_DRAWN = str.maketrans("", "", "()+-")
_SIGNS = "%‰°"


def with_words(number: str, value: float, shape: str) -> str:
    """
    Return a number with the currency, unit or other words that its format writes before and after.

    A format that divides keeps its currency alone: the number is written in full. One with
    conditions keeps nothing.
    """
    if _CONDITION.search(shape):
        return number
    parts = _parts(shape)
    place = next((at for at, is_it in ((1, value < 0), (2, value == 0)) if is_it), 0)
    place = place if place < len(parts) else 0
    before, after, digits = parts[place]
    if place:  # signs drawn for a negative number, or for none
        before, after = before.translate(_DRAWN), after.translate(_DRAWN)
    if not digits:
        return number
    if _SCALED.search(digits):
        before, after = _currency(before), _currency(after)
    before, after = (one if _says(one) else "" for one in (before, after))
    sign = "-" if before and number.startswith("-") else ""
    return f"{sign}{before.lstrip()}{number.removeprefix(sign)}{after.rstrip()}"


@lru_cache(maxsize=256)
def _parts(shape: str) -> list[tuple[str, str, str]]:
    """
    Return, for each part of a format, what stands before the number, after it, and its digits.
    """
    parts: list[tuple[str, str, str]] = []
    before = pending = digits = ""
    for token in _TOKEN.finditer(shape):
        if token["end"]:
            parts.append((before, pending, digits))
            before = pending = digits = ""
        elif token["digits"]:
            before = before if digits else pending
            digits += token["digits"]
            pending = ""
        else:
            named = (token[name] for name in ("quoted", "escaped", "currency", "bare"))
            pending += next((one for one in named if one), "")
    return [*parts, (before, pending, digits)]


def _says(words: str) -> bool:
    return any(one.isalnum() or one in _SIGNS or unicodedata.category(one) == "Sc" for one in words)


def _currency(words: str) -> str:
    return "".join(one for one in words if unicodedata.category(one) == "Sc")


def duration(value: timedelta, shape: str) -> str:
    """
    Return a duration in the largest unit that its format names, and in the smaller ones that it
    names or that are not zero.
    """
    total = round(abs(value.total_seconds()))
    sign = "-" if value < timedelta() and total else ""
    shape = shape.lower()
    if "[s" in shape:
        return f"{sign}{total}"
    minutes, seconds = divmod(total, 60)
    end = f":{seconds:02}" if seconds or "s" in shape else ""
    if "[m" in shape:
        return f"{sign}{minutes}{end}"
    return f"{sign}{minutes // 60}:{minutes % 60:02}{end}"
