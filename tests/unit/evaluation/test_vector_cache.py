"""
What was embedded once is not embedded again.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.vector_cache import CachedEmbedder
from tests.fakes import FakeEmbedder


def test_vectors_come_from_the_file_in_a_later_run(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "vectors.sqlite"
    first = CachedEmbedder(FakeEmbedder(), path)
    told: list[int] = []
    made = first.embed_documents(["one", "two", "one"], told.append)
    assert first.embedded == 2
    assert sum(told) == 3
    first.close()

    again = CachedEmbedder(FakeEmbedder(), path)
    assert again.embed_documents(["two", "three"])[0] == made[1]
    assert again.embedded == 1
    assert again.embed_documents([]) == []
    again.close()

    plain = FakeEmbedder()
    for vector, text in zip(made, ("one", "two", "one"), strict=True):
        assert vector == pytest.approx(plain.embed_documents([text])[0], abs=1e-6)
    assert (again.spec, again.count("a b"), again.offsets("a b")) == (
        plain.spec,
        plain.count("a b"),
        plain.offsets("a b"),
    )


def test_models_do_not_share_vectors(tmp_path: Path) -> None:
    path = tmp_path / "vectors.sqlite"
    small = CachedEmbedder(FakeEmbedder(), path)
    small.embed_documents(["one"])

    class Prefixed(FakeEmbedder):
        @property
        def spec(self):
            found = super().spec
            return type(found)(
                *(found.model, found.revision, found.max_tokens, found.pooling),
                *("passage: ", found.query_prefix, found.normalised),
            )

    other = CachedEmbedder(Prefixed(), path)
    other.embed_documents(["one"])
    assert other.embedded == 1
    small.close()
    other.close()


def test_vectors_of_parts_are_made_together_and_kept(tmp_path: Path) -> None:
    cache = CachedEmbedder(FakeEmbedder(), tmp_path / "vectors.sqlite")
    text, spans = "one two", [(0, 4), (4, 7)]

    made = cache.embed_spans(text, spans, 5)
    again = cache.embed_spans(text, spans, 5)
    first = cache.embedded
    others = [cache.embed_spans(text, spans, 6), cache.embed_spans("one too", spans, 5)]

    for vector, expected in zip(made, FakeEmbedder().embed_spans(text, spans, 5), strict=True):
        assert vector == pytest.approx(expected, abs=1e-6)
    assert again == made
    assert (first, cache.embedded) == (2, 6)
    assert made not in others
    assert cache.embed_spans(text, [], 5) == []
    cache.close()
