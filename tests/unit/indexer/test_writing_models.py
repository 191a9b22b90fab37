"""
Models that write sentences of context, and runs with models that write.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adapters.chat import ChatUnavailable, KeptAnswersAlone
from adapters.kept_answers import KeptAnswers
from assembler.errors import InvalidRequest
from indexer.estimate import plan_index
from indexer.index import run_index
from indexer.ports import ChatModel
from indexer.request import IndexRequest, Summary
from indexer.strategies import context_sentence
from indexer.strategies.registry import chunker_of, kept_chunker
from tests.chat_server import ChatServer, Said, saying
from tests.fake_index import FakeIndex
from tests.fakes import FakeEmbedder
from tests.unit.indexer.cutting import texts_of
from tests.unit.indexer.writing import TEXT, cut, endpoint


def test_a_sentence_of_context_is_embedded_and_never_served(
    server: ChatServer, said: list[Said], tmp_path: Path
) -> None:
    said[:] = [saying("  About trains\n in the north.  ")]
    text = "# Travel\n\nTrains are slow.\n\n# Food\n\nMeals are paid.\n"

    plain = cut(text, None, "structure")
    found = cut(text, endpoint(server, tmp_path), "structure", context="m")

    assert texts_of(found) == texts_of(plain)
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
