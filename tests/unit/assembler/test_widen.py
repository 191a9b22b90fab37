"""
Chunks beside the found ones: who becomes a candidate, worth what, and who does not.
"""

from dataclasses import replace

import pytest

from assembler.gather import Exclusions
from assembler.look import Looked
from assembler.model import Chunk, Provenance, Section
from assembler.profile import DEFAULT_PROFILE
from assembler.rank import Candidate, Support, version_key
from assembler.report import Disposition, Signal
from assembler.request import (
    AssembleRequest,
    Budget,
    ContextTokens,
    Expansion,
    ExpansionMode,
    Query,
    Retrieval,
    Target,
)
from assembler.scope import IndexVersion, ReadScope, Scope
from assembler.span import Span
from assembler.widen import Widened, widened
from tests.sections import plain_section
from tests.strategies import sha256

TEXT = "One. Two. Three. Four. "
CUTS = (Span(0, 5), Span(5, 10), Span(10, 17), Span(17, 23))
ORIGIN = Provenance("", "a", "1", sha256(TEXT), None, 0)
HOME = ("docs", "home")
SECTION = plain_section(
    TEXT, CUTS, ORIGIN, key="home", first_chunk_ordinal=7, chunk_keys=("k0", "k1", "k2", "k3")
)
SCOPE = ReadScope("docs", IndexVersion("g", 1), readers_required=False, asked=Scope())
NOTHING = Exclusions(frozenset(), ())


def chunk_of(place: int) -> Chunk:
    span = CUTS[place]
    return Chunk(f"k{place}", ORIGIN, "home", span, 7 + place, sha256(span.slice(TEXT)))


FOUND = Candidate(0, 0, "docs", version_key("docs", chunk_of(1)), chunk_of(1), 2.0, (), (0,), 0.9)
SUPPORT = Support({(FOUND.version, 8): 0.8}, {HOME: (0.1, 0.2, 0.3)}, 0.25)


def widen(
    mode: ExpansionMode = ExpansionMode.AUTO,
    min_similarity: float | None = None,
    excluded: Exclusions = NOTHING,
    section: Section = SECTION,
) -> Widened:
    request = AssembleRequest(
        queries=(Query("two"),),
        targets=(Target("docs"),),
        budget=Budget("chars", ContextTokens(100)),
        expansion=Expansion(mode),
        retrieval=Retrieval(min_similarity=min_similarity),
    )
    looked = Looked((SCOPE,), DEFAULT_PROFILE, (FOUND,), SUPPORT, "model")
    return widened(request, looked, [FOUND], {HOME: section}, excluded)


def test_every_chunk_of_the_section_is_worth_its_support() -> None:
    wider = widen()

    # the neighbours of the found one gain a quarter of its own 0.8; all gain 0.1 + 0.2 + 0.3
    scores = {one.chunk.key: one.score for one in wider.candidates}
    assert scores == pytest.approx({"k1": 2.0, "k0": 0.8, "k2": 0.8, "k3": 0.6})
    assert [one.chunk.key for one in wider.candidates] == ["k1", "k0", "k2", "k3"]
    assert [one.rank for one in wider.candidates] == [0, 1, 2, 3]
    assert {one.chunk.key for one in wider.beside} == {"k0", "k2", "k3"}
    assert wider.settled == {}


def test_what_no_search_returned_says_what_it_is_made_of() -> None:
    beside = next(one for one in widen().candidates if one.chunk.key == "k2")

    assert beside.cosine is None
    assert beside.queries == ()
    assert beside.version == FOUND.version
    assert (beside.chunk.span, beside.chunk.ordinal) == (Span(10, 17), 9)
    assert beside.is_implied
    assert dict(beside.scores) == pytest.approx(
        {
            Signal.FUSED: 0.8,
            Signal.NEIGHBOUR: 0.2,
            Signal.SECTION: 0.1,
            Signal.SECTION_BEST: 0.2,
            Signal.DOCUMENT: 0.3,
        }
    )


def test_excluded_chunks_beside_are_settled_and_not_packed() -> None:
    wider = widen(excluded=Exclusions(frozenset(["k0"]), ()))

    assert wider.settled == {("docs", "k0"): Disposition.EXCLUDED}
    assert [one.chunk.key for one in wider.candidates] == ["k1", "k2", "k3"]
    assert len(wider.beside) == 3


def test_excluded_ranges_reach_chunks_beside() -> None:
    wider = widen(excluded=Exclusions(frozenset(), (("docs", "", "a", None, Span(18, 19)),)))

    assert wider.settled == {("docs", "k3"): Disposition.EXCLUDED}


@pytest.mark.parametrize("mode", [ExpansionMode.SECTION, ExpansionMode.WINDOW])
def test_larger_units_hold_their_chunks_already(mode: ExpansionMode) -> None:
    assert widen(mode) == Widened((FOUND,), (), {})


def test_a_least_similarity_keeps_out_what_has_none_that_is_known() -> None:
    assert widen(min_similarity=0.3) == Widened((FOUND,), (), {})


def test_sections_of_before_know_no_keys_and_change_nothing() -> None:
    assert widen(section=replace(SECTION, chunk_keys=())) == Widened((FOUND,), (), {})
