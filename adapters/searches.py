"""
Searches as engines run them, repeated with a longer reach until ties at the cut are decided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from adapters.bm25 import SparseWeights
from adapters.payload import decode_chunk, decode_provenance
from adapters.payload_keys import CHUNK_HIT_KEYS, KEY, KIND, PROVENANCE_KEYS
from adapters.payload_values import Payload, PayloadDamaged, checked_text
from adapters.ties import GROWTH, MAX_FETCH, OVER_FETCH, Scored, best, is_decided, rounded
from assembler.filters import AnyString, Condition, Filter
from assembler.model import Chunk, PointKind
from assembler.ports import Vector
from assembler.scope import ReadScope

DENSE = "dense"
SPARSE = {PointKind.CHUNK: "bm25", PointKind.SECTION: "section_bm25"}
"""The named vectors of points."""

Found: TypeAlias = "Scored[Chunk | None]"
"""A hit; of sections, which searches do not read, there is the key alone."""


@dataclass(frozen=True, slots=True)
class PointQuery:
    """
    One search as engines run it.

    Attributes:
        kind: What is searched.
        using: The named vector.
        wanted: The filter of the scope.
        corpus: What document frequencies are counted over; None for vector searches.
        limit: How many points are fetched.
        keys: The payload keys that are returned.
    """

    kind: PointKind
    vector: Vector | SparseWeights
    using: str
    wanted: Filter
    corpus: Filter | None
    is_exact: bool
    limit: int
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScoredPayload:
    """
    One point that an engine's search returned.
    """

    score: float
    payload: Payload


RunQueries: TypeAlias = Callable[
    [Sequence[PointQuery]], Awaitable[Sequence[Sequence[ScoredPayload]]]
]


def text_query(
    scope: ReadScope, kind: PointKind, wanted: Filter, weights: SparseWeights, limit: int
) -> PointQuery:
    """
    Return a BM25 search, its document frequencies counted over the tenant's part of the revision.
    """
    of_kind = Condition(KIND, AnyString((kind.value,)))
    return PointQuery(
        kind=kind,
        vector=weights,
        using=SPARSE[kind],
        wanted=wanted,
        corpus=Filter(all_of=(of_kind, scope.corpus_filter())),
        is_exact=False,
        limit=limit,
        keys=CHUNK_HIT_KEYS if kind is PointKind.CHUNK else PROVENANCE_KEYS,
    )


def vector_query(wanted: Filter, vector: Vector, limit: int, *, is_exact: bool) -> PointQuery:
    """
    Return a vector search for chunks.
    """
    return PointQuery(
        kind=PointKind.CHUNK,
        vector=vector,
        using=DENSE,
        wanted=wanted,
        corpus=None,
        is_exact=is_exact,
        limit=limit,
        keys=CHUNK_HIT_KEYS,
    )


async def run_searches(
    run: RunQueries, scope: ReadScope, queries: Mapping[int, PointQuery], denied: Counter[str]
) -> dict[int, list[Found]]:
    """
    Return what each search keeps, by its position.

    Args:
        run: Runs a batch in the engine.
        scope: What every record that comes back has to lie in.
        queries: The searches by position; their limit is how many hits are kept.
        denied: Counts what did not hold, by reason.
    """
    results: dict[int, list[Found]] = {}
    admitted, revision = scope.record_filter(), scope.version.revision
    reach = {position: query.limit + OVER_FETCH for position, query in queries.items()}
    while reach:
        batch = [replace(queries[position], limit=asked) for position, asked in reach.items()]
        answers = await run(batch)
        undecided: dict[int, int] = {}
        for (position, asked), points in zip(reach.items(), answers, strict=True):
            query = queries[position]
            refused: Counter[str] = Counter()
            found = [
                hit
                for point in points
                if (hit := _admitted(point, query.kind, admitted, revision, refused)) is not None
            ]
            kept = best(found, query.limit)
            worst = min((rounded(point.score) for point in points), default=0.0)
            if is_decided(kept, limit=query.limit, fetched=len(points), asked=asked, worst=worst):
                results[position] = kept
                denied.update(refused)
            else:
                undecided[position] = min(asked * GROWTH, MAX_FETCH)
        reach = undecided
    return results


def _admitted(
    point: ScoredPayload, kind: PointKind, admitted: Filter, revision: int, refused: Counter[str]
) -> Found | None:
    try:
        chunk = decode_chunk(point.payload, revision) if kind is PointKind.CHUNK else None
        key = checked_text(point.payload, KEY)
        provenance = chunk.provenance if chunk else decode_provenance(point.payload, kind, revision)
    except PayloadDamaged:
        refused["damaged"] += 1
        return None
    if not admitted.accepts(provenance.value_of):
        refused["scope"] += 1
        return None
    return Scored(rounded(point.score), key, provenance.from_rev, chunk)
