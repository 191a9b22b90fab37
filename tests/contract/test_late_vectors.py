"""
Vectors of parts from one pass over the whole, with the real model.
"""

from __future__ import annotations

import json
import shutil
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from adapters.embedder import OnnxEmbedder
from adapters.late_vectors import Reading, readings, tokens_of

LEAST_COSINE = 0.9999
SHORT = (
    "Berlin is the capital of Germany. The city has 3.7 million inhabitants.",
    "a",
    "Die Ku\u0308ndigungsfrist betra\u0308gt drei Monate zum Quartalsende.",
    "half \ud800 of a pair, \0 and 👩‍👩‍👧",
)


@pytest.fixture(scope="module")
def embedder(model_folder: Path) -> OnnxEmbedder:
    return OnnxEmbedder(model_folder, threads=1)


def cosine(one, other) -> float:
    return float(np.asarray(one) @ np.asarray(other))


@pytest.mark.parametrize("text", SHORT)
def test_a_chunk_that_is_the_whole_text_has_its_ordinary_vector(
    embedder: OnnxEmbedder, text: str
) -> None:
    (ordinary,) = embedder.embed_documents([text])
    (late,) = embedder.embed_spans(text, [(0, len(text))], 64)
    assert cosine(late, ordinary) >= LEAST_COSINE


def test_so_it_is_behind_a_prefix(model_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "prefixed"
    shutil.copytree(model_folder, folder)
    description = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps({**description, "prefix": "passage: "}))
    embedder = OnnxEmbedder(folder, threads=1)
    text = SHORT[0]

    (ordinary,) = embedder.embed_documents([text])
    (late,) = embedder.embed_spans(text, [(0, len(text))], 64)

    assert cosine(late, ordinary) >= LEAST_COSINE


def test_a_part_knows_what_the_rest_speaks_of(embedder: OnnxEmbedder) -> None:
    text = "Berlin is the capital of Germany. It has 3.7 million inhabitants. Nobody counts trees."
    first, second = text.index("It has"), text.index("Nobody")
    spans = [(0, first), (first, second), (second, len(text))]
    (asked,) = embedder.embed_documents(["How many people live in Berlin?"])
    (alone,) = embedder.embed_documents([text[first:second]])

    late = embedder.embed_spans(text, spans, 64)

    assert cosine(late[1], asked) > cosine(alone, asked) + 0.1
    assert all(abs(float(np.linalg.norm(one)) - 1.0) < 1e-5 for one in late)


def test_the_parts_together_are_the_whole(embedder: OnnxEmbedder) -> None:
    text = SHORT[0]
    middle = text.index("The city")
    (whole,) = embedder.embed_spans(text, [(0, len(text))], 0)
    tokens = tokens_of(text, [(0, middle), (middle, len(text))], "", embedder._tokenizer.encode)
    numbers = [int((tokens.range_of == one).sum()) + 1 for one in (0, 1)]  # and a special one each
    assert sum(numbers) == embedder.count(text)

    hidden, _ = embedder._hidden([[*tokens.lead, *tokens.ids, *tokens.tail]])
    cut = numbers[0]
    parts = np.asarray(embedder.embed_spans(text, [(0, middle), (middle, len(text))], 0))

    for part, inside in zip(parts, (hidden[0, :cut], hidden[0, cut:]), strict=True):
        mean = inside.mean(axis=0)
        assert cosine(part, mean / np.linalg.norm(mean)) >= LEAST_COSINE
    assert cosine(whole, parts.mean(axis=0)) > 0.8


def test_a_long_text_is_read_in_windows_that_overlap(embedder: OnnxEmbedder) -> None:
    sentence = "Trains of the north are slow and nobody likes them at all. "
    text = sentence * 200
    assert embedder.count(text) > 8 * embedder.spec.max_tokens
    spans = [(at, at + len(sentence)) for at in range(0, len(text), len(sentence))]

    late = np.asarray(embedder.embed_spans(text, spans, 64))
    again = np.asarray(embedder.embed_spans(text, spans, 64))

    assert late.shape == (200, embedder.spec.model.dimension)
    assert np.array_equal(late, again)
    assert np.allclose(np.linalg.norm(late, axis=1), 1.0, atol=1e-5)
    tokens = tokens_of(text, spans, "", embedder._tokenizer.encode)
    second = readings(len(tokens.ids), embedder.spec.max_tokens - 2, 64)[1]
    row = [*tokens.lead, *tokens.ids[second.start : second.end], *tokens.tail]
    hidden, _ = embedder._hidden([row])
    inside = sorted(set(tokens.range_of[second.first : second.last].tolist()))[1:-1]
    assert len(inside) > 10
    for number in inside:
        places = np.flatnonzero(tokens.range_of == number) - second.start + len(tokens.lead)
        mean = hidden[0, places].mean(axis=0)
        assert cosine(late[number], mean / np.linalg.norm(mean)) >= LEAST_COSINE


def test_a_part_without_a_token_is_embedded_alone(embedder: OnnxEmbedder) -> None:
    text = "Trains are slow." + " " * 20 + "Nobody likes them."
    spans = [(0, 16), (16, 36), (36, len(text))]
    (blank,) = embedder.embed_documents([" " * 20])

    late = embedder.embed_spans(text, spans, 64)
    nothing = embedder.embed_spans("  \n ", [(0, 2), (2, 4)], 64)

    assert cosine(late[1], blank) >= LEAST_COSINE
    assert all(cosine(one, blank) >= LEAST_COSINE for one in nothing)


def test_a_model_that_does_not_pool_by_mean_is_refused(model_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cls"
    shutil.copytree(model_folder, folder)
    description = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps({**description, "pooling": "cls"}))
    with pytest.raises(ValueError, match="the model pools by cls"):
        OnnxEmbedder(folder, threads=1).embed_spans("Text.", [(0, 5)], 0)


def test_tokens_belong_to_the_range_in_which_they_end(embedder: OnnxEmbedder) -> None:
    text = "U\u0308ber trains, and more. Not asked. Slow trains."
    first, gap = text.index(" and"), text.index("Not")
    spans = [(0, first), (first, gap), (text.index("Slow"), len(text))]

    tokens = tokens_of(text, spans, "", embedder._tokenizer.encode)

    words = [embedder._tokenizer.id_to_token(one) for one in tokens.ids]
    found = dict.fromkeys((0, 1, 2, -1), "")
    for word, number in zip(words, tokens.range_of, strict=True):
        found[int(number)] += word.replace("##", "")
    assert found == {0: "ubertrains,", 1: "andmore.", 2: "slowtrains.", -1: "notasked."}
    assert unicodedata.normalize("NFC", text)[0] == "Ü"


@pytest.mark.parametrize(
    ("tokens", "room", "overlap", "expected"),
    [
        (0, 10, 4, [Reading(0, 0, 0, 0)]),
        (10, 10, 4, [Reading(0, 10, 0, 10)]),
        (11, 10, 4, [Reading(0, 10, 0, 8), Reading(6, 11, 8, 11)]),
        (16, 10, 4, [Reading(0, 10, 0, 8), Reading(6, 16, 8, 16)]),
        (17, 10, 4, [Reading(0, 10, 0, 8), Reading(6, 16, 8, 14), Reading(12, 17, 14, 17)]),
        (5, 2, 1, [Reading(at, at + 2, at, at + 1) for at in range(3)] + [Reading(3, 5, 3, 5)]),
        (5, 2, 9, [Reading(at, at + 2, at, at + 1) for at in range(3)] + [Reading(3, 5, 3, 5)]),
        (4, 2, 0, [Reading(0, 2, 0, 2), Reading(2, 4, 2, 4)]),
    ],
)
def test_windows_overlap_and_what_they_count_for_does_not(
    tokens: int, room: int, overlap: int, expected: list[Reading]
) -> None:
    assert readings(tokens, room, overlap) == expected
