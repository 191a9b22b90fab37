"""
Fuse the signals of every query into one order of candidates.

The weighted sum of normalised scores, with support from neighbours and sections, was measured
against reciprocal rank fusion (Cormack, Clarke, Buettcher, SIGIR 2009) on seven question sets: see
docs/decisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from assembler.model import Chunk, Hit, SectionHit, VersionKey
from assembler.profile import Profile
from assembler.report import Signal, SignalScore

SCORE_DIGITS = 9
"""Decimal places that scores are compared by, so that equal sums are equal on every machine."""


@dataclass(frozen=True, slots=True)
class Found:
    """
    What the searches of one query in one target returned, best first.
    """

    query: int
    target: int
    dense: Sequence[Hit] = ()
    sparse: Sequence[Hit] = ()
    sections: Sequence[SectionHit] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """
    A chunk that a search returned, with its fused score and what it is made of.

    Attributes:
        rank: 0-based, 0 is best.
        cosine: Highest raw cosine of any query, None where no vector search returned the chunk.
    """

    rank: int
    target: int
    index: str
    chunk: Chunk
    score: float
    scores: tuple[SignalScore, ...]
    queries: tuple[int, ...]
    cosine: float | None

    @property
    def identity(self) -> tuple[str, str]:
        """
        Return index name and chunk key.
        """
        return self.index, self.chunk.key

    @property
    def version(self) -> VersionKey:
        """
        Return the source version that the chunk's span counts in.
        """
        return version_key(self.index, self.chunk)


@dataclass(slots=True)
class _Tally:
    target: int
    chunk: Chunk
    base: float = 0.0
    cosine: float | None = None
    bm25: float | None = None
    queries: set[int] = field(default_factory=set)


def version_key(index: str, chunk: Chunk) -> VersionKey:
    """
    Return the identity within which the chunk's span may merge.
    """
    origin = chunk.provenance
    return VersionKey(index, origin.tenant, origin.source_id, origin.version, origin.content_sha256)


def rank(
    found: Sequence[Found],
    *,
    indexes: Sequence[str],
    query_weights: Sequence[float],
    target_weights: Sequence[float],
    profile: Profile,
) -> tuple[Candidate, ...]:
    """
    Return every distinct chunk of the searches, best first; ties are decided by index and key.

    Scores of a search are normalised over the hits of its query in all targets: the best is 1, the
    last is just above 0, and a chunk that the search did not return has 0.

    Args:
        found: One entry per query and target.
        indexes: Index name per target.
        query_weights: Weight per query; only their proportions matter.
        target_weights: Factor per target.
        profile: The weights of the signals.
    """
    tallies: dict[tuple[str, str], _Tally] = {}
    sections: dict[tuple[str, str], float] = {}
    total_weight = sum(query_weights) or 1.0
    for query, group in _by_query(found).items():
        share = query_weights[query] / total_weight
        dense = _Scale(hit.score for one in group for hit in one.dense)
        sparse = _Scale(hit.score for one in group for hit in one.sparse)
        section = _Scale(hit.score for one in group for hit in one.sections)
        for one in group:
            index, factor = indexes[one.target], share * target_weights[one.target]
            for hit in one.dense:
                tally = _tally(tallies, index, one, hit)
                tally.base += factor * profile.dense * dense(hit.score)
                tally.cosine = max(hit.score, -1.0 if tally.cosine is None else tally.cosine)
            for hit in one.sparse:
                tally = _tally(tallies, index, one, hit)
                tally.base += factor * profile.bm25 * sparse(hit.score)
                tally.bm25 = max(hit.score, 0.0 if tally.bm25 is None else tally.bm25)
            for section_hit in one.sections:
                key = (index, section_hit.section_key)
                sections[key] = sections.get(key, 0.0) + factor * section(section_hit.score)
    scored = _supported(tallies, sections, profile)
    scored.sort(key=lambda entry: (-round(entry[1], SCORE_DIGITS), entry[0]))
    return tuple(
        Candidate(
            rank=position,
            target=tallies[key].target,
            index=key[0],
            chunk=tallies[key].chunk,
            score=score,
            scores=scores,
            queries=tuple(sorted(tallies[key].queries)),
            cosine=tallies[key].cosine,
        )
        for position, (key, score, scores) in enumerate(scored)
    )


def _by_query(found: Sequence[Found]) -> Mapping[int, list[Found]]:
    groups: dict[int, list[Found]] = {}
    for one in found:
        groups.setdefault(one.query, []).append(one)
    return groups


class _Scale:
    """
    Maps raw scores to (0, 1]: the best of all lists of a signal to 1, the worst to just above 0.
    """

    def __init__(self, scores: Iterable[float]) -> None:
        known = tuple(scores)
        self._low = min(known, default=0.0)
        self._width = max(known, default=0.0) - self._low

    def __call__(self, score: float) -> float:
        if self._width <= 0.0:
            return 1.0
        return 0.02 + 0.98 * (score - self._low) / self._width


def _tally(tallies: dict[tuple[str, str], _Tally], index: str, one: Found, hit: Hit) -> _Tally:
    tally = tallies.setdefault((index, hit.chunk.key), _Tally(one.target, hit.chunk))
    tally.queries.add(one.query)
    return tally


def _supported(
    tallies: Mapping[tuple[str, str], _Tally],
    sections: Mapping[tuple[str, str], float],
    profile: Profile,
) -> list[tuple[tuple[str, str], float, tuple[SignalScore, ...]]]:
    by_place = {
        (version_key(index, tally.chunk), tally.chunk.ordinal): tally.base
        for (index, _), tally in tallies.items()
    }
    best: dict[tuple[str, str], float] = {}
    for (index, _), tally in tallies.items():
        home = (index, tally.chunk.section_key)
        best[home] = max(best.get(home, 0.0), tally.base)
    scored = []
    for key, tally in tallies.items():
        version, ordinal = version_key(key[0], tally.chunk), tally.chunk.ordinal
        home = (key[0], tally.chunk.section_key)
        beside = by_place.get((version, ordinal - 1), 0.0) + by_place.get(
            (version, ordinal + 1), 0.0
        )
        neighbour = profile.neighbour * beside
        section = profile.section * sections.get(home, 0.0)
        section_best = profile.section_best * best[home]
        score = tally.base + neighbour + section + section_best
        scores = [SignalScore(Signal.FUSED, score)]
        if tally.cosine is not None:
            scores.append(SignalScore(Signal.DENSE, tally.cosine))
        if tally.bm25 is not None:
            scores.append(SignalScore(Signal.BM25, tally.bm25))
        scores += [
            SignalScore(Signal.NEIGHBOUR, neighbour),
            SignalScore(Signal.SECTION, section),
            SignalScore(Signal.SECTION_BEST, section_best),
        ]
        scored.append((key, score, tuple(scores)))
    return scored
