"""
Texts as sparse BM25 vectors, encoded here for both backends with the engine's own encoder.

Stored texts are encoded in the language of their source, queries once per language of the index.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

import qdrant_edge as edge

from adapters.store import Bm25Spec
from assembler.model import PointKind

PLAIN = "none"
"""The language of texts that are neither stemmed nor freed of stop words."""

_BY_CODE = {
    "ar": "arabic",
    "az": "azerbaijani",
    "bn": "bengali",
    "ca": "catalan",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "he": "hebrew",
    "hu": "hungarian",
    "id": "indonesian",
    "it": "italian",
    "ja": "japanese",
    "kk": "kazakh",
    "nb": "norwegian",
    "ne": "nepali",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sl": "slovene",
    "sv": "swedish",
    "tg": "tajik",
    "tr": "turkish",
    "zh": "chinese",
}
_THREE_LETTERS = {
    "deu": "de",
    "eng": "en",
    "fra": "fr",
    "ita": "it",
    "jpn": "ja",
    "nld": "nl",
    "por": "pt",
    "rus": "ru",
    "spa": "es",
    "zho": "zh",
}
_UNSPACED = frozenset({"chinese", "japanese"})
_UNSPACED_PLAIN = frozenset({"th", "lo", "km", "my"})
UNSPACED_PLAIN = "none-unspaced"
"""As `PLAIN`, for scripts that write no spaces between words."""

LANGUAGES = frozenset({*_BY_CODE.values(), PLAIN, UNSPACED_PLAIN})
"""Every name that `bm25_language` returns."""

_TAG = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")


@dataclass(frozen=True, slots=True)
class SparseWeights:
    """
    A sparse vector: weights by index, the indices rising.
    """

    indices: tuple[int, ...]
    values: tuple[float, ...]

    @property
    def is_empty(self) -> bool:
        """
        Return whether no term is left.
        """
        return not self.indices


def is_language(text: str) -> bool:
    """
    Return whether a text has the form of a BCP 47 tag, or is an English name of a language that the
    encoder knows.
    """
    return _TAG.fullmatch(text) is not None or text.lower() in LANGUAGES


def bm25_language(language: str) -> str:
    """
    Return the encoder's language for a BCP 47 tag or an English name.

    What the encoder does not know, and no language at all, are encoded without stemming and without
    stop words.
    """
    name = language.strip().lower()
    if name in LANGUAGES:
        return name
    subtag = name.replace("_", "-").partition("-")[0]
    subtag = _THREE_LETTERS.get(subtag, subtag)
    if subtag in _UNSPACED_PLAIN:
        return UNSPACED_PLAIN
    return _BY_CODE.get(subtag, PLAIN)


class Bm25Encoder:
    """
    Encodes texts by one specification.
    """

    def __init__(self, spec: Bm25Spec) -> None:
        self._spec = spec

    def document(self, text: str, language: str, kind: PointKind) -> SparseWeights:
        """
        Return the weights of a stored text: term frequencies, saturated by length.
        """
        spec = self._spec
        is_section = kind is PointKind.SECTION
        avg_len = spec.section_avg_len if is_section else spec.avg_len
        encoder = _encoder(spec.k, spec.b, avg_len, bm25_language(language))
        return _united([encoder.embed_document(_composed(text))])

    def query(self, text: str, languages: Iterable[str]) -> SparseWeights:
        """
        Return the weights of a query in every language of the index, united by the larger weight.
        """
        spec = self._spec
        composed = _composed(text)
        names = sorted({bm25_language(language) for language in languages})
        return _united(
            _encoder(spec.k, spec.b, spec.avg_len, name).embed_query(composed) for name in names
        )


def _composed(text: str) -> str:
    # The encoder does not fold decomposed letters: "a" + U+0308 would be another word than "ä".
    return unicodedata.normalize("NFC", text)


def _united(vectors: Iterable[edge.SparseVector]) -> SparseWeights:
    weights: dict[int, float] = {}
    for vector in vectors:
        for index, value in zip(vector.indices, vector.values, strict=True):
            weights[index] = max(value, weights.get(index, value))
    return SparseWeights(tuple(sorted(weights)), tuple(weights[index] for index in sorted(weights)))


@functools.lru_cache(maxsize=128)
def _encoder(k: float, b: float, avg_len: float, language: str) -> edge.Bm25:
    unspaced = language in _UNSPACED or language == UNSPACED_PLAIN
    tokenizer = edge.TokenizerType.Multilingual if unspaced else edge.TokenizerType.Word
    if language in (PLAIN, UNSPACED_PLAIN):
        # Without a language the encoder would take English.
        config = edge.Bm25Config(
            k=k,
            b=b,
            avg_len=avg_len,
            tokenizer=tokenizer,
            stemmer=edge.DisabledStemmer(),
            stopwords=edge.StopwordsSet(),
        )
    else:
        config = edge.Bm25Config(k=k, b=b, avg_len=avg_len, tokenizer=tokenizer, language=language)
    return edge.Bm25(config)
