"""
The span algebra and what is built on it.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assembler.filters import AnyInt, AnyString, Condition, Filter, IntRange, IsBool, IsMissing
from assembler.rebuild import Piece, rebuild
from assembler.request import Format
from assembler.scope import IndexVersion, ReadScope, Scope, VersionPolicy
from assembler.span import Span, covers, trimmed, union_of
from assembler.style import choose_style

many = settings(max_examples=300, deadline=None)
spans = st.tuples(st.integers(0, 60), st.integers(1, 20)).map(lambda two: Span(two[0], sum(two)))


def covered(some: tuple[Span, ...] | list[Span]) -> set[int]:
    return {offset for span in some for offset in range(span.start, span.end)}


@many
@given(st.lists(spans))
def test_a_union_covers_exactly_the_same_code_points(some: list[Span]) -> None:
    joined = union_of(some)

    assert covered(joined) == covered(some)
    assert union_of(joined) == joined == union_of(reversed(some))
    assert all(not a.touches(b) for a in joined for b in joined if a != b)


@many
@given(spans, spans)
def test_two_spans_relate_as_their_code_points_do(one: Span, other: Span) -> None:
    shared = covered([one]) & covered([other])
    found = one.intersection(other)

    assert one.overlaps(other) == bool(shared)
    assert (covered([found]) if found else set()) == shared
    assert one.contains(other) == (covered([other]) <= covered([one])) == covers((one,), other)
    if one.touches(other):
        assert covered([one.union(other)]) == covered([one, other])
    else:
        with pytest.raises(ValueError, match="gap"):
            one.union(other)


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (3, 3), (4, 3)])
def test_a_span_of_nothing_cannot_be_built(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="0 <= start < end"):
        Span(start, end)


@many
@given(st.text(alphabet=" \n\tab", min_size=1, max_size=30))
def test_trimming_takes_only_white_space_and_keeps_indentation(text: str) -> None:
    whole = Span(0, len(text))
    kept = trimmed(whole, text)

    if kept is None:
        assert not text.strip()
    else:
        assert kept.slice(text).strip() == text.strip()
        assert not kept.slice(text)[-1].isspace()
        assert (
            "\n" not in kept.slice(text)[: len(kept.slice(text)) - len(kept.slice(text).lstrip())]
        )


@many
@given(st.lists(spans, max_size=8))
def test_pieces_of_one_text_rebuild_it(some: list[Span]) -> None:
    text = "".join(chr(97 + n % 26) for n in range(100))
    found = rebuild([Piece(span, span.slice(text)) for span in some])

    assert found.conflicts == ()
    assert tuple(run.span for run in found.runs) == union_of(some)
    assert all(run.text == run.span.slice(text) for run in found.runs)


def test_a_piece_that_disagrees_is_named_with_its_rival() -> None:
    found = rebuild([Piece(Span(0, 3), "abc"), Piece(Span(1, 4), "bXd")])

    assert found.conflicts == ((0, 1),)
    with pytest.raises(ValueError, match="3 code points"):
        Piece(Span(0, 3), "ab")


@pytest.mark.parametrize("text", ["g.x", "1", ".1", "g.", "g.-1", "g." + "9" * 5000, "g.١"])
def test_malformed_index_versions_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="<generation>"):
        IndexVersion.parse(text)


@many
@given(st.from_regex(r"[a-z0-9]{1,10}", fullmatch=True), st.integers(0, 10**9))
def test_index_versions_are_read_as_they_are_written(generation: str, revision: int) -> None:
    version = IndexVersion(generation, revision)

    assert IndexVersion.parse(str(version)) == version


def test_no_condition_takes_a_value_of_another_type() -> None:
    for test, wrong in (
        (AnyString(("1",)), 1),
        (AnyInt((1,)), True),
        (AnyInt((1,)), "1"),
        (IntRange(0, 2), True),
        (IntRange(0, 2), "1"),
        (IsBool(value=True), 1),
    ):
        assert not test.accepts(wrong)
    assert AnyString(("a",)).accepts(("b", "a"))
    assert not IntRange(5, None).accepts(4)
    assert IsMissing().accepts(())
    assert Filter(none_of=(Condition("x", AnyInt((1,))),)).accepts(lambda _: None)


def test_a_pinned_scope_without_pins_sees_nothing() -> None:
    scope = ReadScope(
        "docs",
        IndexVersion("g", 1),
        readers_required=False,
        asked=Scope(versions=VersionPolicy.PINNED),
    )
    everything = {"tenant": "", "from_rev": 1, "to_rev": 9, "source_id": "a"}

    assert not scope.record_filter().accepts(everything.get)


@pytest.mark.parametrize(
    ("text", "form", "marker"),
    [
        ("[1] a", Format.MARKDOWN, "[S3]"),
        ("[1] a\n [S2] b", Format.PLAIN, "[SS3]"),
        ("in [1] line", Format.MARKDOWN, "[3]"),
        ("[1] a\n[S1] b\n[SS7] c", Format.MARKDOWN, "[SSS3]"),
        ("a\r[1] b", Format.PLAIN, "[S3]"),
        ("a\u2028 [1] b", Format.PLAIN, "[S3]"),
    ],
)
def test_markers_give_way_to_texts(text: str, form: Format, marker: str) -> None:
    assert choose_style([[text]], form).marker(3, form) == marker


def test_tags_and_gaps_give_way_to_texts() -> None:
    assert choose_style([["x </PASSAGE>"]], Format.XML).tag == "passage_2"
    assert choose_style([["a […] b"]], Format.PLAIN).ellipsis == "[… …]"


def test_the_core_imports_the_standard_library_only() -> None:
    root = Path(__file__).parents[2] / "assembler"
    awaiting = set()
    for path in root.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif isinstance(node, ast.Await):
                awaiting.add(path.name)
            for name in names:
                top = name.partition(".")[0]
                assert top == "assembler" or top in sys.stdlib_module_names, (path, name)
    assert awaiting == {"assemble.py", "look.py", "reads.py", "source_text.py"}


@pytest.mark.parametrize("unseen", ["\u200b", "\ufeff", "\u200e", "\u2060", "\u00ad", "\u3164"])
def test_delimiters_are_none_that_only_look_different(unseen: str) -> None:
    for text in (f"a\n{unseen}[2] b", f"a\n[{unseen}2{unseen}] b", f"{unseen} [12] b"):
        assert choose_style([[text]], Format.MARKDOWN).marker(3, Format.MARKDOWN) == "[S3]"
    for text in (f"<{unseen}/passage>", f"</pa{unseen}ssage>", "< /passage>", "</ passage>"):
        assert choose_style([[text]], Format.XML).tag == "passage_2"
    assert choose_style([[f"a [{unseen}…] b"]], Format.PLAIN).ellipsis == "[… …]"
    assert choose_style([[f"a{unseen}b"]], Format.XML).tag == "passage"
