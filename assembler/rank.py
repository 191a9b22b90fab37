"""
Fuse the signals of every query into one order of candidates.

The weighted sum of normalised scores, with support from neighbours and sections, was measured
against reciprocal rank fusion (Cormack, Clarke, Buettcher, SIGIR 2009) on seven question sets: see
docs/decisions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from assembler.model import Chunk, Hit, SectionHit, VersionKey
from assembler.profile import Profile
from assembler.report import SignalScore, SignalValues, scores_of
from assembler.scale import Scale, dense_scales

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


class Candidate(NamedTuple):
    """
    A chunk that a search returned, with its fused score and what it is made of.

    Attributes:
        rank: 0-based, 0 is best.
        version: The source version that the chunk's span counts in.
        values: What the score is made of, see `scores`.
        queries: Those that found it; none where only its section says that it is there.
        cosine: Highest raw cosine of any query, None where no vector search returned the chunk.
    """

    rank: int
    target: int
    index: str  # type: ignore[assignment]  # hides `tuple.index`
    version: VersionKey
    chunk: Chunk
    score: float
    values: SignalValues
    queries: tuple[int, ...]
    cosine: float | None

    def at(self, rank: int) -> Candidate:
        """
        Return the same at another rank.
        """
        return Candidate(rank, *self[1:])

    @property
    def identity(self) -> tuple[str, str]:
        """
        Return index name and chunk key.
        """
        return self.index, self.chunk.key

    @property
    def home(self) -> tuple[str, str]:
        """
        Return index name and section key.
        """
        return self.index, self.chunk.section_key

    @property
    def is_implied(self) -> bool:
        """
        Return whether no search returned it: only its section says that it is there.
        """
        return not self.queries

    @property
    def scores(self) -> tuple[SignalScore, ...]:
        """
        Return what the score is made of, by signals that have a value.
        """
        return scores_of(self.values)


Around: TypeAlias = tuple[float, float, float]
"""Weighted support of a section's BM25 score, of its best chunk, and of its document."""


@dataclass(frozen=True, slots=True)
class Support:
    """
    What a chunk gains from what was found around it: in its neighbours, section and document.

    Attributes:
        own: Fused score of the searches alone, by source version and chunk ordinal.
        around: Weighted support of the section and its document, by index name and section key.
        neighbour: Part of each direct neighbour's own score that a chunk gains.
    """

    own: Mapping[tuple[VersionKey, int], float]
    around: Mapping[tuple[str, str], Around]
    neighbour: float

    def beside(self, version: VersionKey, ordinal: int) -> float:
        """
        Return what a chunk gains from its two neighbours.
        """
        own = self.own
        before, after = own.get((version, ordinal - 1), 0.0), own.get((version, ordinal + 1), 0.0)
        return self.neighbour * (before + after)

    def implied(
        self, version: VersionKey, home: tuple[str, str], ordinal: int
    ) -> tuple[float, SignalValues]:
        """
        Return the score of a chunk that no search returned, and its parts: support is all it has.
        """
        beside, around = self.beside(version, ordinal), self.around.get(home, (0.0, 0.0, 0.0))
        score = beside + sum(around)
        return score, (score, None, None, beside, *around)


@dataclass(frozen=True, slots=True)
class Ranking:
    """
    Candidates, best first, and what the chunks beside them are worth.
    """

    candidates: tuple[Candidate, ...]
    support: Support


@dataclass(slots=True)
class _Tally:
    target: int
    chunk: Chunk
    version: VersionKey
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
    models: Sequence[str] = (),
) -> Ranking:
    """
    Return every distinct chunk of the searches, best first; ties are decided by index and key.

    Scores of a search are normalised over the hits of its query in all targets: the best is 1, the
    last is just above 0, and a chunk that the search did not return has 0. Cosines are normalised
    per embedding model, since those of two models do not compare.

    Args:
        found: One entry per query and target.
        indexes: Index name per target.
        query_weights: Weight per query; only their proportions matter.
        target_weights: Factor per target.
        profile: The weights of the signals.
        models: Embedding model per target; without them it is one and the same.
    """
    tallies: dict[tuple[str, str], _Tally] = {}
    sections: dict[tuple[str, str], float] = {}
    total_weight = sum(query_weights) or 1.0
    for query, group in _by_query(found).items():
        share = query_weights[query] / total_weight
        dense = dense_scales([(one.target, one.dense) for one in group], models)
        sparse = Scale(hit.score for one in group for hit in one.sparse)
        section = Scale(hit.score for one in group for hit in one.sections)
        for one in group:
            index, factor = indexes[one.target], share * target_weights[one.target]
            for hit in one.dense:
                tally = _tally(tallies, index, one, hit)
                tally.base += factor * profile.dense * dense[one.target](hit.score)
                tally.cosine = max(hit.score, -1.0 if tally.cosine is None else tally.cosine)
            for hit in one.sparse:
                tally = _tally(tallies, index, one, hit)
                tally.base += factor * profile.bm25 * sparse(hit.score)
                tally.bm25 = max(hit.score, 0.0 if tally.bm25 is None else tally.bm25)
            for section_hit in one.sections:
                key = (index, section_hit.section_key)
                sections[key] = sections.get(key, 0.0) + factor * section(section_hit.score)
    return _supported(tallies, sections, profile)


def _by_query(found: Sequence[Found]) -> Mapping[int, list[Found]]:
    groups: dict[int, list[Found]] = {}
    for one in found:
        groups.setdefault(one.query, []).append(one)
    return groups


def _tally(tallies: dict[tuple[str, str], _Tally], index: str, one: Found, hit: Hit) -> _Tally:
    key = (index, hit.chunk.key)
    tally = tallies.get(key)
    if tally is None:
        tally = tallies[key] = _Tally(one.target, hit.chunk, version_key(index, hit.chunk))
    tally.queries.add(one.query)
    return tally


def _supported(
    tallies: Mapping[tuple[str, str], _Tally],
    sections: Mapping[tuple[str, str], float],
    profile: Profile,
) -> Ranking:
    own: dict[tuple[VersionKey, int], float] = {}
    best: dict[tuple[str, str], float] = {}
    versions: dict[tuple[str, str], VersionKey] = {}
    for (index, _), tally in tallies.items():
        home = (index, tally.chunk.section_key)
        own[tally.version, tally.chunk.ordinal] = tally.base
        best[home] = max(best.get(home, 0.0), tally.base)
        versions[home] = tally.version
    of_document: dict[VersionKey, float] = {}
    for home, version in versions.items():
        whole = (sections.get(home, 0.0) + best[home]) / 2
        of_document[version] = max(of_document.get(version, 0.0), whole)
    around = {
        home: (
            profile.section * sections.get(home, 0.0),
            profile.section_best * best[home],
            profile.document * of_document[version],
        )
        for home, version in versions.items()
    }
    support = Support(own, around, profile.neighbour)
    scored = []
    for key, tally in tallies.items():
        home = (key[0], tally.chunk.section_key)
        neighbour = support.beside(tally.version, tally.chunk.ordinal)
        score = tally.base + neighbour + sum(around[home])
        scored.append((-round(score, SCORE_DIGITS), key, score, (neighbour, *around[home]), tally))
    scored.sort(key=itemgetter(0, 1))
    candidates = tuple(
        Candidate(
            position,
            tally.target,
            key[0],
            tally.version,
            tally.chunk,
            score,
            (score, tally.cosine, tally.bm25, *gained),
            tuple(sorted(tally.queries)),
            tally.cosine,
        )
        for position, (_, key, score, gained, tally) in enumerate(scored)
    )
    return Ranking(candidates, support)
