"""
Vectors of a run that was broken off, and of a text under another name, are used again.
"""

from __future__ import annotations

from dataclasses import replace

from tests.contract.animals import ALL, BIRDS, CATS, DOGS, names
from tests.contract.conftest import Backend
from tests.contract.corpus import manifest
from tests.contract.desired import bring_to, prepare, readable, summary_of


async def test_a_run_that_was_broken_off_is_never_seen_and_its_vectors_are_used_again(
    backend: Backend,
) -> None:
    bring_to(backend.store, [CATS, DOGS])
    with backend.store.publication("docs", "") as publication:
        prepare(publication, [BIRDS], into=manifest())

    assert await readable(backend, ALL) == names(CATS, DOGS)
    with backend.store.publication("docs", "") as publication:
        publication.open_generation(manifest())
        found = publication.reusable_vectors("birds")
        expected = {point.input_sha256 for point in BIRDS.points("", 2)[0]}
        assert set(found) == (expected if backend.kind == "qdrant" else set())
        rows = prepare(publication, [CATS], into=manifest())
        publication.commit(rows, readers_required=False, summary=summary_of(2))
    assert await readable(backend, ALL) == names(CATS)
    with backend.store.publication("docs", "") as publication:
        assert publication.reusable_vectors("birds") == {}


async def test_the_vectors_of_a_text_are_used_again_under_another_name(backend: Backend) -> None:
    bring_to(backend.store, [CATS])
    moved = replace(CATS, source_id="felines")

    with backend.store.publication("docs", "") as publication:
        found = publication.reusable_vectors("felines", moved.sha256)
        assert found.keys() == {point.input_sha256 for point in CATS.points("", 1)[0]}
        assert publication.reusable_vectors("felines", DOGS.sha256) == {}
