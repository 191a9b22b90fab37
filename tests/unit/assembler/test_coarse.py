"""
The best sections first, and chunks inside them.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assembler.coarse import FoundSections, best_sections, section_limit
from assembler.errors import IndexUnusable
from assembler.model import Hit, PointKind, SectionHit
from assembler.ports import DenseSearch, SparseSearch
from assembler.profile import DEFAULT_PROFILE
from assembler.report import AssembledContext, Disposition, Signal
from assembler.request import Query, Retrieval, RetrievalMode, Target
from assembler.scope import ReadScope, Scope
from tests.fake_index import FakeIndex
from tests.small_index import EXPENSES, TRAVEL, SmallIndex

COARSE = Retrieval(mode=RetrievalMode.COARSE_TO_FINE)


class WatchedIndex(FakeIndex):
    """
    Remembers every search with its scope.
    """

    def __init__(self) -> None:
        super().__init__()
        self.searches: list[tuple[ReadScope, SparseSearch | DenseSearch]] = []

    async def search_text(
        self, scope: ReadScope, searches: list[SparseSearch]
    ) -> list[list[Hit] | list[SectionHit]]:
        self.searches += [(scope, search) for search in searches]
        return await super().search_text(scope, searches)

    async def search_vectors(
        self, scope: ReadScope, searches: list[DenseSearch]
    ) -> list[list[Hit] | list[SectionHit]]:
        self.searches += [(scope, search) for search in searches]
        return await super().search_vectors(scope, searches)


def filled(folder: Path, *, section_vectors: bool = True) -> SmallIndex:
    folder.mkdir(exist_ok=True)
    small = SmallIndex(folder, WatchedIndex())
    small.write(travel__md=TRAVEL, expenses__md=EXPENSES, ann__md="# Ann\n\nTickets of Ann.\n")
    small.index({"path": "ann.md", "readers": ["ann"]}, readers_required=False)
    if not section_vectors:
        index = small.store._indexes["docs"]
        index.manifests = {
            name: replace(manifest, section_vectors=False)
            for name, manifest in index.manifests.items()
        }
    return small


@pytest.fixture
def small(tmp_path: Path) -> SmallIndex:
    return filled(tmp_path / "docs")


def homes_of(small: SmallIndex, context: AssembledContext) -> set[str]:
    """
    Return the keys of the sections that candidates lie in.
    """
    (snapshot,) = small.store._indexes["docs"].parts[""].history.values()
    points = snapshot.points
    sections = [point.section for point in points if point.section]
    return {
        section.key
        for section in sections
        for one in context.candidates
        if section.provenance.source_id == one.source_id and section.span.overlaps(one.span)
    }


def hits(**scores: float) -> list[SectionHit]:
    return [SectionHit(key, score) for key, score in scores.items()]


def chosen(*found: FoundSections, limit: int = 2, targets: int = 1) -> tuple[tuple[str, ...], ...]:
    return best_sections(
        found,
        query_weights=[1.0],
        target_weights=[1.0] * targets,
        profile=DEFAULT_PROFILE,
        limit=limit,
    )


def test_both_lists_are_fused_by_the_weights_of_the_profile() -> None:
    found = FoundSections(0, 0, hits(a=0.9, b=0.8, c=0.1), hits(c=9.0, b=8.0, a=1.0))

    assert chosen(found, limit=1) == (("b",),)
    assert chosen(found, limit=2) == (("b", "a"),)
    assert chosen(found, limit=9) == (("b", "a", "c"),)


def test_ties_are_decided_by_key_and_the_limit_is_of_all_targets() -> None:
    here = FoundSections(0, 0, hits(d=0.5, b=0.5))
    there = FoundSections(0, 1, hits(c=0.5, a=0.5))

    assert chosen(here, there, limit=3, targets=2) == (("b",), ("a", "c"))


def test_nothing_found_is_no_section() -> None:
    assert chosen(FoundSections(0, 0)) == ((),)


def test_the_mode_has_a_limit_of_its_own() -> None:
    profile = replace(DEFAULT_PROFILE, coarse_sections=7)

    assert section_limit(COARSE, profile) == 7
    assert section_limit(replace(COARSE, section_limit=3), profile) == 3
    assert section_limit(Retrieval(), profile) == profile.section_limit


async def test_every_candidate_is_from_the_best_sections(small: SmallIndex) -> None:
    one = await small.ask(retrieval=replace(COARSE, section_limit=1), limit=900)
    two = await small.ask(retrieval=replace(COARSE, section_limit=2), limit=900)
    hybrid = await small.ask(limit=900)

    homes = [homes_of(small, context) for context in (one, two, hybrid)]
    assert [len(some) for some in homes[:2]] == [1, 2]
    assert len(homes[2]) > 2
    assert homes[0] < homes[1] < homes[2]
    fates = {candidate.disposition for candidate in (*one.candidates, *two.candidates)}
    assert Disposition.SECTION_LIMIT not in fates
    signals = {score.signal for candidate in one.candidates for score in candidate.scores}
    assert {Signal.DENSE, Signal.BM25, Signal.SECTION} <= signals


async def test_a_limit_above_all_sections_finds_what_hybrid_finds(small: SmallIndex) -> None:
    coarse = await small.ask(retrieval=replace(COARSE, section_limit=50), limit=900)
    hybrid = await small.ask(limit=900)

    assert coarse.context == hybrid.context


async def test_chunks_are_searched_inside_the_sections_alone(small: SmallIndex) -> None:
    await small.ask(retrieval=replace(COARSE, section_limit=2))

    kinds = [(search.kind, search.within is None) for _, search in small.store.searches]
    assert sorted(kinds, key=repr) == [
        (PointKind.CHUNK, False),
        (PointKind.CHUNK, False),
        (PointKind.SECTION, True),
        (PointKind.SECTION, True),
    ]


async def test_an_index_of_before_refuses_this_mode_alone(tmp_path: Path) -> None:
    small = filled(tmp_path / "docs", section_vectors=False)

    with pytest.raises(IndexUnusable, match="COARSE_TO_FINE needs; index it again"):
        await small.ask(retrieval=COARSE)
    assert (await small.ask()).candidates


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> SmallIndex:
    return filled(tmp_path_factory.mktemp("watched"))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    principals=st.sampled_from([None, (), ("ann",), ("bob",)]),
    source_ids=st.sampled_from([(), ("travel.md",), ("ann.md", "expenses.md")]),
    tenants=st.lists(st.sampled_from(["", "other"]), min_size=1, max_size=2),
    texts=st.lists(st.sampled_from(["Tickets of Ann", "fines", "Oslo"]), min_size=1, max_size=2),
    limit=st.integers(1, 4),
)
def test_every_search_carries_the_scope_and_nothing_else_comes_back(
    watched: SmallIndex,
    principals: tuple[str, ...] | None,
    source_ids: tuple[str, ...],
    tenants: list[str],
    texts: list[str],
    limit: int,
) -> None:

    watched.store.searches.clear()
    scopes = [Scope(tenant, principals, source_ids=source_ids) for tenant in tenants]

    context = asyncio.run(
        watched.ask(
            queries=tuple(map(Query, texts)),
            targets=tuple(Target("docs", scope) for scope in scopes),
            retrieval=replace(COARSE, section_limit=limit),
        )
    )

    assert {scope.asked for scope, _ in watched.store.searches} == set(scopes)
    assert len(watched.store.searches) == 4 * len(texts) * len(tenants)
    seen = {candidate.source_id for candidate in context.candidates}
    allowed = set(source_ids or ("travel.md", "expenses.md", "ann.md"))
    assert seen <= allowed if "" in tenants else not seen
    assert principals == ("ann",) or "ann.md" not in seen
    assert len(homes_of(watched, context)) <= limit
