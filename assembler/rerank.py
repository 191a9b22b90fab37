"""
Rerank: mix the fused scores of the first candidates with what a cross-encoder says of their texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from assembler.errors import InvalidRequest
from assembler.expand import mismatch
from assembler.model import Section
from assembler.profile import Profile
from assembler.rank import SCORE_DIGITS, Candidate
from assembler.report import Signal
from assembler.request import AssembleRequest

Identity = tuple[str, str]
"""Index name and chunk key."""

HEADING_JOINT = " > "
"""Between the headings that stand before a text, as in the input of the embedding model."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """
    What the reranker says of one candidate.

    Attributes:
        raw: The highest raw score of any query.
        share: 0 is the worst of the reranked candidates, 1 the best; the queries' weighted mean.
    """

    raw: float
    share: float


def is_wanted(request: AssembleRequest, profile: Profile) -> bool:
    """
    Return whether candidates are to be reranked: the request decides, else the profile.
    """
    asked = request.retrieval.rerank
    return profile.rerank if asked is None else asked


def check_rerank(request: AssembleRequest, *, is_there: bool) -> None:
    """
    Refuse a request that asks for what cannot be done.

    Raises:
        InvalidRequest: There is no reranker, or a query has no text for it to read.
    """
    if not request.retrieval.rerank:
        return
    if not is_there:
        raise InvalidRequest(
            "retrieval.rerank",
            "is ON and this service has no reranker; leave it unset, or give the service one by "
            "its setting `reranker`",
        )
    for number, query in enumerate(request.queries):
        if not query.text.strip():
            raise InvalidRequest(f"queries[{number}].text", "is empty; reranking reads it")


def readable(
    candidates: Sequence[Candidate],
    sections: Mapping[tuple[str, str], Section],
    own_texts: Mapping[tuple[str, str], str],
) -> dict[Identity, str]:
    """
    Return what the reranker reads of each candidate whose text is known, in the given order.

    It is what was embedded: the heading path, then the chunk. A chunk whose section cannot be used
    is read without headings.
    """
    texts: dict[Identity, str] = {}
    for one in candidates:
        section = sections.get((one.index, one.chunk.section_key))
        own = own_texts.get(one.identity)
        if section is not None and mismatch(one.chunk, section) is None:
            path = HEADING_JOINT.join(section.heading_path)
            text = section.slice(one.chunk.span)
            texts[one.identity] = f"{path}\n{text}" if path else text
        elif own is not None:
            texts[one.identity] = own
    return texts


def judged(
    identities: Sequence[Identity], scores: Sequence[Sequence[float]], weights: Sequence[float]
) -> dict[Identity, Judgement]:
    """
    Return what the reranker says of every candidate, over all queries.

    Args:
        identities: The candidates that were read.
        scores: Per query, one raw score per candidate.
        weights: Weight per query; only their proportions matter.
    """
    total = sum(weights)
    scaled = [_scaled(row) for row in scores]
    return {
        identity: Judgement(
            raw=max(row[at] for row in scores),
            share=sum(
                weight / total * row[at] for weight, row in zip(weights, scaled, strict=True)
            ),
        )
        for at, identity in enumerate(identities)
    }


def reranked(
    candidates: Sequence[Candidate], judgements: Mapping[Identity, Judgement], profile: Profile
) -> tuple[Candidate, ...]:
    """
    Return all candidates in their new order, the reranked ones first, ranks counted anew.

    The reranker's share is spread between the best fused score and that of the best candidate that
    comes after all reranked ones (0 where none does), so that scores keep their size: the price of
    `fill` AUTO and the steps of growth go on comparing like with like.
    """
    read = [one for one in candidates if one.identity in judgements]
    if not read:
        return tuple(candidates)
    last = max(one.rank for one in read)
    top = max(one.score for one in read)
    floor = min(top, max((one.score for one in candidates if one.rank > last), default=0.0))

    def mixed(one: Candidate) -> float:
        said = floor + (top - floor) * judgements[one.identity].share
        return (1.0 - profile.rerank_weight) * one.score + profile.rerank_weight * said

    ahead = sorted(
        (_scored(one, mixed(one), judgements[one.identity].raw) for one in read),
        key=lambda one: (
            -round(one.score, SCORE_DIGITS),
            -round(judgements[one.identity].share, SCORE_DIGITS),
            one.identity,
        ),
    )
    behind = sorted(
        (one for one in candidates if one.identity not in judgements), key=lambda one: one.rank
    )
    return tuple(one._replace(rank=rank) for rank, one in enumerate((*ahead, *behind)))


def kept(ordered: Sequence[Candidate], some: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """
    Return the candidates that are among `some`, as they are in `ordered` and in that order.
    """
    wanted = {one.identity for one in some}
    return tuple(one for one in ordered if one.identity in wanted)


def _scaled(scores: Sequence[float]) -> list[float]:
    """
    Return the scores with the least as 0 and the greatest as 1; equal ones say nothing and are 1.
    """
    low, high = min(scores), max(scores)
    width = high / 2 - low / 2  # halves: the whole width may be more than a float can hold
    return [(score / 2 - low / 2) / width if width > 0.0 else 1.0 for score in scores]


def _scored(one: Candidate, score: float, raw: float) -> Candidate:
    new = {Signal.FUSED: score, Signal.RERANK: raw}
    known = zip_longest(Signal, one.values)
    return one._replace(
        score=score, values=tuple(new.get(signal, value) for signal, value in known)
    )
