"""
Models that write: they propose borders and sentences of context, and are believed only so far.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters.chat import ChatEndpoint, ChatUnavailable, KeptAnswersAlone
from adapters.kept_answers import KeptAnswers
from assembler.errors import InvalidRequest
from assembler.span import Span
from indexer.cut_source import CutSource, cut_source
from indexer.estimate import plan_index
from indexer.index import run_index
from indexer.ports import ChatModel
from indexer.request import IndexRequest, Summary
from indexer.sources import SourceFile
from indexer.strategies import by_model, context_sentence
from indexer.strategies.registry import chunker_of, kept_chunker
from tests.chat_server import ChatServer, Said, chat_server, saying
from tests.fake_index import FakeIndex
from tests.fakes import FakeEmbedder

PLACES = ("Oslo", "Bergen", "Trondheim", "Bodo")
PARTS = [f"In {one} trains are slow. " + f"Nobody likes {one} at all. " * 4 for one in PLACES]
TEXT = "".join(PARTS)
BORDERS = [f"In {one} trains" for one in PLACES]


def endpoint(server: ChatServer, folder: Path, **more: Any) -> ChatEndpoint:
    answers = KeptAnswers(folder / "answers.sqlite")
    return ChatEndpoint(server.url, answers, sleep=lambda _: None, **more)


def cut(text: str, chat: ChatModel | None, strategy: str = "llm", **settings: Any) -> CutSource:
    return cut_source(
        SourceFile(Path("a.md"), "a.md", "text/markdown"),
        text,
        tenant="",
        language="en",
        fields={},
        revision=1,
        is_active=True,
        embedder=FakeEmbedder(),
        chunker=chunker_of(strategy, settings),
        chat=chat,
    )


def texts(found: CutSource) -> list[str]:
    return [draft.text for draft in found.drafts]


@pytest.fixture
def said() -> list[Said]:
    return []


@pytest.fixture
def server(said: list[Said]) -> Iterator[ChatServer]:
    with chat_server(lambda _: said[0]) as running:
        yield running


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

    assert texts(found) == PARTS
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
    assert texts(found) == ["".join(PARTS[:2]), *PARTS[2:]]
    assert len(found.drafts) == pieces


def test_a_chunk_that_is_too_long_is_cut_recursively(
    server: ChatServer, said: list[Said], tmp_path: Path
) -> None:
    said[:] = [saying(json.dumps(BORDERS[3:]))]

    found = cut(TEXT, endpoint(server, tmp_path), model="m", size=60)

    assert found.counts == {by_model.TAKEN: 1, by_model.TOO_LONG: 1}
    assert texts(found)[-1] == PARTS[3]
    assert "".join(texts(found)) == TEXT
    assert all(FakeEmbedder().count(one) <= 62 for one in texts(found))


@pytest.mark.parametrize("answer", ["no", "[", '["a"', "{}", "][", "[1, 2,]"])
def test_an_answer_that_is_no_array_leaves_the_section_to_recursive(
    server: ChatServer, said: list[Said], tmp_path: Path, answer: str
) -> None:
    said[:] = [saying(answer)]

    found = cut(TEXT, endpoint(server, tmp_path), model="m", size=60)

    assert found.counts == {by_model.NO_LIST: 1}
    assert texts(found) == texts(cut(TEXT, None, "recursive", size=60))


def test_no_answer_stops_the_run_or_is_left_out_and_counted(
    server: ChatServer, said: list[Said], tmp_path: Path
) -> None:
    said[:] = [Said(b"too many", 429)]

    with pytest.raises(ChatUnavailable, match="answers 429"):
        cut(TEXT, endpoint(server, tmp_path), model="m", size=60)
    found = cut(TEXT, endpoint(server, tmp_path, leaves_out=True), model="m", size=60)

    assert found.counts == {by_model.MISSING: 1}
    assert texts(found) == texts(cut(TEXT, None, "recursive", size=60))


def test_short_sections_are_not_asked_about(
    server: ChatServer, said: list[Said], tmp_path: Path
) -> None:
    found = cut("# A\n\nShort.\n\n# B\n\nShort too.\n", endpoint(server, tmp_path), model="m")
    assert len(found.drafts) == 2
    assert found.counts == {}
    assert server.asked == []


def test_a_sentence_of_context_is_embedded_and_never_served(
    server: ChatServer, said: list[Said], tmp_path: Path
) -> None:
    said[:] = [saying("  About trains\n in the north.  ")]
    text = "# Travel\n\nTrains are slow.\n\n# Food\n\nMeals are paid.\n"

    plain = cut(text, None, "structure")
    found = cut(text, endpoint(server, tmp_path), "structure", context="m")

    assert texts(found) == texts(plain)
    assert [one.text for one in found.sections] == [one.text for one in plain.sections]
    assert [one.embedding_input for one in found.drafts] == [
        f"About trains in the north.\n{one.embedding_input}" for one in plain.drafts
    ]
    assert {one.input_sha256 for one in found.drafts}.isdisjoint(
        one.input_sha256 for one in plain.drafts
    )
    assert found.counts == {context_sentence.WRITTEN: 2}
    assert all("<document>\n# Travel" in one for one in server.prompts)
    assert sorted("Meals" in one.split("<passage>")[1] for one in server.prompts) == [False, True]


def test_a_sentence_gets_the_room_that_the_model_has_left(
    server: ChatServer, said: list[Said], tmp_path: Path
) -> None:
    said[:] = [saying("long " * 400)]
    full = "word " * 254

    short = cut("Trains are slow.", endpoint(server, tmp_path), "structure", context="m")
    none = cut(full, endpoint(server, tmp_path), "fixed", context="m", size=254)

    (draft,) = short.drafts
    assert FakeEmbedder().count(draft.embedding_input) == 256
    assert short.counts == {context_sentence.WRITTEN: 1, context_sentence.SHORTENED: 1}
    assert [one.embedding_input for one in none.drafts] == [full]
    assert none.counts == {context_sentence.MISSING: 1}


def test_answers_are_kept_by_document_span_model_and_prompt(
    server: ChatServer, said: list[Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said[:] = [saying("About it.")]
    text = "# Travel\n\nTrains are slow.\n"

    def asked(model: str, text: str = text) -> int:
        before = len(server.asked)
        cut(text, endpoint(server, tmp_path), "structure", context=model)
        return len(server.asked) - before

    assert [asked("m"), asked("m"), asked("n"), asked("m", text + "More.\n")] == [1, 0, 1, 1]
    monkeypatch.setattr(context_sentence, "PROMPT_VERSION", "2")
    assert asked("m") == 1


def index(folder: Path, store: FakeIndex, chat: ChatModel | None, **more: Any) -> Summary:
    request = IndexRequest("docs", (folder,), **more)
    return run_index(request, store, FakeEmbedder(), lambda *_: None, chat=chat)


def test_a_run_tells_what_the_model_did_and_a_plan_asks_nothing(
    server: ChatServer, said: list[Said], tmp_path: Path
) -> None:
    said[:] = [saying("About trains.")]
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# A\n\nTrains are slow.\n")
    store, chat = FakeIndex(), endpoint(server, tmp_path)
    request = IndexRequest("docs", (docs,), strategy_settings={"context": "m"})
    answers = KeptAnswersAlone(KeptAnswers(tmp_path / "answers.sqlite"))

    planned = plan_index(request, store, FakeEmbedder(), lambda *_: None, chat=answers)
    nothing_asked = len(server.asked)
    summary = index(docs, store, chat, strategy_settings={"context": "m"})
    (docs / "a.md").write_text("# A\n\nTrains are quick.\n")
    later = index(docs, store, chat)
    off = index(docs, store, None, strategy="structure")

    assert (planned.chunks, nothing_asked) == (1, 0)
    assert summary.counts[context_sentence.WRITTEN] == 1
    assert later.counts[context_sentence.WRITTEN] == 1, "later runs cut as the index has it"
    assert off.counts == {}
    assert len({one.index_version.split(".")[0] for one in (summary, off)}) == 2


def test_a_run_that_gets_no_answer_publishes_nothing(
    server: ChatServer, said: list[Said], tmp_path: Path
) -> None:
    said[:] = [Said(b"no", 403)]
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# A\n\nTrains are slow.\n")
    store = FakeIndex()

    with pytest.raises(ChatUnavailable, match="answers 403: no"):
        index(docs, store, endpoint(server, tmp_path), strategy_settings={"context": "m"})

    assert not any(one.ledger.revision for one in store.listings(""))


@pytest.mark.parametrize("strategy", ["structure", "llm"])
def test_without_an_endpoint_the_setting_is_named(strategy: str) -> None:
    setting = {"model": "m"} if strategy == "llm" else {"context": "m"}
    with pytest.raises(InvalidRequest, match="set CONTEXT_ASSEMBLER_CHAT_URL"):
        cut(TEXT, None, strategy, **setting)


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="llm needs model=NAME"):
        chunker_of("llm")
    with pytest.raises(InvalidRequest, match="context changes no vector of late"):
        chunker_of("late", {"context": "m"})


def test_a_configuration_without_context_is_what_it_always_was() -> None:
    plain, with_context = chunker_of("structure"), chunker_of("structure", {"context": "m"})

    assert chunker_of("structure", {"context": ""}) == plain
    assert "context" not in plain.settings
    assert with_context.fingerprint != plain.fingerprint
    assert kept_chunker(with_context) == with_context
    assert kept_chunker(with_context, {"context": ""}) == plain


def test_a_border_before_a_mark_moves_to_its_letter(
    server: ChatServer, said: list[Said], tmp_path: Path
) -> None:
    text = "word " * 30 + "e\u0301clair " + "word " * 60
    said[:] = [saying(json.dumps(["\u0301clair word"]))]

    found = cut(text, endpoint(server, tmp_path), model="m", size=70)

    assert found.counts[by_model.TAKEN] == 1
    assert Span(150, 151).slice(text) == "e"
    assert found.drafts[1].text.startswith("e\u0301clair")
