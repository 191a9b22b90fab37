"""
Packing and places of the peers' items; none of the peers' libraries is needed.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assembler.span import Span
from bench.peers import PEERS, Item, Peer, PeerMissing, Retrieve, packed, systems
from bench.peers.items import Embedding, cut
from bench.peers.libraries import library
from bench.peers.places import Places
from bench.peers.run import best_of_sizes, spread
from evaluation.question_set import Document, Evidence, Question

TEXT = "One day.  Two days.\nThree days. One day.  Four days."


def words(text: str) -> int:
    return len(text.split())


def item(text: str, start: int = 0) -> Item:
    return Item("a", Span(start, start + len(text)), text)


def test_items_are_taken_in_order_until_the_next_no_longer_fits():
    shown = packed([item("one two"), item("three four five", 10), item("six", 30)], 4, words)

    assert shown.ranges == (("a", Span(0, 7)),)
    assert (shown.text, shown.tokens) == ("one two", 2)


def test_items_that_fill_the_budget_exactly_are_all_taken():
    shown = packed([item("one two"), item("three", 10)], 3, words)

    assert (shown.text, shown.tokens) == ("one two\n\nthree", 3)


def test_a_first_item_larger_than_the_budget_is_cut_with_its_range():
    shown = packed([item("one two three", 5), item("four", 30)], 2, words)

    assert shown.text.split() == ["one", "two"]
    assert shown.tokens == 2
    assert shown.ranges == (("a", Span(5, 5 + len(shown.text))),)


def test_an_item_without_a_place_counts_by_its_text_alone():
    shown = packed([Item("a", None, "one two")], 5, words)

    assert (shown.ranges, shown.text, shown.tokens) == ((), "one two", 2)


def test_no_items_are_an_empty_context():
    shown = packed([], 5, words)

    assert (shown.ranges, shown.text, shown.tokens) == ((), "", 0)


def test_a_cut_range_never_ends_behind_the_item():
    longer_than_its_range = Item("a", Span(3, 6), "one two three")

    assert cut(longer_than_its_range, 2, words).span == Span(3, 6)


@given(st.lists(st.text("ab ", min_size=1), max_size=6), st.integers(0, 12))
def test_a_context_is_never_over_its_budget(texts: Sequence[str], budget: int):
    shown = packed([item(text) for text in texts], budget, len)

    assert shown.tokens <= budget


def test_a_place_that_the_library_names_is_taken_where_the_text_stands_there():
    assert Places(TEXT).find("One day.", hint=32) == Span(32, 40)
    assert Places(TEXT).find("One day.", hint=31) == Span(0, 8)
    assert Places(TEXT).find("One day.", hint=-1) == Span(0, 8)


def test_a_search_begins_where_it_is_told_and_then_at_the_start():
    assert Places(TEXT).find("One day.", after=1) == Span(32, 40)
    assert Places(TEXT).find("Two days.", after=30) == Span(10, 19)


def test_a_text_with_other_white_space_is_found():
    assert Places(TEXT).find("One day. Two days. Three days.") == Span(0, 31)
    assert Places(TEXT).find("One day. Four days.", after=1) == Span(32, len(TEXT))


def test_a_text_that_is_nowhere_has_no_place():
    assert Places(TEXT).find("Five days.") is None
    assert Places(TEXT).find(" \n") is None


def test_pieces_in_order_are_found_one_behind_the_other():
    pieces = ["One day.", "day.  Two", "no such", "One day."]

    assert Places(TEXT).find_all(pieces) == [Span(0, 8), Span(4, 13), None, Span(32, 40)]


def test_a_missing_library_names_the_dependency_group():
    with pytest.raises(PeerMissing, match="dependency group peers") as caught:
        library("no_such_library")

    assert caught.value.module == "no_such_library"


@pytest.fixture
def peers(monkeypatch):
    there = {
        "one": Peer(("json",), {"small": no_peer, "large": no_peer}),
        "two": Peer(("json", "no_such_library.part"), {"small": no_peer}),
    }
    monkeypatch.setattr("bench.peers.PEERS", there)


def no_peer(documents: Sequence[Document], embed: Embedding) -> Retrieve:
    raise NotImplementedError


def test_a_system_has_its_peers_name_and_the_size_where_all_are_asked_for(peers):
    assert list(systems(["one"])) == ["one"]
    assert list(systems(["one"], has_sizes=True)) == ["one small", "one large"]


def test_a_peer_whose_library_is_not_installed_is_refused_before_anything_is_built(peers):
    with pytest.raises(PeerMissing, match="dependency group peers"):
        systems()


def test_an_unknown_peer_is_refused_with_the_names_there_are(peers):
    with pytest.raises(ValueError, match="one, two"):
        systems(["three"])


def test_the_size_of_the_documentation_stands_first():
    first = {name: next(iter(peer.sizes)) for name, peer in PEERS.items()}

    assert first["langchain-parent"] == "400/2000"
    assert first["llamaindex-automerge"] == "2048/512/128"
    assert first["haystack-automerge"] == "1024/256/64"


def test_the_best_size_is_chosen_per_budget():
    rows = {
        "haystack-automerge a": {
            "budgets": {"256": {"evidence_recall": 0.2}, "512": {"evidence_recall": 0.3}}
        },
        "haystack-automerge b": {
            "budgets": {"256": {"evidence_recall": 0.1}, "512": {"evidence_recall": 0.4}}
        },
    }

    best = best_of_sizes(rows)["haystack-automerge"]

    assert best["256"] == {"evidence_recall": 0.2, "size": "a"}
    assert best["512"] == {"evidence_recall": 0.4, "size": "b"}


def test_fewer_questions_are_taken_at_even_distances():
    evidence = (Evidence("a", Span(0, 1), "x"),)
    questions = [Question(str(number), "?", "en", evidence) for number in range(10)]

    assert [one.id for one in spread(questions, 3)] == ["0", "3", "6"]
    assert spread(questions, None) == questions
    assert spread(questions, 20) == questions
