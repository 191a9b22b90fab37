"""
Searches as engines run them, repeated with a longer reach until ties at the cut are decided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from adapters.bm25 import SparseWeights
from adapters.decoded import Decoder, ScoredRecord
from adapters.payload_keys import CHUNK_HIT_KEYS, KEY, PROVENANCE_KEYS, SECTION_KEY
from adapters.payload_values import Payload
from adapters.scope_gate import ScopeGate
from adapters.ties import GROWTH, MAX_FETCH, OVER_FETCH, Scored, best, is_decided, rounded
from assembler.filters import AnyString, Condition, Filter
from assembler.model import Chunk, PointKind
from assembler.ports import DenseSearch, SparseSearch, Vector
from assembler.scope import ReadScope

DENSE = {PointKind.CHUNK: "dense", PointKind.SECTION: "section_dense"}
SPARSE = {PointKind.CHUNK: "bm25", PointKind.SECTION: "section_bm25"}
"""The named vectors of points."""

_HIT_KEYS = {PointKind.CHUNK: CHUNK_HIT_KEYS, PointKind.SECTION: PROVENANCE_KEYS}
_SECTION_OF = {PointKind.CHUNK: SECTION_KEY, PointKind.SECTION: KEY}
"""The payload key that names the section of a chunk, or the section itself."""

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
        within: Keys of the sections that hits lie in, checked again; None for all.
    """

    kind: PointKind
    vector: Vector | SparseWeights
    using: str
    wanted: Filter
    corpus: Filter | None
    is_exact: bool
    limit: int
    keys: tuple[str, ...]
    within: frozenset[str] | None = None


class ScoredPayload(NamedTuple):
    """
    One point that an engine's search returned.
    """

    score: float
    payload: Payload


RunQueries: TypeAlias = Callable[
    [Sequence[PointQuery]], Awaitable[Sequence[Sequence[ScoredRecord]]]
]


class Wanted:
    """
    The filters of one batch of searches: those that are equal are one object, which adapters
    translate once.
    """

    def __init__(self, scope: ReadScope) -> None:
        self._scope = scope
        self._filters: dict[tuple[PointKind, tuple[str, ...] | None], Filter] = {}

    def of(self, kind: PointKind, within: tuple[str, ...] | None) -> Filter:
        """
        Return the scope's filter of a kind, and of the sections where some are named.
        """
        known = self._filters.get((kind, within))
        if known is None:
            known = self._scope.point_filter(kind)
            if within is not None:
                inside = Condition(_SECTION_OF[kind], AnyString(within))
                known = Filter(all_of=(inside, self.of(kind, None)))
            self._filters[kind, within] = known
        return known


def text_query(
    scope: ReadScope, search: SparseSearch, wanted: Wanted, weights: SparseWeights
) -> PointQuery:
    """
    Return a BM25 search, its document frequencies counted over the tenant's part of the revision,
    also where sections are named: a word is as rare as it is in the index.

    The engine counts points that have the vector, so of one kind; saying so costs time.
    """
    kind = search.kind
    return PointQuery(
        kind=kind,
        vector=weights,
        using=SPARSE[kind],
        wanted=wanted.of(kind, search.within),
        corpus=scope.corpus_filter(),
        is_exact=False,
        limit=search.limit,
        keys=_HIT_KEYS[kind],
        within=_within(search.within),
    )


def vector_query(search: DenseSearch, wanted: Wanted, *, is_exact: bool) -> PointQuery:
    """
    Return a vector search; inside named sections it is exact, since there is little to search.
    """
    return PointQuery(
        kind=search.kind,
        vector=search.vector,
        using=DENSE[search.kind],
        wanted=wanted.of(search.kind, search.within),
        corpus=None,
        is_exact=is_exact or search.within is not None,
        limit=search.limit,
        keys=_HIT_KEYS[search.kind],
        within=_within(search.within),
    )


def _within(keys: tuple[str, ...] | None) -> frozenset[str] | None:
    return None if keys is None else frozenset(keys)


def decoded(
    queries: Sequence[PointQuery], answers: Sequence[Sequence[ScoredPayload]], revision: int
) -> list[list[ScoredRecord]]:
    """
    Return the points of a batch as of a revision.
    """
    decoder = Decoder(revision)
    return [
        [ScoredRecord(point.score, decoder.hit(point.payload, query.kind)) for point in points]
        for query, points in zip(queries, answers, strict=True)
    ]


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
    gate = ScopeGate(scope)
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
                if (hit := _admitted(point, query, gate, refused)) is not None
            ]
            kept = best(found, query.limit)
            worst = rounded(min((point.score for point in points), default=0.0))
            if is_decided(kept, limit=query.limit, fetched=len(points), asked=asked, worst=worst):
                results[position] = kept
                denied.update(refused)
            else:
                undecided[position] = min(asked * GROWTH, MAX_FETCH)
        reach = undecided
    return results


def _admitted(
    point: ScoredRecord, query: PointQuery, gate: ScopeGate, refused: Counter[str]
) -> Found | None:
    score, record = point
    if record is None:
        refused["damaged"] += 1
        return None
    key, provenance, chunk = record
    if not gate.admits(provenance):
        refused["scope"] += gate.is_denied(provenance)
        return None
    if query.within is not None and (chunk.section_key if chunk else key) not in query.within:
        refused["key"] += 1
        return None
    return Scored(rounded(score), key, provenance.from_rev, chunk)
