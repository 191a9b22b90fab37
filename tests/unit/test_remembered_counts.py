"""
Remembered counts are the tokenizer's own, and no text is kept longer than asked.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.remembered_counts import MOST_CHARS, RememberedCounts, RememberedTokenizers
from adapters.token_counters import TokenizerFolder
from assembler.errors import TokenizerUnknown
from assembler.ports import ChatMessage


class Asked:
    """
    Counts code points and notes what it was asked.
    """

    name, sha256 = "chars", "0" * 64

    def __init__(self) -> None:
        self.texts: list[str] = []

    def count(self, text: str) -> int:
        self.texts.append(text)
        return len(text)

    def count_messages(self, messages: Sequence[ChatMessage]) -> int:
        return sum(len(one.content) for one in messages)


def test_a_text_is_counted_once() -> None:
    counter = Asked()
    remembered = RememberedCounts(counter)

    assert [remembered.count(text) for text in ("ab", "abc", "ab", "")] == [2, 3, 2, 0]
    assert counter.texts == ["ab", "abc", ""]
    assert (remembered.hits, remembered.misses) == (1, 3)


def test_long_texts_are_counted_each_time() -> None:
    counter = Asked()
    remembered = RememberedCounts(counter)

    assert [remembered.count("x" * (MOST_CHARS + 1)) for _ in range(2)] == [MOST_CHARS + 1] * 2
    assert len(counter.texts) == 2
    assert remembered.misses == 0


def test_only_so_many_counts_are_kept() -> None:
    counter = Asked()
    remembered = RememberedCounts(counter, kept=2)

    for text in ("a", "bb", "a", "ccc", "a", "bb"):
        remembered.count(text)

    assert counter.texts == ["a", "bb", "ccc", "bb"]  # the one that was not used longest went


def test_half_a_pair_of_surrogates_has_a_count_of_its_own() -> None:
    remembered = RememberedCounts(Asked())

    assert [remembered.count(text) for text in ("\ud83d", "\ud83d\ude00", "\ufffd")] == [1, 2, 1]


@given(st.lists(st.text(max_size=20), max_size=20))
def test_counts_are_those_of_the_tokenizer(texts: list[str]) -> None:
    remembered = RememberedCounts(Asked(), kept=4)

    assert [remembered.count(text) for text in texts + texts] == [len(t) for t in texts + texts]


def test_every_name_of_a_tokenizer_has_the_same_counts(tokenizer_folder) -> None:
    plain = TokenizerFolder(tokenizer_folder)
    remembered = RememberedTokenizers(plain)

    assert remembered.names() == plain.names()
    assert remembered.get("gpt-4o") is remembered.get("o200k_base")
    assert remembered.get("gpt-4o").name == "o200k_base"
    assert [remembered.get("gpt-4o").count("two words") for _ in range(2)] == [2, 2]
    assert remembered.requests() == (1, 1)
    with pytest.raises(TokenizerUnknown):
        remembered.get("nothing")
