from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from adapters.vector_journal import VectorJournal
from tests.contract.corpus import manifest

SPEC = manifest().embedding
KEYS = [f"{number:064x}" for number in range(5)]
VECTORS = {key: [number / 8] * 8 for number, key in enumerate(KEYS)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vectors.journal"


def test_what_was_added_is_there_for_the_next(path: Path) -> None:
    assert VectorJournal(path, SPEC).read(KEYS) == {}
    journal = VectorJournal(path, SPEC)
    journal.append({key: VECTORS[key] for key in KEYS[:2]})
    journal.append({KEYS[3]: VECTORS[KEYS[3]]})

    for one in (journal, VectorJournal(path, SPEC)):
        assert one.read(KEYS) == {key: VECTORS[key] for key in (KEYS[0], KEYS[1], KEYS[3])}
        assert one.read([KEYS[4]]) == {}


@pytest.mark.parametrize("cut", [1, 30, 67, 68])
def test_a_torn_record_is_dropped_and_those_before_it_stay(path: Path, cut: int) -> None:
    VectorJournal(path, SPEC).append({key: VECTORS[key] for key in KEYS[:3]})
    path.write_bytes(path.read_bytes()[:-cut])

    journal = VectorJournal(path, SPEC)
    assert journal.read(KEYS) == {key: VECTORS[key] for key in KEYS[:2]}
    journal.append({KEYS[4]: VECTORS[KEYS[4]]})

    assert VectorJournal(path, SPEC).read(KEYS).keys() == {KEYS[0], KEYS[1], KEYS[4]}


def test_a_record_that_does_not_hold_ends_the_journal(path: Path) -> None:
    VectorJournal(path, SPEC).append({key: VECTORS[key] for key in KEYS[:3]})
    body = bytearray(path.read_bytes())
    body[40 + 68 + 40] ^= 1  # a byte of the second record's vector
    path.write_bytes(body)

    assert VectorJournal(path, SPEC).read(KEYS).keys() == {KEYS[0]}


@pytest.mark.parametrize(
    "other",
    [
        replace(SPEC, revision="r2"),
        replace(SPEC, prefix="passage: "),
        replace(SPEC, model=replace(SPEC.model, sha256="1" * 64)),
        replace(SPEC, normalised=False),
        replace(SPEC, preprocessing="nfkc"),
    ],
)
def test_vectors_of_another_configuration_are_not_taken(path: Path, other: object) -> None:
    VectorJournal(path, SPEC).append(VECTORS)

    journal = VectorJournal(path, other)  # type: ignore[arg-type]
    assert journal.read(KEYS) == {}
    journal.append({KEYS[0]: VECTORS[KEYS[1]]})

    assert journal.read(KEYS) == {KEYS[0]: VECTORS[KEYS[1]]}
    assert VectorJournal(path, SPEC).read(KEYS) == {}
