"""
Whatever a text is made of: sections are the text, chunks the sections, and nothing is cut in two.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assembler.model import BorderKind
from assembler.span import Span
from indexer.cut_source import CutSource, cut_source
from indexer.read_source import CODE
from indexer.sections import MOST_SENTENCE_TOKENS
from indexer.sources import SourceFile
from indexer.strategies.structure import CHUNK_TOKENS, SECTION_TOKENS
from tests.fakes import FakeEmbedder
from tests.odd_texts import (
    PIECES,
    LetterEmbedder,
    UnevenEmbedder,
    additive_models,
    joined,
    models,
    texts,
)

media_types = st.sampled_from(["text/markdown", "text/plain", CODE])
EXAMPLES = 400
LETTER = regex.compile(r"\X")


def cut(
    text: str,
    media_type: str = "text/markdown",
    tenant: str = "",
    embedder: FakeEmbedder | None = None,
) -> CutSource:
    return cut_source(
        SourceFile(Path("a.md"), "a.md", media_type),
        text,
        tenant=tenant,
        language="",
        fields={},
        revision=1,
        is_active=True,
        embedder=embedder or FakeEmbedder(),
    )


def holds(text: str, spans: list[Span], whole: Span) -> bool:
    """
    Return whether the spans touch, in order, and together are the whole.
    """
    starts = [span.start for span in spans]
    ends = [span.end for span in spans]
    is_whole = "".join(span.slice(text) for span in spans) == whole.slice(text)
    return [*starts, whole.end] == [whole.start, *ends] and is_whole


@settings(max_examples=EXAMPLES, deadline=None)
@given(texts, media_types, models)
@example("x" * 5000, "text/plain", LetterEmbedder())
@example("o" + "\u0301" * 3000, "text/plain", LetterEmbedder())
def test_sections_are_the_text_and_chunks_are_the_sections(
    text: str, media_type: str, embedder: FakeEmbedder
) -> None:
    source = cut(text, media_type, embedder=embedder)
    assert holds(text, [one.span for one in source.sections], Span(0, len(text)))
    for section in source.sections:
        assert section.text == section.span.slice(text)
        assert holds(text, list(section.chunk_spans), section.span)
    spans = [span for section in source.sections for span in section.chunk_spans]
    assert [draft.chunk.span for draft in source.drafts] == spans
    assert [draft.chunk.ordinal for draft in source.drafts] == list(range(len(spans)))
    for section in source.sections:
        first = section.first_chunk_ordinal
        own = source.drafts[first : first + len(section.chunk_spans)]
        assert {draft.chunk.section_key for draft in own} == {section.key}


@settings(max_examples=EXAMPLES, deadline=None)
@given(texts, media_types, models)
def test_no_chunk_and_no_section_is_above_its_limit(
    text: str, media_type: str, embedder: FakeEmbedder
) -> None:
    source = cut(text, media_type, embedder=embedder)
    assert all(embedder.count(draft.embedding_input) <= CHUNK_TOKENS for draft in source.drafts)
    # a section is longer only for a block or a sentence that is kept whole
    for one in source.sections:
        inside = {border.kind for border in one.borders}
        most = SECTION_TOKENS if inside - {BorderKind.FORCED} else MOST_SENTENCE_TOKENS
        assert len(embedder.offsets(one.text)) <= most or one.blocks


@settings(max_examples=EXAMPLES, deadline=None)
@given(texts, media_types)
def test_borders_lie_inside_their_section_in_order_and_once(text: str, media_type: str) -> None:
    for section in cut(text, media_type).sections:
        offsets = [border.offset for border in section.borders]
        assert offsets == sorted(set(offsets))
        edges = [one for one in section.borders if one.offset in section.span]
        assert all(section.span.start <= offset <= section.span.end for offset in offsets)
        assert {one.kind for one in edges} <= {BorderKind.FORCED}, "a cut inside a sentence"
        for block in section.blocks:
            assert section.span.contains(block.span)
            assert section.span.contains(block.lead)


def cuts_inside_letters(source: CutSource) -> set[int]:
    whole = {0, *itertools.accumulate(map(len, LETTER.findall(source.text)))}
    cuts = {draft.chunk.span.start for draft in source.drafts}
    for section in source.sections:
        cuts |= {one.offset for one in section.borders if one.kind is BorderKind.FORCED}
    return cuts - whole


@settings(max_examples=EXAMPLES, deadline=None)
@given(joined(st.sampled_from(PIECES)), media_types, additive_models)
def test_no_cut_parts_what_a_reader_sees_as_one_letter(
    text: str, media_type: str, embedder: FakeEmbedder
) -> None:
    source = cut(text, media_type, embedder=embedder)
    if max(map(len, LETTER.findall(text))) < 16:  # one with hundreds of marks exceeds a chunk
        assert not cuts_inside_letters(source)


def test_no_letter_is_parted_where_a_model_counts_more_than_its_offsets_say() -> None:
    text = "x" * 400 + "👩‍👩‍👧" * 49
    assert not cuts_inside_letters(cut(text, embedder=UnevenEmbedder()))


@settings(max_examples=EXAMPLES, deadline=None)
@given(texts, st.sampled_from(["", "acme"]))
def test_keys_are_unique_and_depend_on_nothing_but_what_they_name(text: str, tenant: str) -> None:
    one, again = cut(text, tenant=tenant), cut(text, tenant=tenant)
    keys = [draft.chunk.key for draft in one.drafts] + [section.key for section in one.sections]
    same = [draft.chunk.key for draft in again.drafts] + [section.key for section in again.sections]
    assert keys == same
    assert len(keys) == len(set(keys))
    assert not set(keys) & {draft.chunk.key for draft in cut(text, tenant="other").drafts}
