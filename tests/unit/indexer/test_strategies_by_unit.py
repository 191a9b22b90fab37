"""
Code by definitions, conversations by turns, and what takes which.
"""

from __future__ import annotations

import pytest

from indexer.strategies.turns import turns_of
from tests.unit.indexer.cutting import cut, texts_of

CODE_TEXT = '''\
"""Doc."""

import os
from json import dumps, loads

LIMIT = 3


# What it is.
@cached
class Store:
    """Keeps."""

    def read(self, path: str) -> str:
        return loads(path)

    def write(self, path: str) -> None:
        """Write."""
        os.replace(path, path)


def far() -> None:
    pass
'''


def test_code_keeps_definitions_whole_and_embeds_where_they_stand() -> None:
    pytest.importorskip("tree_sitter_python")
    source = cut(CODE_TEXT, "a.py", strategy="code", size=22)
    assert source.reason == "code: syntax tree"
    at = CODE_TEXT.index
    assert [(draft.chunk.span.start, draft.embedding_input) for draft in source.drafts] == [
        (0, CODE_TEXT[: at("# What")]),
        (at("# What"), CODE_TEXT[at("# What") : at("    def read")]),
        (
            at("    def read"),
            "from json import dumps, loads\nclass Store:\n"
            + CODE_TEXT[at("    def read") : at("    def write")],
        ),
        (
            at("    def write"),
            "class Store:\n" + CODE_TEXT[at("    def write") : at("        os.replace")],
        ),
        (
            at("        os.replace"),
            "import os\nclass Store:\ndef write(self, path: str) -> None:\n"
            + CODE_TEXT[at("        os.replace") : at("def far")],
        ),
        (at("def far"), CODE_TEXT[at("def far") :]),
    ]


def test_a_function_that_is_too_long_names_its_signature_in_every_further_piece() -> None:
    pytest.importorskip("tree_sitter_python")
    text = "def long(name: str) -> int:\n" + "    name += 1\n" * 30
    first, *rest = cut(text, "a.py", strategy="code", size=20).drafts
    assert first.embedding_input == first.text
    assert rest
    assert all(one.embedding_input == f"def long(name: str) -> int:\n{one.text}" for one in rest)


@pytest.mark.parametrize(
    ("name", "text", "whole"),
    [
        (
            "a.rs",
            "use a::b;\nimpl A {\n    fn f(&self) { b(); b(); b() }\n    fn g() {}\n}\n",
            "fn g",
        ),
        (
            "a.go",
            "package a\n\nfunc F() int {\n\treturn 1 + 1 + 1 + 1\n}\n\nfunc G() {}\n",
            "func G",
        ),
        (
            "A.java",
            "class A {\n  int f() { return 1 + 1 + 1; }\n  int g() { return 2; }\n}\n",
            "int g",
        ),
        ("a.ts", "export class A {\n  f() { return 1 + 1 + 1; }\n  g() { return 2; }\n}\n", "g()"),
        ("a.cpp", "class A {\n  int f() { return 1 + 1; }\n  int g() { return 2; }\n};\n", "int g"),
        ("a.c", "int f(void) { return 1 + 1 + 1; }\nint g(void) { return 2; }\n", "int g"),
        ("a.js", "function f() { return 1 + 1 + 1; }\nfunction g() { return 2; }\n", "function g"),
    ],
)
def test_definitions_of_a_language_begin_chunks(name: str, text: str, whole: str) -> None:
    pytest.importorskip("tree_sitter")
    source = cut(text, name, strategy="code", size=17)
    lines = [one.text.lstrip().partition("\n")[0] for one in source.drafts]
    assert any(line.startswith(whole) for line in lines), lines
    assert len(lines) > 1


def test_offsets_in_code_count_code_points() -> None:
    pytest.importorskip("tree_sitter_python")
    text = "x = 'ü€😀'\n\n\ndef f():\n    return 'é' + 'é' + 'é'\n\n\ndef g():\n    return 2\n"
    source = cut(text, "a.py", strategy="code", size=20)
    assert [one[:5] for one in texts_of(source)] == ["x = '", "def f", "def g"]


def test_code_without_a_grammar_is_cut_by_structure_and_says_so() -> None:
    source = cut("a { b: c }\n", "a.css", strategy="code")
    assert source.reason == "structure: no grammar for this suffix"
    assert texts_of(source) == ["a { b: c }\n"]


CHAT = (
    "User: Where is it?\n\nAssistant: It is here.\n\nUser: Thanks a lot.\n\nAssistant: Welcome.\n"
)


def test_conversations_are_cut_at_turns() -> None:
    source = cut(CHAT, "a.txt", strategy="conversation", size=14)
    assert texts_of(source) == [CHAT[: CHAT.index("User: T")], CHAT[CHAT.index("User: T") :]]
    assert source.reason == "conversation: turns of speakers"
    alone = cut(CHAT, "a.txt", strategy="conversation", turns=1)
    assert [one.split(":")[0] for one in texts_of(alone)] == ["User", "Assistant"] * 2


def test_a_long_turn_names_its_speaker_in_every_piece() -> None:
    text = CHAT + "User: " + "This is a long story. " * 20
    drafts = cut(text, "a.txt", strategy="conversation", size=14, section_tokens=40).drafts
    told = [one.embedding_input for one in drafts if "story" in one.text]
    assert told[0].startswith("User: This")
    assert all(one.startswith("User:\nThis") for one in told[1:])
    assert len(told) > 5


@pytest.mark.parametrize(
    ("text", "speakers"),
    [
        (CHAT, ["User:", "Assistant:"] * 2),
        ("[10:32] Ada: no\n[10:33] Bob: yes\n" * 2, ["[10:32] Ada:", "[10:33] Bob:"] * 2),
        ("**User**: a\n\n**Bot**: b\n\n**User**: c\n\n**Bot**: d\n", ["**User**:", "**Bot**:"] * 2),
        ("Note: a\n\n" + "A long text.\n\n" * 12 + "Tip: b\n\nNote: c\n\nTip: d\n", []),
        ("if x:\n  a\nelse:\n  b\n" * 4, []),
        ("User: alone\nUser: again\nUser: still\nUser: here\n", []),
    ],
)
def test_a_turn_begins_where_somebody_else_speaks(text: str, speakers: list[str]) -> None:
    assert [turn.label for turn in turns_of(text)] == speakers


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        (CHAT, "a.txt", "conversation: turns of speakers"),
        ("# A\n\nText.\n", "a.md", "structure: headings"),
        ("Text.\n", "a.md", "structure: markup without headings"),
        ("Text.\n", "a.txt", "structure: text without markup"),
        ("a { b: c }\n", "a.css", "structure: code without a grammar for its suffix"),
    ],
)
def test_auto_takes_what_suits_and_says_why(text: str, name: str, reason: str) -> None:
    assert cut(text, name, strategy="auto").reason == reason


def test_auto_cuts_code_by_syntax() -> None:
    pytest.importorskip("tree_sitter_python")
    source = cut(CODE_TEXT, "a.py", strategy="auto")
    assert source.reason == "code: syntax tree"
    spans = [draft.chunk.span for draft in source.drafts]
    by_code = cut(CODE_TEXT, "a.py", strategy="code")
    assert spans == [draft.chunk.span for draft in by_code.drafts]
