"""
Texts as sparse vectors.
"""

from __future__ import annotations

import unicodedata

import pytest

from adapters.bm25 import LANGUAGES, PLAIN, Bm25Encoder, bm25_language
from adapters.store import Bm25Spec
from assembler.model import PointKind

ENCODER = Bm25Encoder(Bm25Spec())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("de", "german"),
        ("de-AT", "german"),
        ("de_CH", "german"),
        ("DE", "german"),
        ("German", "german"),
        ("deu", "german"),
        ("en", "english"),
        ("pl", PLAIN),
        ("polish", PLAIN),
        ("", PLAIN),
        ("nb", "norwegian"),
        ("th", "none-unspaced"),
    ],
)
def test_tags_and_names_are_understood(given: str, expected: str) -> None:
    assert bm25_language(given) == expected
    assert bm25_language(bm25_language(given)) == expected


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_every_language_encodes(language: str) -> None:
    assert not ENCODER.query("Xylophon 42", [language]).is_empty


def test_a_stemmed_word_is_found_by_another_form() -> None:
    stored = ENCODER.document("running houses", "en", PointKind.CHUNK)

    assert set(ENCODER.query("house", ["en"]).indices) <= set(stored.indices)
    assert not set(ENCODER.query("house", ["pl"]).indices) & set(stored.indices)


def test_decomposed_letters_are_the_same_word() -> None:
    decomposed = unicodedata.normalize("NFD", "Häuser")

    assert ENCODER.query(decomposed, ["de"]) == ENCODER.query("Häuser", ["de"])


def test_a_query_unites_the_languages_of_the_index() -> None:
    both = set(ENCODER.query("running Häuser", ["de", "en"]).indices)

    for language in ("de", "en"):
        assert set(ENCODER.query("running Häuser", [language]).indices) <= both
    assert ENCODER.query("running", []).is_empty


def test_text_without_spaces_is_cut_into_words() -> None:
    expected_words = 3

    assert len(ENCODER.query("你好世界我们喜欢数据库", ["zh"]).indices) >= expected_words


def test_a_section_is_weighed_by_its_own_length() -> None:
    text = "word " * 300
    (chunk,) = ENCODER.document(text, "en", PointKind.CHUNK).values
    (section,) = ENCODER.document(text, "en", PointKind.SECTION).values

    assert section > chunk
