"""
How every backend keeps a build that waits, and how a build and a head are checked.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from adapters.edge_store import EdgeStore
from adapters.records import Retention
from assembler.errors import IndexUnknown, InvalidRequest
from assembler.filters import AnyString, Condition
from assembler.scope import IndexVersion
from indexer.index import run_index
from indexer.request import IndexRequest
from indexer.verify import verify_index
from tests.contract.animals import BIRDS, CATS, DOGS
from tests.contract.conftest import Backend
from tests.contract.corpus import Source, manifest
from tests.contract.desired import OTHER, bring_to, minutes, prepare, readable, summary_of
from tests.fakes import FakeEmbedder
from tests.unit.indexer.test_index import CountingEmbedder

ALL = (CATS, DOGS, BIRDS)
STORED = pytest.mark.parametrize("backend", ["edge", "qdrant"], indirect=True)


def names(*sources: Source) -> set[tuple[str, str]]:
    return {(source.source_id, source.version) for source in sources}


def build(backend: Backend, *wanted: Source, tenant: str = "") -> IndexVersion:
    with backend.store.publication("docs", tenant) as publication:
        target = publication.manifest or manifest()
        rows = prepare(publication, wanted, tenant=tenant, into=target)
        summary = summary_of(publication.ledger.next_revision)
        return publication.stage(rows, readers_required=False, summary=summary)


async def test_a_build_is_seen_when_it_is_published(backend: Backend) -> None:
    first = bring_to(backend.store, [CATS, DOGS])
    built = build(backend, CATS, BIRDS)

    assert built == replace(first, revision=2)
    assert await readable(backend, ALL) == names(CATS, DOGS)
    assert await readable(backend, ALL, built) is None
    assert backend.store.listings()[0].ledger.revision == 1
    waiting = backend.store.waiting_build("docs", "")
    assert waiting is not None
    assert (waiting.base_revision, waiting.head.revision, waiting.points) == (1, 2, 2)

    assert backend.store.publish_build("docs", "") == built

    assert await readable(backend, ALL) == names(CATS, BIRDS)
    assert await readable(backend, ALL, first) == names(CATS, DOGS)
    assert backend.store.waiting_build("docs", "") is None
    assert [one.revision for one in backend.store.listings()[0].ledger.revisions] == [1, 2]
    with pytest.raises(InvalidRequest, match="no build that waits"):
        backend.store.publish_build("docs", "")


async def test_the_first_build_of_an_index_waits_too(backend: Backend) -> None:
    built = build(backend, CATS)
    with pytest.raises(IndexUnknown):
        await backend.reading.resolve("docs", "")

    assert backend.store.publish_build("docs", "") == built
    assert await readable(backend, ALL) == names(CATS)


async def test_a_build_of_another_index_or_tenant_is_none(backend: Backend) -> None:
    build(backend, CATS)

    for index, tenant in (("docs", "b"), ("other", "")):
        assert backend.store.waiting_build(index, tenant) is None
        with pytest.raises(InvalidRequest, match="no build that waits"):
            backend.store.publish_build(index, tenant)


async def test_a_run_that_is_broken_off_before_the_first_publish_discards_a_build(
    backend: Backend,
) -> None:
    with backend.store.publication("docs", "") as publication:
        rows = prepare(publication, [], into=manifest())
        publication.stage(rows, readers_required=False, summary=summary_of(1))
    with backend.store.publication("docs", "") as publication:
        prepare(publication, [CATS], into=manifest())

    with pytest.raises(InvalidRequest, match="no build"):
        backend.store.publish_build("docs", "")
    assert bring_to(backend.store, [CATS]).revision == 1


@pytest.mark.parametrize("change", ["publish", "nothing", "roll back", "collect", "purge", "build"])
async def test_any_other_change_discards_a_build(backend: Backend, change: str) -> None:
    bring_to(backend.store, [DOGS])
    second = bring_to(backend.store, [CATS, DOGS])
    build(backend, BIRDS)

    expected = names(CATS, DOGS)
    if change == "publish":
        bring_to(backend.store, [CATS])
        expected = names(CATS)
    elif change == "nothing":
        with backend.store.publication("docs", ""):
            pass
    elif change == "build":
        build(backend, CATS)
        assert backend.store.publish_build("docs", "").revision == 3
        assert await readable(backend, ALL) == names(CATS)
        return
    else:
        with backend.store.upkeep("docs", "") as upkeep:
            if change == "roll back":
                upkeep.roll_back(None, at=minutes(3))
                expected = names(DOGS)
            elif change == "purge":
                upkeep.purge("cats", at=minutes(3))
                expected = names(DOGS)
            else:
                upkeep.collect(Retention(1, 0.0), at=minutes(100))

    with pytest.raises(InvalidRequest, match="no build that waits"):
        backend.store.publish_build("docs", "")
    assert await readable(backend, ALL) == expected
    assert bring_to(backend.store, [BIRDS]).generation == second.generation
    assert await readable(backend, ALL) == names(BIRDS)


async def test_a_build_into_another_generation_is_published_the_same_way(backend: Backend) -> None:
    first = bring_to(backend.store, [CATS, DOGS])
    with backend.store.publication("docs", "") as publication:
        rows = prepare(publication, [CATS], into=OTHER)
        built = publication.stage(rows, readers_required=False, summary=summary_of(2))
    assert await readable(backend, ALL) == names(CATS, DOGS)

    backend.store.publish_build("docs", "")

    assert built.generation == OTHER.generation != first.generation
    assert await readable(backend, ALL) == names(CATS)
    with backend.store.upkeep("docs", "") as upkeep:
        assert upkeep.roll_back(None, at=minutes(3)) == first
    assert await readable(backend, ALL) == names(CATS, DOGS)


async def test_readers_are_set_when_a_build_is_published(backend: Backend) -> None:
    bring_to(backend.store, [CATS])
    with backend.store.publication("docs", "") as publication:
        publication.open_generation(manifest())
        publication.set_readers("cats", ("ann",))
        rows = [replace(row, readers=("ann",)) for row in publication.ledger.rows]
        publication.stage(rows, readers_required=False, summary=summary_of(2))
    assert await readable(backend, ALL) == names(CATS)

    backend.store.publish_build("docs", "")

    assert await readable(backend, ALL) == set()
    assert backend.store.listings()[0].ledger.rows[0].readers == ("ann",)


@STORED
async def test_what_is_as_it_was_written_is_whole(backend: Backend) -> None:
    bring_to(backend.store, [CATS, DOGS])
    bring_to(backend.store, [CATS, BIRDS])
    build(backend, CATS, DOGS)

    head = verify_index("docs", "", backend.store)
    waiting = verify_index("docs", "", backend.store, of_build=True)

    assert (head.problems, waiting.problems) == ([], [])
    assert head.index_version.endswith(".2")
    assert waiting.index_version.endswith(".3")
    assert (head.sources, head.sections, head.chunks) == (2, 3, 4)
    assert head.samples == head.found_by_vector == head.found_by_text > 0
    assert waiting.is_whole
    # Looking changes nothing: the build still waits.
    assert backend.store.publish_build("docs", "").revision == 3
    assert await readable(backend, ALL) == names(CATS, DOGS)


@STORED
async def test_what_has_readers_is_searched_for_as_one_of_them(backend: Backend) -> None:
    bring_to(backend.store, [CATS, DOGS])
    with backend.store.publication("docs", "") as publication:
        publication.open_generation(manifest())
        publication.set_readers("cats", ("ann", "bob"))
        publication.set_readers("dogs", ())
        readers = {"cats": ("ann", "bob"), "dogs": ()}
        rows = [replace(row, readers=readers[row.source_id]) for row in publication.ledger.rows]
        publication.commit(rows, readers_required=True, summary=summary_of(2))

    found = verify_index("docs", "", backend.store)

    assert found.problems == []
    cats = next(row for row in rows if row.source_id == "cats")
    assert found.samples == found.found_by_vector == found.found_by_text == cats.chunks


@STORED
@pytest.mark.parametrize(
    ("wanted", "payload", "problem"),
    [
        ({"kind": "chunk"}, {"text": "Cats fly."}, "not the text of its section"),
        ({"kind": "chunk"}, {"section_key": "elsewhere"}, "has no section"),
        ({"kind": "chunk"}, {"start": 900, "end": 910}, "lies outside its section"),
        ({"kind": "section"}, {"text": "x" * 12}, "a point is damaged"),
        ({"kind": "section"}, {"text_sha256": "0" * 64}, "a point is damaged"),
        ({"kind": "section"}, {"start": "three"}, "a point is damaged"),
        ({"kind": "section"}, {"version": "v9"}, "of no source version of the ledger"),
        ({"kind": "chunk"}, {"active_to_rev": 2}, "end at another revision"),
    ],
)
async def test_what_is_not_as_it_was_written_is_named(
    backend: Backend, wanted: dict[str, str], payload: dict[str, object], problem: str
) -> None:
    bring_to(backend.store, [CATS, DOGS])
    with backend.store.publication("docs", "") as publication:
        publication.open_generation(manifest())
        rows = list(publication.ledger.rows)
        damaged = [Condition(key, AnyString((value,))) for key, value in wanted.items()]
        writer = publication._place.writer(manifest().generation)  # type: ignore[attr-defined]
        writer.set_payload(publication._of_tenant(*damaged), payload)  # type: ignore[attr-defined]
        publication.commit(rows, readers_required=False, summary=summary_of(2))

    found = verify_index("docs", "", backend.store, samples=0)

    assert not found.is_whole
    assert any(problem in one for one in found.problems), found.problems
    assert found.problem_count == len(found.problems)


@STORED
async def test_there_is_nothing_to_check_where_nothing_is(backend: Backend) -> None:
    with pytest.raises(IndexUnknown):
        verify_index("docs", "", backend.store)
    bring_to(backend.store, [CATS])
    with pytest.raises(IndexUnknown):
        verify_index("docs", "b", backend.store)
    with pytest.raises(InvalidRequest, match="no build that waits"):
        verify_index("docs", "", backend.store, of_build=True)


class DyingEmbedder(CountingEmbedder):
    """
    Fails after so many texts.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def embed_documents(self, texts, progress=None):
        if len(self.given) + len(texts) > self.most:
            raise ConnectionError
        return super().embed_documents(texts, progress)


@STORED
async def test_a_run_that_was_broken_off_goes_on_where_it_was(
    backend: Backend, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = tmp_path_factory.mktemp("texts")
    for number in range(12):
        (docs / f"{number}.md").write_text(f"# Page {number}\n\nText of page {number}.\n")
    # Small batches, so that a few are done when the embedder dies.
    monkeypatch.setattr("indexer.write.BATCH_CHUNKS", 4)
    monkeypatch.setattr("indexer.write.SAVED_TOGETHER", 2)
    request = IndexRequest("docs", (docs,))
    dying = DyingEmbedder(most=7)
    with pytest.raises(ConnectionError):
        run_index(request, backend.store, dying, lambda *_: None)
    assert len(dying.given) == 6

    again = CountingEmbedder()
    done = run_index(request, backend.store, again, lambda *_: None)

    # The server keeps what was written, the journal of the embedded index what was embedded.
    kept = {"qdrant": 4, "edge": 6}[backend.kind]
    assert (done.embedded, done.reused) == (12 - kept, kept)
    assert set(again.given) | set(dying.given[:kept]) == set(again.given) | set(dying.given)
    assert verify_index("docs", "", backend.store).problems == []
    fresh = IndexRequest("fresh", (docs,))
    run_index(fresh, backend.store, FakeEmbedder(), lambda *_: None)
    one, other = (list(it.ledger.rows) for it in backend.store.listings())
    assert one == other


async def test_a_journal_goes_with_the_publish(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path)
    with store.publication("docs", "") as publication:
        publication.open_generation(manifest())
        publication.save_vectors({"0" * 64: [0.5] * 8})
    assert (tmp_path / "docs" / "vectors.journal").exists()

    bring_to(store, [CATS])

    assert not (tmp_path / "docs" / "vectors.journal").exists()
