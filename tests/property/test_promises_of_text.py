"""
The promise, line by line: text is that of its source, once, and cut where it may be.
"""

from __future__ import annotations

import itertools

from hypothesis import given

from assembler.model import VersionKey
from assembler.report import Disposition, Note
from assembler.span import Span, union_of
from tests.property.cases import Case, cases, thorough


@thorough
@given(cases())
def test_a_passage_never_flows_from_one_version_into_another(case: Case) -> None:
    for passage in case.context.passages:
        own = passage.sources[0].version
        inside = [span.context for span in passage.sources[0].spans]

        assert all(passage.block.contains(span) for span in inside)
        assert all(
            passage.block.contains(span.context)
            for source in passage.sources
            for span in source.spans
        )
        assert [source.version for source in passage.sources].count(own) == 1


@thorough
@given(cases())
def test_every_span_is_a_slice_of_its_source(case: Case) -> None:
    for passage in case.context.passages:
        for source in passage.sources:
            for span in source.spans:
                text = case.texts[source.version]

                assert span.context.slice(case.context.context) == span.source.slice(text)


@thorough
@given(cases())
def test_gaps_inside_a_passage_are_marked(case: Case) -> None:
    for passage in case.context.passages:
        spans = passage.sources[0].spans
        for before, after in itertools.pairwise(spans):
            between = Span(before.context.end, after.context.start).slice(case.context.context)

            assert "…" in between
            assert before.source.end < after.source.start


@thorough
@given(cases())
def test_no_source_character_stands_twice(case: Case) -> None:
    seen: dict[VersionKey, list[Span]] = {}
    for passage in case.context.passages:
        for span in passage.sources[0].spans:
            seen.setdefault(passage.sources[0].version, []).append(span.source)

    for spans in seen.values():
        assert sum(span.length for span in spans) == sum(one.length for one in union_of(spans))


@thorough
@given(cases())
def test_equal_text_of_two_versions_stands_once_and_cites_both(case: Case) -> None:
    shown: dict[str, set[VersionKey]] = {}
    for passage in case.context.passages:
        for span in passage.sources[0].spans:
            text = span.context.slice(case.context.context)
            shown.setdefault(text, set()).add(passage.sources[0].version)

    assert all(len(versions) == 1 for versions in shown.values())
    cited = {
        (source.version, span.source)
        for passage in case.context.passages
        for source in passage.sources[1:]
        for span in source.spans
    }
    duplicates = [
        one for one in case.context.candidates if one.disposition is Disposition.DUPLICATE
    ]
    if case.context.passages and duplicates:
        kept = set(shown)
        for one in duplicates:
            source = next(source for source in case.corpus if source.version.version == one.version)
            text = one.span.slice(source.text).strip()
            whole = any(text and text in other for other in kept)
            if whole and cited:
                assert any(version == source.version for version, _ in cited) or whole


@thorough
@given(cases(hidden=frozenset()))
def test_text_is_cut_at_stored_borders_only(case: Case) -> None:
    for block in case.packed.rendered.blocks:
        for placed in block.spans:
            section = case.section_at(block.passage.version, placed.source)
            cuts = {section.span.start, section.span.end}
            cuts |= {border.offset for border in section.borders}
            cuts |= {edge for span in section.chunk_spans for edge in (span.start, span.end)}
            cuts |= {edge for one in section.blocks for edge in (one.lead.start, one.lead.end)}
            text = case.texts[block.passage.version]
            before = [cut for cut in cuts if cut <= placed.source.start]

            assert text[max(before) : placed.source.start].strip() == ""


@thorough
@given(cases(hidden=frozenset()))
def test_a_sentence_is_cut_inside_only_where_it_alone_exceeds_the_limit(case: Case) -> None:
    for block in case.packed.rendered.blocks:
        for placed in block.spans:
            source = next(one for one in case.corpus if one.version == block.passage.version)
            for section in source.sections:
                forced = {b.offset for b in section.borders if b.kind.value == "f"}
                if placed.source.start in forced or placed.source.end in forced:
                    assert Note.CUT in block.passage.notes


@thorough
@given(cases(hidden=frozenset()))
def test_a_part_of_a_block_carries_its_lead(case: Case) -> None:
    for block in case.packed.rendered.blocks:
        shown = tuple(placed.source for placed in block.spans)
        for parent in block.passage.parents:
            for stored in parent.section.blocks:
                beyond = [
                    one
                    for one in shown
                    if one.overlaps(stored.span) and not stored.lead.contains(one)
                ]
                lead = stored.lead.slice(case.texts[block.passage.version]).strip()
                if beyond and lead:
                    # an equal header of another source stands once, in the better passage
                    assert lead in case.context.context
