"""
The embedded engine's approximate search finds nearly all that an exact one finds.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import numpy as np
import pytest

from adapters.edge_shard import EdgeShard
from adapters.points import PointRecord
from adapters.searches import DENSE, PointQuery
from assembler.filters import AnyString, Condition, Filter
from assembler.model import PointKind
from assembler.ports import ModelIdentity
from tests.contract.corpus import manifest

DIMENSION = 384
VECTORS = 8000
"""More than the engine searches one by one."""

KINDS = 300
TOP = 100
QUERIES = 20
CHUNKS = Filter(all_of=(Condition("kind", AnyString(("chunk",))),))


@pytest.fixture(scope="module")
def vectors() -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """
    Return noise around some points, which is harder than real texts are.
    """
    draw = np.random.default_rng(5)
    kinds = draw.standard_normal((KINDS, DIMENSION))
    found = kinds[draw.integers(KINDS, size=VECTORS)]
    found = found + draw.standard_normal((VECTORS, DIMENSION))
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


@pytest.fixture(scope="module")
def shard(
    vectors: np.ndarray[tuple[int, int], np.dtype[np.float64]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[EdgeShard]:
    place = tmp_path_factory.mktemp("recall") / "shard"
    model = ModelIdentity("noise", "0" * 64, DIMENSION)
    made = EdgeShard.create("docs", place, manifest(model=model))
    made.upsert(
        [
            PointRecord(
                str(uuid.UUID(int=number)),
                {"kind": "chunk", "key": str(number)},
                {DENSE[PointKind.CHUNK]: row.tolist()},
                {},
            )
            for number, row in enumerate(vectors)
        ]
    )
    made.close(is_written=True)
    loaded = EdgeShard.load("docs", place)
    yield loaded
    loaded.close()


def test_nearly_all_is_found(
    shard: EdgeShard, vectors: np.ndarray[tuple[int, int], np.dtype[np.float64]]
) -> None:
    draw = np.random.default_rng(6)
    recalls = []
    for row in vectors[draw.integers(VECTORS, size=QUERIES)]:
        asked = (row + draw.standard_normal(DIMENSION) / DIMENSION**0.5).tolist()
        found, there = (
            {
                hit.payload["key"]
                for hit in shard.query(
                    [
                        PointQuery(
                            PointKind.CHUNK,
                            asked,
                            DENSE[PointKind.CHUNK],
                            CHUNKS,
                            None,
                            is_exact,
                            TOP,
                            ("key",),
                        )
                    ]
                )[0]
            }
            for is_exact in (False, True)
        )
        recalls.append(len(found & there) / TOP)

    assert sum(recalls) / QUERIES >= 0.98
    # else every vector was compared, and the test says nothing
    assert min(recalls) < 1.0
