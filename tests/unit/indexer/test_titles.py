"""
A document's title in what is embedded, and nowhere else.
"""

from __future__ import annotations

import pytest

from assembler.errors import InvalidRequest
from indexer.strategies import title
from indexer.strategies.registry import STRATEGIES, chunker_of, kept_chunker
from tests.fakes import FakeEmbedder
from tests.unit.indexer.cutting import cut, texts_of

TEXT = "# Fares\n\nFares are fixed.\n"


def test_the_title_stands_before_headings_in_what_is_embedded_alone() -> None:
    plain = cut(TEXT, titled="Travel  rules")
    titled = cut(TEXT, titled="Travel  rules", **{title.SETTING: True})

    assert [draft.embedding_input for draft in titled.drafts] == [
        "Travel rules\nFares\n# Fares\n\nFares are fixed.\n"
    ]
    assert texts_of(titled) == texts_of(plain)
    assert [one.text for one in titled.sections] == [one.text for one in plain.sections]
    assert titled.counts == {title.WRITTEN: 1}


def test_a_title_that_is_a_heading_above_is_not_said_twice() -> None:
    titled = cut("# Fares\n\nFixed.\n", titled="Fares", **{title.SETTING: True})

    assert [draft.embedding_input for draft in titled.drafts] == ["Fares\n# Fares\n\nFixed.\n"]
    assert not titled.counts


def test_a_source_without_a_title_stays_as_it_is() -> None:
    without = cut("Trains are slow.", **{title.SETTING: True})

    assert [draft.embedding_input for draft in without.drafts] == ["Trains are slow."]
    assert not without.counts


def test_a_title_without_room_is_left_out_and_counted() -> None:
    embedder = FakeEmbedder()
    long = "word " * embedder.spec.max_tokens

    titled = cut(TEXT, titled=long, embedder=embedder, **{title.SETTING: True})

    assert titled.drafts[0].embedding_input == cut(TEXT).drafts[0].embedding_input
    assert titled.counts == {title.MISSING: 1}


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name not in {"late", "llm"}])
def test_every_strategy_takes_it_and_keeps_it(name: str) -> None:
    titled = chunker_of(name, {title.SETTING: True})

    assert titled.settings[title.SETTING] is True
    assert titled.fingerprint != chunker_of(name).fingerprint
    assert kept_chunker(titled) == titled
    assert chunker_of(name, {title.SETTING: False}) == chunker_of(name)


def test_late_takes_none() -> None:
    with pytest.raises(InvalidRequest, match="title changes no vector of late"):
        chunker_of("late", {title.SETTING: True})
