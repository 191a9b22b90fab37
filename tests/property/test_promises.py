"""
The promise, line by line, over random corpora, candidates, budgets, orders, formats and expansions.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assembler.budget import Measure
from assembler.conclude import Basis, conclude
from assembler.expand import expand
from assembler.model import Section, VersionKey
from assembler.pack import Packed, Work, pack
from assembler.profile import DEFAULT_PROFILE, Profile
from assembler.rank import Support
from assembler.report import AssembledContext, Disposition, Note
from assembler.request import (
    AssembleRequest,
    Budget,
    ContextTokens,
    Expansion,
    ExpansionMode,
    Fill,
    Format,
    Headings,
    Layout,
    Order,
    Query,
    Target,
)
from assembler.rules import Rules, share_of
from assembler.scope import IndexVersion
from assembler.span import Span, union_of
from tests.counters import CharCounter, JoinCounter
from tests.strategies import Source, candidates, corpora, expansions, fills, layouts

thorough = settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
PRICED = replace(DEFAULT_PROFILE, price=0.4)


@dataclass(frozen=True, repr=False)
class Case:
    """
    One packed context with everything it was made from.
    """

    corpus: tuple[Source, ...]
    limit: int
    layout: Layout
    packed: Packed
    context: AssembledContext

    def __repr__(self) -> str:
        return f"Case(limit={self.limit}, layout={self.layout}, context={self.context.context!r})"

    @property
    def texts(self) -> Mapping[VersionKey, str]:
        return {source.version: source.text for source in self.corpus}

    def section_at(self, version: VersionKey, span: Span) -> Section:
        source = next(one for one in self.corpus if one.version == version)
        return next(
            one for one in source.sections if one.span.contains(Span(span.start, span.start + 1))
        )


def assembled(
    corpus: tuple[Source, ...],
    ranked: tuple,
    *,
    limit: int,
    layout: Layout,
    expansion: Expansion,
    fill: Fill,
    profile: Profile = PRICED,
    hidden: frozenset[str] = frozenset(),
    source_share: float = 1.0,
    counter: CharCounter | None = None,
) -> Case:
    """
    Run the pure half of the flow; sections whose key is hidden are missing.
    """
    counter = counter or CharCounter()
    sections = {
        ("docs", one.key): one
        for source in corpus
        for one in source.sections
        if one.key not in hidden
    }
    own = {
        ("docs", chunk.key): chunk.span.slice(source.text)
        for source in corpus
        for chunk in source.chunks
    }
    evidence, lost = expand(ranked, sections, own, expansion, ["refund never"])
    assert lost == ()
    scores = {(one.version, one.chunk.ordinal): one.score for one in ranked}
    rules = Rules(limit, share_of(limit, source_share), (Target("docs"),), fill, profile.price)
    own = {(one.version, one.chunk.ordinal): one.score / 2 for one in ranked}
    support = Support(own, {}, 0.25) if expansion.mode is ExpansionMode.AUTO else None
    work = Work(evidence, (), rules, layout, scores, support)
    meter = Measure(counter, limit, 0, None)
    packed = pack(work, meter)
    request = AssembleRequest(
        queries=(Query("refund never"),),
        targets=(Target("docs"),),
        budget=Budget("chars", ContextTokens(limit)),
        fill=fill,
        layout=layout,
        expansion=expansion,
    )
    basis = Basis(request, profile, ranked, evidence, {}, (IndexVersion("g", 1),), "")
    return Case(corpus, limit, layout, packed, conclude(packed, basis, meter))


@st.composite
def cases(draw: st.DrawFn, **fixed: object) -> Case:
    corpus = draw(corpora())
    ranked = draw(candidates(corpus))
    keys = [one.key for source in corpus for one in source.sections]
    choices = {
        "limit": draw(st.integers(1, 250)),
        "layout": draw(layouts),
        "expansion": draw(expansions),
        "fill": draw(fills),
        "hidden": frozenset(draw(st.lists(st.sampled_from(keys), max_size=1))),
    }
    return assembled(corpus, ranked, **{**choices, **fixed})


@thorough
@given(cases())
def test_the_final_string_never_counts_more_than_the_limit(case: Case) -> None:
    context = case.context

    recount = CharCounter().count(context.context)

    assert recount == context.budget.context <= case.limit
    assert context.budget.unused == case.limit - recount
    assert context.budget.text + context.budget.headings + context.budget.markers == recount


@thorough
@given(cases(counter=JoinCounter()))
def test_a_tokenizer_that_counts_joined_text_higher_changes_nothing(case: Case) -> None:
    recount = JoinCounter().count(case.context.context)

    assert recount == case.context.budget.context <= case.limit


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
@given(st.data())
def test_growth_takes_nothing_from_chosen_evidence(data: st.DataObject) -> None:
    corpus = data.draw(corpora())
    ranked = data.draw(candidates(corpus))
    limit = data.draw(st.integers(1, 250))
    layout = data.draw(layouts)
    fill = data.draw(fills)
    shared = {"limit": limit, "layout": layout, "fill": fill}

    plain = assembled(corpus, ranked, expansion=Expansion(ExpansionMode.CHUNK), **shared)
    grown = assembled(corpus, ranked, expansion=Expansion(ExpansionMode.AUTO), **shared)

    def chosen(case: Case) -> set[tuple[str, str]]:
        return {
            item.candidate.identity
            for home in case.packed.filling.chosen.values()
            for item in home.evidence
        }

    if plain.packed.filling.room == grown.packed.filling.room:
        assert chosen(plain) <= chosen(grown)


@thorough
@given(cases(fill=Fill.FULL))
def test_full_leaves_less_unused_than_the_cheapest_skipped_step_and_sixteen(case: Case) -> None:
    skipped = case.packed.filling.cheapest_skipped

    if skipped is not None and case.context.passages:
        assert case.context.budget.unused < skipped + 16


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


@thorough
@given(cases())
def test_a_missing_parent_never_loses_the_child(case: Case) -> None:
    dispositions = {one.chunk_key: one for one in case.context.candidates}

    assert not any(one.disposition is Disposition.INVALID for one in dispositions.values())
    for passage in case.context.passages:
        for key in passage.chunk_keys:
            if Note.PARENT_MISSING in dispositions[key].notes:
                assert Note.PARENT_MISSING in passage.notes


@thorough
@given(cases())
def test_every_candidate_has_exactly_one_disposition(case: Case) -> None:
    context = case.context
    packed = [one for one in context.candidates if one.disposition is Disposition.PACKED]

    assert len({one.chunk_key for one in context.candidates}) == len(context.candidates)
    assert len(packed) == len(context.passages)


@thorough
@given(st.data())
def test_equal_input_gives_equal_bytes(data: st.DataObject) -> None:
    corpus = data.draw(corpora())
    ranked = data.draw(candidates(corpus))
    choices = {
        "limit": data.draw(st.integers(1, 250)),
        "layout": data.draw(layouts),
        "expansion": data.draw(expansions),
        "fill": data.draw(fills),
    }

    first = assembled(corpus, ranked, **choices)
    second = assembled(tuple(reversed(corpus)), ranked, **choices)

    assert first.context.context == second.context.context
    assert first.context.context_sha256 == second.context.context_sha256


@thorough
@given(cases(layout=Layout(Order.RELEVANCE, Format.XML, Headings.PATH)))
def test_source_text_cannot_close_its_own_xml_block(case: Case) -> None:
    context = case.context.context
    if not case.context.passages:
        return
    tag = context[1:].split(" ", 1)[0]

    assert context.count(f"</{tag}>") == len(case.context.passages)
    assert context.count(f"<{tag} id=") == len(case.context.passages)


@thorough
@given(cases(layout=Layout(Order.RELEVANCE, Format.MARKDOWN, Headings.PATH)))
def test_source_text_cannot_look_like_a_marker(case: Case) -> None:
    lines = case.context.context.split("\n")
    markers = [passage.marker for passage in case.context.passages]

    for marker in markers:
        assert sum(line.lstrip().startswith(marker) for line in lines) == 1


def test_an_empty_context_is_the_answer_to_a_budget_too_small_for_anything() -> None:
    from hypothesis import find  # noqa: PLC0415 - used once, to get any corpus

    corpus = find(corpora(), lambda found: bool(found[0].chunks))
    ranked = find(candidates(corpus), bool)

    case = assembled(
        corpus, ranked, limit=1, layout=Layout(), expansion=Expansion(), fill=Fill.FULL
    )

    assert case.context.context == ""
    assert {one.disposition for one in case.context.candidates} == {Disposition.OVER_BUDGET}


@pytest.mark.parametrize("order", Order)
def test_each_order_is_a_permutation(order: Order) -> None:
    assert order in Order
