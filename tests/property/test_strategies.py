"""
Whatever a text is made of and however it is cut: nothing is lost, nothing is above the limit.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.chat import Asked
from adapters.store import EmbeddingSpec
from assembler.model import BorderKind
from assembler.span import union_of
from indexer.cut_source import CutSource, cut_source
from indexer.read_source import CODE
from indexer.sources import SourceFile
from indexer.strategies.registry import STRATEGIES, chunker_of
from tests.fakes import FakeEmbedder
from tests.odd_texts import PIECES, LetterEmbedder, UnevenEmbedder, anything, joined

pytest.importorskip("tree_sitter")

EXAMPLES = 60
CHAT = ("User: Where is it?\n", "Assistant: Here.\n\n", "[10:32] Ada: no\n", "**Bob:** word " * 90)
SYNTAX = (
    *("import os\n", "from a import (\n    b,\n    c,\n)\n", "x = 1\n", "# remark\n", "é = 'ü'\n"),
    *("class A:\n    '''Doc.'''\n\n", "    @cached\n    def f(self):\n        return os\n\n"),
    *("def g(n):\n" + "    n += 1\n" * 80, "function h() { return 1 }\n", "impl A {\n", "}\n"),
    *("#include <a.h>\n", "func F(n int) int {\n\treturn n\n}\n", "export class B {\n m() {}\n}\n"),
    *("fn k() -> u8 { 1 }\n", "namespace n {\n", "struct S { int a; };\n", "a" * 700),
)
any_texts = joined(st.sampled_from((*PIECES, *CHAT, *SYNTAX)) | anything)
places = st.sampled_from(
    [
        *(("a.md", "text/markdown"), ("a.txt", "text/plain"), ("a.css", CODE)),
        *((f"a{suffix}", CODE) for suffix in (".py", ".ts", ".tsx", ".rs", ".go", ".java", ".cpp")),
        *((f"a{suffix}", CODE) for suffix in (".c", ".js")),
    ]
)


class Short(FakeEmbedder):
    """
    A model that takes few tokens.
    """

    @property
    def spec(self) -> EmbeddingSpec:
        return replace(super().spec, max_tokens=40)


class ShortLetters(LetterEmbedder, Short):
    """
    A model that takes few letters.
    """


class OddChat:
    """
    A model that writes, which proposes borders of every kind, and sentences that are too long; what
    it says depends on what it is asked alone.
    """

    def answers(self, model: str, asked: Sequence[Asked]) -> list[str | None]:
        return [self._answer(one) for one in asked]

    def _answer(self, asked: Asked) -> str | None:
        said = random.Random(asked.key)
        text = asked.prompt.partition("<text>\n")[2].removesuffix("\n</text>")
        places = [said.randrange(max(len(text), 1)) for _ in range(said.randrange(6))]
        if said.randrange(3):
            places.sort()
        words = [text[place : place + said.randrange(1, 30)] for place in places]
        answers = (
            json.dumps(words),
            json.dumps([*words, 7, "not there"]),
            "no array",
            "word " * 400,
        )
        return said.choice((*answers, None))


models = st.sampled_from([FakeEmbedder(), Short(), ShortLetters(), UnevenEmbedder()])
chunkers = st.one_of(
    *(
        st.builds(
            lambda size, over, name=name: chunker_of(
                name,
                {
                    key: value
                    for key, value in (("size", size), ("overlap", over % size), ("piece", size))
                    if key in STRATEGIES[name].settings
                }
                | ({"least": size // 2} if name in ("adaptive", "llm") else {})
                | ({"model": "m"} if name == "llm" else {})
                | ({"context": "m"} if over % 4 == 0 and name != "late" else {}),
            ),
            st.integers(1, 130),
            st.integers(0, 129),
        )
        for name in STRATEGIES
    )
)


def cut(text: str, place: tuple[str, str], embedder: FakeEmbedder, chunker) -> CutSource:
    name, media_type = place
    return cut_source(
        SourceFile(Path(name), name, media_type),
        text,
        tenant="",
        language="",
        fields={},
        revision=1,
        is_active=True,
        embedder=embedder,
        chunker=chunker,
        chat=OddChat(),
    )


@settings(max_examples=EXAMPLES * len(STRATEGIES), deadline=None)
@given(any_texts, places, models, chunkers)
def test_a_strategy_loses_nothing_and_stays_below_the_limit(
    text: str, place: tuple[str, str], embedder: FakeEmbedder, chunker
) -> None:
    source = cut(text, place, embedder, chunker)

    assert "".join(section.text for section in source.sections) == text
    assert source.sections[0].span.start == 0
    for section in source.sections:
        assert section.span.slice(text) == section.text
        spans = section.chunk_spans
        assert union_of(spans) == (section.span,)
        assert list(spans) == sorted(spans)
        assert not any(other.contains(one) for one, other in zip(spans[1:], spans, strict=False)), (
            "a chunk inside the one before"
        )
        offsets = [border.offset for border in section.borders]
        assert offsets == sorted(set(offsets))
        edges = [one for one in section.borders if one.offset in section.span]
        assert all(one.kind is BorderKind.FORCED for one in edges), "a cut inside a sentence"
        assert all(section.span.start <= offset <= section.span.end for offset in offsets)
    most = embedder.spec.max_tokens
    assert all(embedder.count(draft.embedding_input) <= most for draft in source.drafts)
    assert all(draft.embedding_input.endswith(draft.text) for draft in source.drafts)
    keys = [draft.chunk.key for draft in source.drafts]
    assert len(keys) == len(set(keys))
    assert keys == [key for section in source.sections for key in section.chunk_keys]


@settings(max_examples=EXAMPLES, deadline=None)
@given(any_texts, places, chunkers)
def test_equal_input_is_cut_equally(text: str, place: tuple[str, str], chunker) -> None:
    one = cut(text, place, FakeEmbedder(), chunker)
    assert one == cut(text, place, FakeEmbedder(), chunker)


@settings(max_examples=EXAMPLES * 2, deadline=None)
@given(any_texts, places, chunkers.filter(lambda one: one.settings.get("overlap", 0) == 0))
def test_chunks_share_text_only_where_overlap_is_asked_for(
    text: str, place: tuple[str, str], chunker
) -> None:
    for section in cut(text, place, FakeEmbedder(), chunker).sections:
        ends = [section.span.start, *(span.end for span in section.chunk_spans[:-1])]
        assert [span.start for span in section.chunk_spans] == ends


@settings(max_examples=EXAMPLES * 2, deadline=None)
@given(any_texts, places, chunkers.filter(lambda one: one.name != "structure"))
def test_every_edge_of_a_chunk_is_a_border(text: str, place: tuple[str, str], chunker) -> None:
    for section in cut(text, place, FakeEmbedder(), chunker).sections:
        edges = {edge for span in section.chunk_spans for edge in span} - set(section.span)
        assert edges <= {border.offset for border in section.borders}
