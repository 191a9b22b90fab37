from __future__ import annotations

import unicodedata

import pytest

from indexer.language import Foreign, language_of, tokens_per_word, unknown_share
from tests.fakes import WORD


def count(text: str) -> int:
    """
    Count as a word piece model does whose vocabulary has Latin letters and a few Hindi ones.
    """
    known = [all(letter < "\u0980" for letter in word) for word in WORD.findall(text)]
    lengths = [len(word) for word in WORD.findall(text)]
    return 2 + sum(
        max(n // 3, 1) if is_known else 1 for n, is_known in zip(lengths, known, strict=True)
    )


def test_words_that_are_one_unknown_token_are_found_though_they_look_short() -> None:
    amharic = "ኢትዮጵያ በአፍሪካ ቀንድ የምትገኝ አገር ናት"

    assert tokens_per_word(amharic, count) == 1.0
    assert unknown_share(amharic, count) == 1.0
    assert unknown_share("Größere Bäume stehen überall im Wald", count) == 0.0
    assert unknown_share("Plain words of English", count) == 0.0
    assert unknown_share("12 + 3 = 15", count) == 0.0


def test_a_decomposed_letter_does_not_break_a_word_in_two() -> None:
    composed = "Müllabfuhr für große Gebäude"
    decomposed = unicodedata.normalize("NFD", composed)

    def words(text: str) -> int:
        return len(text.split()) + 2

    assert tokens_per_word(decomposed, words) == tokens_per_word(composed, words) == 1.0


def test_a_warning_names_language_documents_and_figure() -> None:
    foreign = Foreign()
    for ratio, unknown in ((1.2, 0.0), (2.5, 0.0), (2.7, 0.05)):
        foreign.add("de", ratio, unknown)
    foreign.add("am", 1.0, 0.9)

    first, second = foreign.warnings()

    assert first.startswith("language 'de': 2 documents have 2.6 tokens")
    assert second.startswith("language 'am': in 1 documents 90% of the words are one unknown token")


@pytest.mark.parametrize(
    ("text", "is_code", "language"),
    [
        ("too short", False, ""),
        ("Dies ist ein deutscher Text, der lang genug ist, um erkannt zu werden.", False, "de"),
        ("This is an English text that is long enough to be told from others.", False, "en"),
        ("x = 1\n" * 50, True, "en"),
    ],
)
def test_the_language_is_told_where_the_text_is_long_enough(
    text: str, is_code: bool, language: str
) -> None:
    assert language_of(text, is_code=is_code) == language
