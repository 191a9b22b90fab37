"""
The language of a text, where nobody says it, and whether the embedding model knows it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import py3langid

SAMPLE_CHARS = 4000
LEAST_CHARS = 60
CODE_LANGUAGE = "en"
FOREIGN_TOKENS_PER_WORD = 1.9
"""Above it a model's vocabulary does not have the words of a text (measured with all-MiniLM-L6-v2:
English prose 1.2, source code 1.5, German 2.1, Polish 2.7)."""

SAMPLE_WORDS = 400

_LETTERS = re.compile(r"[^\W\d_]+")


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


def tokens_per_word(text: str, count: Callable[[str], int]) -> float:
    """
    Return how many tokens of the model a word has on average; 0 for a text without words.
    """
    words = _LETTERS.findall(text[: SAMPLE_CHARS * 4])[:SAMPLE_WORDS]
    if not words:
        return 0.0
    return (count(" ".join(words)) - count("")) / len(words)


class Foreign:
    """
    Gathers, by language, the documents whose words the embedding model does not have.
    """

    def __init__(self) -> None:
        self._ratios: dict[str, list[float]] = {}

    def add(self, language: str, ratio: float) -> None:
        """
        Take one document's tokens per word.
        """
        if ratio > FOREIGN_TOKENS_PER_WORD:
            self._ratios.setdefault(language, []).append(ratio)

    def warnings(self) -> list[str]:
        """
        Return one sentence per language.
        """
        return [
            f"language {language or 'unknown'!r}: {len(ratios)} documents have "
            f"{sum(ratios) / len(ratios):.1f} tokens of the embedding model per word (English has "
            "1.2): its vectors hardly tell them apart, and search rests on BM25; a multilingual "
            "model does better"
            for language, ratios in sorted(self._ratios.items())
        ]
