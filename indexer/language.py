"""
The language of a text, where nobody says it, and whether the embedding model knows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import py3langid
import regex

SAMPLE_CHARS = 4000
LEAST_CHARS = 60
CODE_LANGUAGE = "en"
FOREIGN_TOKENS_PER_WORD = 1.9
"""Above it a model's vocabulary does not have the words of a text (measured with all-MiniLM-L6-v2:
English prose 1.2, source code 1.6, German 2.5, Polish 2.9)."""

SAMPLE_WORDS = 400
UNKNOWN_WORDS = 100
UNKNOWN_SHARE = 0.2
"""Above it too many words are one unknown token (measured with all-MiniLM-L6-v2: English,
German, Polish 0 %, Georgian 60 %, Amharic, Khmer, Thai 100 %); they look short in tokens."""

CONSEQUENCE = (
    "its vectors hardly tell them apart, and search rests on BM25; a multilingual model does better"
)

_LETTERS = regex.compile(r"\p{L}[\p{L}\p{M}]*")


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


def unknown_share(text: str, count: Callable[[str], int]) -> float:
    """
    Return the share of words that the model knows no piece of; 0 for a text without words.

    A word is unknown when twice the word is still one token. Only words with letters beyond ASCII
    are looked at: the pieces of the others are in every vocabulary.
    """
    words = _LETTERS.findall(text[: SAMPLE_CHARS * 4])[:UNKNOWN_WORDS]
    strange = Counter(word for word in words if not word.isascii())
    one = count("") + 1
    unknown = sum(times for word, times in strange.items() if count(word + word) <= one)
    return unknown / len(words) if words else 0.0


class Foreign:
    """
    Gathers, by language, the documents whose words the embedding model does not have.
    """

    def __init__(self) -> None:
        self._ratios: dict[str, list[float]] = {}
        self._unknown: dict[str, list[float]] = {}

    def add(self, language: str, ratio: float, unknown: float = 0.0) -> None:
        """
        Take one document's tokens per word and share of unknown words.
        """
        if unknown > UNKNOWN_SHARE:
            self._unknown.setdefault(language, []).append(unknown)
        elif ratio > FOREIGN_TOKENS_PER_WORD:
            self._ratios.setdefault(language, []).append(ratio)

    def warnings(self) -> list[str]:
        """
        Return one sentence per language.
        """
        return [
            f"language {language or 'unknown'!r}: {len(ratios)} documents have "
            f"{sum(ratios) / len(ratios):.1f} tokens of the embedding model per word (English has "
            f"1.2): {CONSEQUENCE}"
            for language, ratios in sorted(self._ratios.items())
        ] + [
            f"language {language or 'unknown'!r}: in {len(shares)} documents "
            f"{sum(shares) / len(shares):.0%} of the words are one unknown token of the embedding "
            f"model: {CONSEQUENCE}"
            for language, shares in sorted(self._unknown.items())
        ]
