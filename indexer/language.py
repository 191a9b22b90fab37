"""
The language of a text, where nobody says it, and whether the embedding model knows it.
"""

from __future__ import annotations

import re

import py3langid

SAMPLE_CHARS = 4000
LEAST_CHARS = 60
CODE_LANGUAGE = "en"
FOREIGN_TOKENS_PER_WORD = 2.0
"""Above it a model's vocabulary does not have the words of a text (English prose: 1.2 to 1.4)."""

_WORD = re.compile(r"[^\W\d_]+")


def language_of(text: str, *, is_code: bool) -> str:
    """
    Return the BCP 47 tag of a text; "" where it is too short to tell.
    """
    if is_code:
        return CODE_LANGUAGE
    sample = text[:SAMPLE_CHARS]
    if len(sample.strip()) < LEAST_CHARS:
        return ""
    return str(py3langid.classify(sample)[0])


def tokens_per_word(text: str, tokens: int) -> float:
    """
    Return how many tokens of the model a word has on average; 0 for a text without words.
    """
    words = len(_WORD.findall(text))
    return tokens / words if words else 0.0
