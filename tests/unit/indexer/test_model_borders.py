"""
Models that propose borders are believed only so far.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adapters.chat import ChatUnavailable
from assembler.span import Span
from indexer.strategies import by_model
from tests.chat_server import ChatServer, Said, saying
from tests.fakes import FakeEmbedder
from tests.unit.indexer.cutting import texts_of
from tests.unit.indexer.writing import BORDERS, PARTS, TEXT, cut, endpoint


@pytest.mark.parametrize(
    "answer",
    [
        json.dumps(BORDERS[1:]),
        f"Here you are:\n```json\n{json.dumps(BORDERS[1:])}\n```\nGood luck!",
    ],
)
def test_borders_are_where_the_model_says(
    server: ChatServer, said: list[Said], tmp_path: Path, answer: str
) -> None:
    said[:] = [saying(answer)]

    found = cut(TEXT, endpoint(server, tmp_path), model="m", size=60)

    assert texts_of(found) == PARTS
    assert found.counts == {by_model.TAKEN: 3}
    assert "at most 60 tokens" in server.prompts[0]
    assert TEXT in server.prompts[0]


@pytest.mark.parametrize(
    ("answer", "counts", "pieces"),
    [
        ([BORDERS[2], "Trains of Oslo", BORDERS[3]], {by_model.NOT_THERE: 1}, 3),
        ([BORDERS[2], BORDERS[1], BORDERS[3]], {by_model.OUT_OF_ORDER: 1}, 3),
        ([BORDERS[2], 7, " ", BORDERS[3]], {by_model.NO_WORDS: 2}, 3),
        (
            [BORDERS[2], "trains are slow. Nobody likes Trondheim", BORDERS[3]],
            {by_model.TOO_SHORT: 1},
            3,
        ),
    ],
)
def test_a_border_that_does_not_hold_is_refused_and_counted(
    server: ChatServer,
    said: list[Said],
    tmp_path: Path,
    answer: list[object],
    counts: dict[str, int],
    pieces: int,
) -> None:
    said[:] = [saying(json.dumps(answer))]

    found = cut(TEXT, endpoint(server, tmp_path), model="m", size=80)

    assert found.counts == {by_model.TAKEN: 2, **counts}
    assert texts_of(found) == ["".join(PARTS[:2]), *PARTS[2:]]
    assert len(found.drafts) == pieces


def test_a_chunk_that_is_too_long_is_cut_recursively(
    server: ChatServer, said: list[Said], tmp_path: Path
) -> None:
    said[:] = [saying(json.dumps(BORDERS[3:]))]

    found = cut(TEXT, endpoint(server, tmp_path), model="m", size=60)

    assert found.counts == {by_model.TAKEN: 1, by_model.TOO_LONG: 1}
    assert texts_of(found)[-1] == PARTS[3]
    assert "".join(texts_of(found)) == TEXT
    assert all(FakeEmbedder().count(one) <= 62 for one in texts_of(found))


@pytest.mark.parametrize("answer", ["no", "[", '["a"', "{}", "][", "[1, 2,]"])
def test_an_answer_that_is_no_array_leaves_the_section_to_recursive(
    server: ChatServer, said: list[Said], tmp_path: Path, answer: str
) -> None:
    said[:] = [saying(answer)]

    found = cut(TEXT, endpoint(server, tmp_path), model="m", size=60)

    assert found.counts == {by_model.NO_LIST: 1}
    assert texts_of(found) == texts_of(cut(TEXT, None, "recursive", size=60))


def test_no_answer_stops_the_run_or_is_left_out_and_counted(
    server: ChatServer, said: list[Said], tmp_path: Path
) -> None:
    said[:] = [Said(b"too many", 429)]

    with pytest.raises(ChatUnavailable, match="answers 429"):
        cut(TEXT, endpoint(server, tmp_path), model="m", size=60)
    found = cut(TEXT, endpoint(server, tmp_path, leaves_out=True), model="m", size=60)

    assert found.counts == {by_model.MISSING: 1}
    assert texts_of(found) == texts_of(cut(TEXT, None, "recursive", size=60))


def test_short_sections_are_not_asked_about(
    server: ChatServer, said: list[Said], tmp_path: Path
) -> None:
    found = cut("# A\n\nShort.\n\n# B\n\nShort too.\n", endpoint(server, tmp_path), model="m")
    assert len(found.drafts) == 2
    assert found.counts == {}
    assert server.asked == []


def test_a_border_before_a_mark_moves_to_its_letter(
    server: ChatServer, said: list[Said], tmp_path: Path
) -> None:
    text = "word " * 30 + "e\u0301clair " + "word " * 60
    said[:] = [saying(json.dumps(["\u0301clair word"]))]

    found = cut(text, endpoint(server, tmp_path), model="m", size=70)

    assert found.counts[by_model.TAKEN] == 1
    assert Span(150, 151).slice(text) == "e"
    assert found.drafts[1].text.startswith("e\u0301clair")
