"""
What each strategy makes of texts that a person can cut by hand.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.store import ChunkerSpec
from assembler.errors import InvalidRequest
from assembler.model import BorderKind
from assembler.span import Span
from indexer.cut_source import CHUNKER
from indexer.strategies.cluster import best_groups, mean_similarity
from indexer.strategies.recursive import split_recursively
from indexer.strategies.registry import STRATEGIES, check_limit, chunker_of, kept_chunker
from tests.fakes import FakeEmbedder
from tests.unit.indexer.cutting import cut, texts_of

TOPICS = ("cat", "dog", "tax")


class TopicEmbedder(FakeEmbedder):
    """
    A model whose vectors say how often a text names each of a few topics.
    """

    def embed_documents(self, texts: Sequence[str], progress=None) -> list[tuple[float, ...]]:
        made = []
        for text in texts:
            row = np.array([text.count(topic) for topic in TOPICS], dtype=float) + 1e-3
            made.append(tuple(row / np.linalg.norm(row)))
        return made


def test_indexes_cut_by_structure_stay_what_they_are() -> None:
    fingerprint = "f1235008c63bb07663f1f0deca170cef650ac17b19a7f0501049241833ae117d"
    assert fingerprint == CHUNKER.fingerprint
    (draft,) = cut("# A\n\nThe text.\n").drafts
    assert draft.chunk.key == "c94aba5b-eec4-510d-a492-06bbc29f6306"
    assert draft.embedding_input == "A\n# A\n\nThe text.\n"


def test_fixed_windows_have_exactly_so_many_tokens() -> None:
    source = cut("one two three four five six seven ", "a.txt", strategy="fixed", size=3)
    assert texts_of(source) == ["one two three ", "four five six ", "seven "]


def test_sliding_windows_repeat_the_overlap_inside_a_section() -> None:
    text = "one two three four five six seven"
    source = cut(text, "a.txt", strategy="sliding", size=3, overlap=1)
    assert texts_of(source) == ["one two three ", "three four five ", "five six seven"]
    (section,) = source.sections
    assert {one.offset for one in section.borders if one.kind is BorderKind.FORCED} >= {
        *(text.index(word) for word in ("three", "four", "five", "six")),
    }


def test_windows_do_not_reach_into_the_next_headed_part() -> None:
    words = "word " * 30
    source = cut(f"# A\n\n{words}\n\n# B\n\n{words}", strategy="sliding", size=20, overlap=5)
    assert [section.heading_path for section in source.sections] == [("A",), ("B",)]
    assert all("A" not in text or "B" not in text for text in texts_of(source))
    assert source.drafts[0].embedding_input.startswith("A\n# A\n")


def test_without_headings_sections_are_cut_by_size_and_nothing_stands_before_a_text() -> None:
    source = cut("# A\n\none\n\n# B\n\ntwo\n", strategy="fixed", size=50, headings=False)
    assert len(source.sections) == 1
    assert [draft.embedding_input for draft in source.drafts] == [source.text]


def test_recursive_cuts_at_paragraphs_then_sentences_then_words() -> None:
    text = "One two. Three four.\n\nFive six seven eight nine ten eleven."
    source = cut(text, "a.txt", strategy="recursive", size=6)
    assert texts_of(source) == [
        "One two. Three four.\n\n",
        "Five six seven eight nine ten ",
        "eleven.",
    ]
    source = cut(text, "a.txt", strategy="recursive", size=5)
    assert texts_of(source)[:2] == ["One two. ", "Three four.\n\n"]


def test_recursive_pieces_are_joined_up_to_the_size_and_repeat_whole_parts() -> None:
    def words(span: Span) -> list[int]:
        return [at for at in range(span.start + 2, span.end) if at % 2 == 0]

    length = {"size": 3, "overlap": 1, "length": lambda span: span.length // 2}
    found = split_recursively(Span(0, 12), [words], **length)
    assert found == [Span(0, 6), Span(4, 10), Span(8, 12)]


def test_recursive_keeps_what_no_level_cuts() -> None:
    found = split_recursively(
        Span(0, 9), [lambda _: ()], size=3, overlap=0, length=lambda span: span.length
    )
    assert found == [Span(0, 9)]


def test_semantic_cuts_where_the_subject_changes() -> None:
    text = "A cat sat. The cat ran. A cat slept. The tax rose. The tax fell. A tax was due."
    source = cut(
        text, "a.txt", TopicEmbedder(), "semantic", percentile=80, around=0, section_tokens=100
    )
    assert texts_of(source) == [text[:37], text[37:]]


def test_cluster_groups_what_is_alike() -> None:
    text = "A cat sat. The cat ran. A cat slept. The tax rose. The tax fell. A tax was due."
    source = cut(text, "a.txt", TopicEmbedder(), "cluster", size=40, piece=5)
    assert texts_of(source) == [text[:37], text[37:]]


@given(
    st.lists(st.tuples(*[st.integers(-3, 3)] * 3).filter(any), min_size=1, max_size=7),
    st.integers(1, 4),
)
def test_no_other_grouping_is_better(rows: list[tuple[int, int, int]], most: int) -> None:
    vectors = np.asarray(rows, dtype=float)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    mean = mean_similarity(vectors)
    alike = vectors @ vectors.T - mean
    np.fill_diagonal(alike, 0.0)

    def worth(groups: Sequence[tuple[int, int]]) -> float:
        return sum(alike[first : last + 1, first : last + 1].sum() for first, last in groups)

    count = len(rows)
    all_groups = [
        list(itertools.pairwise((0, *inside, count)))
        for number in range(count)
        for inside in itertools.combinations(range(1, count), number)
    ]
    possible = [
        [(start, end - 1) for start, end in groups]
        for groups in all_groups
        if all(end - start <= most for start, end in groups)
    ]
    found = best_groups(vectors, [1] * count, mean=mean, most_pieces=most, size=99)
    assert found in possible
    assert worth(found) == pytest.approx(max(map(worth, possible)), abs=1e-4)


def test_a_mean_of_similarities_leaves_out_each_with_itself() -> None:
    assert mean_similarity(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])) == pytest.approx(1 / 3)
    assert mean_similarity(np.array([[1.0, 0.0]])) == 0.0


def test_adaptive_keeps_short_parts_and_splits_long_ones_where_they_change() -> None:
    text = (
        "# A\n\nShort part of a cat, kept whole as it is, for it is long enough to stand alone.\n"
    )
    long = (
        "\n# B\n\nA cat sat. The cat ran. A cat slept. The tax rose. The tax fell. A tax was due."
    )
    embedder = TopicEmbedder()
    source = cut(text + long, embedder=embedder, strategy="adaptive", size=26, least=5)
    assert texts_of(source) == [
        text + "\n",
        "# B\n\nA cat sat. The cat ran. A cat slept. ",
        "The tax rose. The tax fell. A tax was due.",
    ]


def test_adaptive_joins_what_is_too_short_with_the_more_similar_neighbour() -> None:
    text = "A dog sat here. A dog ran there. Cat. The cat slept a lot. The cat ate a lot."
    source = cut(text, "a.txt", TopicEmbedder(), "adaptive", size=15, least=4)
    assert texts_of(source) == [text[:33], text[33:]]


@pytest.mark.parametrize(
    ("name", "given", "problem"),
    [
        ("windowed", {}, "strategy: 'windowed' is not one of structure, fixed"),
        ("fixed", {"overlap": 3}, "setting: 'overlap' of fixed is not one of size"),
        ("fixed", {"size": "many"}, "setting: size must be a whole number, got 'many'"),
        ("fixed", {"size": True}, "setting: size must be a whole number, got True"),
        ("fixed", {"size": 0}, "setting: size must be at least 1, got 0"),
        ("fixed", {"headings": "maybe"}, "setting: headings must be true or false"),
        ("semantic", {"percentile": "nan"}, "setting: percentile must be at least 0 and at most"),
        ("semantic", {"percentile": 101}, "at least 0 and at most 100, got 101"),
        ("sliding", {"size": 9, "overlap": 9}, "setting: overlap=9 must be below size=9"),
        ("cluster", {"size": 9, "piece": 10}, "setting: piece=10 must be at most size=9"),
    ],
)
def test_what_does_not_go_is_refused_by_name(name: str, given, problem: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        chunker_of(name, given)
    assert problem in str(refused.value)


def test_settings_have_the_type_of_their_default() -> None:
    values = {"size": "90", "headings": "FALSE", "percentile": "90"}
    assert dict(chunker_of("semantic", values).settings) == {
        "size": 90,
        "section_tokens": 700,
        "headings": False,
        "percentile": 90.0,
        "around": 1,
    }


def test_an_index_keeps_its_settings_and_takes_changed_ones() -> None:
    stored = ChunkerSpec("sliding", "0", {"size": 90, "gone": 1})
    kept = kept_chunker(stored, {"overlap": "9"})
    assert kept == chunker_of("sliding", {"size": 90, "overlap": 9})
    assert kept.fingerprint != chunker_of("sliding").fingerprint


def test_what_the_model_cannot_take_is_refused_where_it_is_asked_for() -> None:
    check_limit(chunker_of("fixed", {"size": 254}), 256, 254)
    with pytest.raises(InvalidRequest, match=r"size=255 .* at most 254 here"):
        check_limit(chunker_of("fixed", {"size": 255}), 256, 254)
    with pytest.raises(InvalidRequest, match=r"chunk_tokens=257 .* at most 256 here"):
        check_limit(chunker_of("structure", {"chunk_tokens": 257}), 256, 254)
    check_limit(chunker_of("late", {"window_overlap": 127}), 256, 254)
    with pytest.raises(InvalidRequest, match=r"window_overlap=128 .* at most 127 here"):
        check_limit(chunker_of("late", {"window_overlap": 128}), 256, 254)
    check_limit(chunker_of("fixed"), 64, 62)  # the default is cut down to what the model takes


def test_every_strategy_says_what_it_does() -> None:
    assert all(
        one.means and all(s.means for s in one.settings.values()) for one in STRATEGIES.values()
    )
