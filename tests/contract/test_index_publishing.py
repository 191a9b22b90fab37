"""
How every backend is written: names, writers, ledgers and listings.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from adapters.edge_store import EdgeStore
from adapters.records import LedgerRow
from assembler.errors import IndexUnavailable, IndexUnknown, IndexUnusable
from tests.contract.conftest import Backend
from tests.contract.corpus import MODEL, Source, manifest, publish, summary

CATS = Source("cats", ("Cats sleep all day. Cats hunt at night.", "A cat purrs. It is content."))
DOGS = Source("dogs", ("Dogs bark at cats. Dogs fetch sticks.",))


async def test_an_unknown_or_malformed_index_is_unknown(backend: Backend) -> None:
    publish(backend.store, [CATS])

    for name in ("other", "../docs", "Docs", "", "x" * 41, "docs__ledger"):
        with pytest.raises(IndexUnknown):
            await backend.reading.resolve(name, "")


async def test_a_malformed_name_is_not_written(backend: Backend) -> None:
    for name in ("../docs", "Docs", "", "x" * 41):
        with pytest.raises(IndexUnusable), backend.store.publication(name, ""):
            pass


async def test_a_change_that_was_never_committed_makes_no_index(backend: Backend) -> None:
    with backend.store.publication("docs", "") as publication:
        publication.open_generation(manifest())

    with pytest.raises(IndexUnknown):
        await backend.reading.resolve("docs", "")
    assert backend.store.listings() == []


async def test_a_second_writer_is_refused(backend: Backend) -> None:
    publish(backend.store, [CATS])

    with (
        backend.store.publication("docs", ""),
        pytest.raises(IndexUnavailable, match="being written"),
        backend.store.publication("docs", ""),
    ):
        pass

    publish(backend.store, [DOGS])


async def test_points_of_another_tenant_or_revision_are_refused(backend: Backend) -> None:
    publish(backend.store, [CATS])

    with backend.store.publication("docs", "") as publication:
        publication.open_generation(manifest())
        for tenant, revision in (("b", 2), ("", 1)):
            with pytest.raises(ValueError, match="tenant"):
                publication.write(*DOGS.points(tenant, revision))


async def test_listings_show_manifest_and_ledger_by_tenant(backend: Backend) -> None:
    publish(backend.store, [CATS], tenant="a")
    publish(backend.store, [CATS, DOGS], tenant="b")
    publish(backend.store, [DOGS], index="other", tenant="a")

    listed = backend.store.listings()

    assert [(entry.name, entry.tenant) for entry in listed] == [
        ("docs", "a"),
        ("docs", "b"),
        ("other", "a"),
    ]
    assert all(entry.manifest == manifest() for entry in listed)
    assert [row.source_id for row in listed[1].ledger.rows] == ["cats", "dogs"]
    assert [s.revision for s in listed[1].ledger.revisions] == [1]
    assert [entry.name for entry in backend.store.listings("b")] == ["docs"]


async def test_the_ledger_comes_back_as_it_was_committed(backend: Backend) -> None:
    publish(backend.store, [replace(CATS, readers=("ann", "bob"))])
    with backend.store.publication("docs", "") as publication:
        rows: tuple[LedgerRow, ...] = publication.ledger.rows
        written = replace(CATS, readers=("ann", "bob")).row(1)
        assert rows == (replace(written, generation=manifest().generation),)
        assert publication.manifest == manifest()
        publication.open_generation(manifest())
        publication.commit((), readers_required=True, summary=summary(2))

    (listed,) = backend.store.listings()
    assert listed.ledger.rows == ()
    assert listed.ledger.readers_required
    assert [entry.revision for entry in listed.ledger.revisions] == [1, 2]


async def test_vectors_are_reused_while_the_model_stays(backend: Backend) -> None:
    publish(backend.store, [CATS, DOGS])
    chunks = CATS.points("", 1)[0]

    with backend.store.publication("docs", "") as publication:
        found = publication.reusable_vectors("cats")
        assert found.keys() == {point.input_sha256 for point in chunks}
        for point in chunks:
            assert found[point.input_sha256] == pytest.approx(point.vector, abs=1e-6)
        publication.open_generation(manifest(chunker="2"))
        assert publication.reusable_vectors("cats").keys() == found.keys()
        publication.open_generation(manifest(model=replace(MODEL, sha256="1" * 64)))
        assert publication.reusable_vectors("cats") == {}


@pytest.mark.parametrize(
    "other",
    [
        {"model": replace(MODEL, sha256="1" * 64)},
        {"model": replace(MODEL, dimension=9)},
        {"revision": "r2"},
        {"prefix": "passage: "},
        {"pooling": "cls"},
        {"preprocessing": "nfkc"},
        {"normalised": False},
    ],
)
async def test_vectors_that_were_made_otherwise_are_not_reused(
    tmp_path: Path, other: dict[str, object]
) -> None:
    store = EdgeStore(tmp_path)
    publish(store, [CATS])
    target = replace(manifest(), embedding=replace(manifest().embedding, **other))  # type: ignore[arg-type]
    assert target.generation != manifest().generation

    with store.publication("docs", "") as publication:
        publication.open_generation(target)
        assert publication.reusable_vectors("cats", CATS.sha256) == {}


def test_the_present_preprocessing_keeps_the_name_of_a_generation() -> None:
    assert manifest().generation == "g0407bae434"


async def test_a_profile_is_of_the_generation_and_may_change_with_any_publish(
    backend: Backend,
) -> None:
    publish(backend.store, [CATS], tenant="a")
    generation = manifest().generation

    with backend.store.publication("docs", "b") as publication:
        assert publication.manifest is None
        assert publication.manifest_of(generation) == manifest()
        assert publication.manifest_of("g0") is None
        publication.open_generation(replace(manifest(), profile="other"))
        publication.commit([], readers_required=False, summary=summary(1))

    assert {one.manifest.profile for one in backend.store.listings()} == {"other"}
    assert (await backend.reading.resolve("docs", "a")).profile == "other"
