"""
Every chunk of a candidate's section is a candidate too: what surrounds a hit is often the rest of
the evidence, and a chunk that no search returned is worth what its support is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from operator import itemgetter

from assembler.gather import Exclusions, settle
from assembler.look import Looked
from assembler.model import Chunk, Section, VersionKey
from assembler.rank import SCORE_DIGITS, Candidate, Support
from assembler.report import Disposition
from assembler.request import AssembleRequest, ExpansionMode


@dataclass(frozen=True, slots=True)
class Widened:
    """
    Candidates with those beside them.

    Attributes:
        candidates: What may be packed, best first, ranks counted anew.
        beside: All that no search returned.
        settled: Those of them that may not be packed.
    """

    candidates: tuple[Candidate, ...]
    beside: tuple[Candidate, ...]
    settled: Mapping[tuple[str, str], Disposition]


def widened(
    request: AssembleRequest,
    looked: Looked,
    candidates: Sequence[Candidate],
    sections: Mapping[tuple[str, str], Section],
    excluded: Exclusions,
) -> Widened:
    """
    Return the candidates with every chunk of their sections, where the request's unit is the chunk
    and nothing speaks against chunks whose similarity is not known.

    Args:
        request: Says the unit.
        looked: All that searches returned, and what it is worth to stand beside it.
        candidates: Those whose sections were read, best first.
        sections: Sections by index name and key.
        excluded: What stays out.
    """
    by_chunk = request.expansion.mode in (ExpansionMode.AUTO, ExpansionMode.CHUNK)
    if not by_chunk or request.retrieval.min_similarity is not None:
        return Widened(tuple(candidates), (), {})
    beside = implied(candidates, looked.candidates, sections, looked.support)
    settled = settle(beside, looked.scopes, excluded, None)
    open_ones = [one for one in beside if one.identity not in settled]
    return Widened(together(candidates, open_ones), beside, settled)


def implied(
    candidates: Sequence[Candidate],
    known: Sequence[Candidate],
    sections: Mapping[tuple[str, str], Section],
    support: Support,
) -> tuple[Candidate, ...]:
    """
    Return the chunks of the candidates' sections that no search returned, section by section.

    Args:
        candidates: Those whose sections were read.
        known: All that searches returned.
        sections: Sections by index name and key.
        support: What chunks that no search returned are worth.
    """
    seen = {one.identity for one in known}
    homes: dict[tuple[str, str], Candidate] = {}
    for one in candidates:
        homes.setdefault((one.index, one.chunk.section_key), one)
    found: list[Candidate] = []
    for home, first in homes.items():
        section = sections.get(home)
        if section is not None:
            found += _implied(home, first.target, section, seen, support)
    return tuple(found)


def together(candidates: Sequence[Candidate], others: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """
    Return all of them, best first, ranks counted anew; candidates that searches returned keep
    their order.
    """
    if not others:
        return tuple(candidates)
    found = (
        (-round(one.score, SCORE_DIGITS), 0, one.rank, one.identity, one) for one in candidates
    )
    beside = ((-round(one.score, SCORE_DIGITS), 1, 0, one.identity, one) for one in others)
    scored = sorted((*found, *beside), key=itemgetter(0, 1, 2, 3))
    return tuple(one.at(rank) for rank, (*_, one) in enumerate(scored))


def _implied(
    home: tuple[str, str],
    target: int,
    section: Section,
    seen: AbstractSet[tuple[str, str]],
    support: Support,
) -> Iterator[Candidate]:
    index, section_key = home
    origin = section.provenance
    version = VersionKey(
        index, origin.tenant, origin.source_id, origin.version, origin.content_sha256
    )
    for place, key in enumerate(section.chunk_keys):
        if (index, key) in seen:
            continue
        ordinal = section.first_chunk_ordinal + place
        score, values = support.implied(version, home, ordinal)
        chunk = Chunk(key, origin, section_key, section.chunk_spans[place], ordinal, "")
        yield Candidate(0, target, index, version, chunk, score, values, (), None)
