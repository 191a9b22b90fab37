"""
Runs of the indexer that say how texts are cut, and what a request makes of overlapping chunks.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from adapters.edge_store import EdgeStore
from assembler.errors import InvalidRequest
from assembler.model import Chunk, Provenance
from assembler.parent import Parent
from assembler.rank import version_key
from assembler.request import Expansion, ExpansionMode, Fill
from assembler.span import Span
from indexer.index import run_index
from indexer.request import IndexRequest
from indexer.strategies.registry import chunker_of
from tests.fake_index import FakeIndex
from tests.fakes import FakeEmbedder
from tests.sections import plain_section
from tests.small_index import SmallIndex

WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi"
SENTENCES = "".join(f"The {word} stands here and {word} is seen. " for word in WORDS.split())


@pytest.fixture
def small(tmp_path: Path) -> SmallIndex:
    folder = tmp_path / "docs"
    folder.mkdir()
    small = SmallIndex(folder)
    small.write(a__md=f"# Greek\n\n{SENTENCES}\n", b__md="# Other\n\nRefunds go to the team.\n")
    return small


def chunker_in(store: FakeIndex):
    (listing,) = store.listings("")
    return listing.manifest.chunker


def test_an_index_is_cut_as_it_was_until_another_way_is_asked_for(small: SmallIndex) -> None:
    first = small.index()
    assert chunker_in(small.store) == chunker_of("structure")

    changed = small.index(strategy="sliding", strategy_settings={"size": "20", "overlap": "5"})
    assert chunker_in(small.store) == chunker_of("sliding", {"size": 20, "overlap": 5})
    assert changed.index_version.split(".")[0] != first.index_version.split(".")[0]
    assert changed.written == 2

    small.write(b__md="# Other\n\nRefunds go to the team at once.\n")
    kept = small.index()
    assert (kept.written, kept.unchanged) == (1, 1)
    assert chunker_in(small.store) == chunker_of("sliding", {"size": 20, "overlap": 5})

    small.index(strategy_settings={"overlap": "6"})
    assert chunker_in(small.store) == chunker_of("sliding", {"size": 20, "overlap": 6})

    small.index(strategy="structure")
    assert chunker_in(small.store) == chunker_of("structure")


def test_equal_inputs_keep_their_vectors_when_the_cut_changes(small: SmallIndex) -> None:
    small.index()
    summary = small.index(strategy="recursive")
    assert summary.written == 2
    assert summary.reused > 0  # the short document is one chunk either way
    assert summary.reused + summary.embedded == summary.chunks


def test_reasons_are_told_where_the_text_decides(small: SmallIndex) -> None:
    small.write(c__txt="User: a\nBot: b\nUser: c\nBot: d\n")
    assert small.index(strategy="auto").reasons == {
        "structure: headings": 2,
        "conversation: turns of speakers": 1,
    }


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"strategy": "nope"}, "strategy: 'nope' is not one of structure"),
        ({"strategy": "fixed", "strategy_settings": {"bound": "1"}}, "setting: 'bound' of fixed"),
        ({"strategy": "fixed", "strategy_settings": {"size": "999"}}, "at most 254 here"),
        ({"strategy_settings": {"chunk_tokens": "257"}}, "at most 256 here"),
        ({"strategy": "fixed", "paths": (), "remove": ("a.md",)}, "give the paths of every source"),
    ],
)
def test_wrong_ways_to_cut_are_refused_before_anything_is_written(
    small: SmallIndex, asked, problem: str
) -> None:
    small.index()
    with pytest.raises(InvalidRequest) as refused:
        small.index(**asked)
    assert problem in str(refused.value)
    assert chunker_in(small.store) == chunker_of("structure")


def test_another_cut_of_a_part_of_the_sources_is_refused(small: SmallIndex) -> None:
    small.index()
    with pytest.raises(InvalidRequest, match="would be lost"):
        small.index(strategy="fixed", paths=(small.folder / "b.md",), upsert=True)


def overlapping(small: SmallIndex) -> None:
    small.index(strategy="sliding", strategy_settings={"size": "24", "overlap": "12"})


@pytest.mark.parametrize("mode", [*ExpansionMode])
@pytest.mark.parametrize("limit", [60, 150, 400])
async def test_overlapping_chunks_show_no_character_twice(
    small: SmallIndex, mode: ExpansionMode, limit: int
) -> None:
    overlapping(small)
    reply = await small.ask(
        "gamma delta stands here",
        limit=limit,
        fill=Fill.FULL,
        expansion=Expansion(mode),
    )
    shown = [
        (source.version.source_id, span.source)
        for passage in reply.passages
        for source in passage.sources
        for span in source.spans
    ]
    assert shown
    for (one, span), (other, second) in itertools.combinations(shown, 2):
        assert one != other or not span.overlaps(second)
    text = (small.folder / "a.md").read_text()
    for passage in reply.passages:
        for source in passage.sources:
            for span in source.spans:
                if source.version.source_id == "a.md":
                    start, end = span.source
                    assert span.context.slice(reply.context) == text[start:end]
                    assert (text[:start] or "\n").endswith((". ", "\n"))
                    assert text[:end].endswith((".", "# Greek"))  # no sentence is cut


async def test_every_overlapping_chunk_has_one_disposition(small: SmallIndex) -> None:
    overlapping(small)
    reply = await small.ask("gamma delta stands here", limit=200)
    keys = [one.chunk_key for one in reply.candidates]
    assert len(keys) == len(set(keys))
    assert len(keys) > 5


async def test_overlapping_chunks_without_their_section_are_shown_once(small: SmallIndex) -> None:
    overlapping(small)

    async def none(scope, keys):
        return []

    small.store.sections = none  # type: ignore[method-assign]
    reply = await small.ask("gamma delta stands here", limit=400, fill=Fill.FULL)
    assert reply.context.count("gamma stands here and gamma is seen") == 1


def parent_of(spans: list[tuple[int, int]]) -> Parent:
    origin = Provenance("", "a", "1", "h", None, 0)
    cuts = tuple(Span(*one) for one in spans)
    section = plain_section("x" * 100, cuts, origin)
    return Parent(section, version_key("docs", Chunk("k", origin, "s", cuts[0], 0, "")), 0)


def test_a_window_counts_chunks_beside_one_also_where_they_share_text() -> None:
    parent = parent_of([(0, 30), (15, 45), (30, 60), (45, 75), (60, 100)])
    assert parent.window(Span(30, 60), 1) == Span(15, 75)
    assert parent.window(Span(30, 60), 2) == Span(0, 100)
    assert parent.window(Span(0, 30), 1) == Span(0, 45)
    assert parent.window(Span(50, 58), 1) == Span(15, 100)  # in no chunk whole: beside what shares
    apart = parent_of([(0, 30), (30, 60), (60, 100)])
    assert apart.window(Span(30, 70), 0) == Span(30, 100)


def test_the_embedded_engine_stores_overlapping_chunks_as_they_are(
    small: SmallIndex, tmp_path: Path
) -> None:
    store = EdgeStore(tmp_path / "data")
    request = IndexRequest(
        "docs",
        (small.folder,),
        strategy="sliding",
        strategy_settings={"size": 24, "overlap": 12},
    )
    summary = run_index(request, store, FakeEmbedder(), lambda *_: None)
    (listing,) = store.listings("")
    assert listing.manifest.chunker == chunker_of("sliding", {"size": 24, "overlap": 12})
    assert sum(row.chunks for row in listing.ledger.rows) == summary.chunks > summary.sections
