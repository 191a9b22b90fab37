"""
The caller's own passages as evidence: a source text is rebuilt from the ranges that are given.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from assembler.conclude import Basis
from assembler.errors import InvalidRequest
from assembler.expand import Evidence
from assembler.model import Chunk, Provenance, Section, VersionKey
from assembler.pack import Work
from assembler.parent import Parent
from assembler.profile import Profile
from assembler.rank import Candidate
from assembler.rebuild import Piece, rebuild
from assembler.report import Signal, SignalScore
from assembler.request import GivenPassage, PackRequest, Target
from assembler.rules import Rules, share_of
from assembler.scope import IndexVersion
from assembler.span import Span

GIVEN = "given"
"""Stands for the index and generation that the caller's own passages do not have."""


def given_work(request: PackRequest, limit: int, profile: Profile) -> tuple[Work, Basis]:
    """
    Return what `pack` and `conclude` need, the passages best first: by score, else as given.

    Raises:
        InvalidRequest: Passages of one source version disagree on a text they share.
    """
    homes = _homes(request.passages)
    order = sorted(
        range(len(request.passages)),
        key=lambda number: (
            (-(request.passages[number].score or 0.0), number)
            if request.passages[number].score is not None
            else (float("inf"), number)
        ),
    )
    worths = _worths(request.passages)
    evidence = [
        _evidence(request.passages[number], number, rank, homes[number], worths[number])
        for rank, number in enumerate(order)
    ]
    work = Work(
        evidence=evidence,
        pinned=(),
        rules=Rules(
            limit=limit,
            source_limit=share_of(limit, request.max_source_share),
            targets=(Target(GIVEN),),
            fill=request.fill,
            price=profile.price,
            is_priced_by_token=False,
        ),
        layout=request.layout,
    )
    basis = Basis(
        request=request,
        profile=profile,
        candidates=tuple(one.candidate for one in evidence),
        evidence=evidence,
        settled={},
        index_versions=(IndexVersion(GIVEN, 0),),
        model_sha256="",
    )
    return work, basis


def _worths(passages: Sequence[GivenPassage]) -> list[float]:
    """
    Return what each passage is worth, above 0: its score where all scores are, else scores mapped
    to 0.5 to 1; without a score as little as the least.
    """
    scores = [passage.score for passage in passages if passage.score is not None]
    low, high = min(scores, default=1.0), max(scores, default=1.0)
    if low > 0.0:
        return [low if passage.score is None else passage.score for passage in passages]
    width = (high - low) or 1.0
    return [
        0.5 + 0.5 * ((low if passage.score is None else passage.score) - low) / width
        for passage in passages
    ]


def _homes(passages: Sequence[GivenPassage]) -> dict[int, Parent]:
    by_version: dict[tuple[str, str], list[int]] = {}
    homes: dict[int, Parent] = {}
    for number, passage in enumerate(passages):
        if passage.span is None:
            digest = hashlib.sha256(passage.text.encode("utf-8", "surrogatepass")).hexdigest()
            key = VersionKey(GIVEN, "", passage.source_id, passage.version, f"{digest}#{number}")
            run = Piece(Span(0, len(passage.text)), passage.text)
            homes[number] = _home(passage, number, run, key, (run.span,))
        else:
            by_version.setdefault((passage.source_id, passage.version), []).append(number)
    for members in by_version.values():
        homes.update(_rebuilt(passages, members))
    return homes


def _rebuilt(passages: Sequence[GivenPassage], members: Sequence[int]) -> dict[int, Parent]:
    spans = {number: span for number in members if (span := passages[number].span) is not None}
    for number, span in spans.items():
        if len(passages[number].text) != span.length:
            raise InvalidRequest(
                f"passages[{number}].range",
                f"is {span.length} code points long, its text {len(passages[number].text)}",
            )
    found = rebuild([Piece(span, passages[number].text) for number, span in spans.items()])
    if found.conflicts:
        kept, other = (members[position] for position in found.conflicts[0])
        raise InvalidRequest(
            f"passages[{other}].text",
            f"disagrees with passages[{kept}] on the range that both give of source "
            f"{passages[kept].source_id!r}, version {passages[kept].version!r}",
        )
    first = passages[members[0]]
    key = VersionKey(GIVEN, "", first.source_id, first.version, "")
    homes: dict[int, Parent] = {}
    for run in found.runs:
        inside = [number for number in members if run.span.contains(spans[number])]
        cuts = tuple(sorted({spans[number] for number in inside}))
        parent = _home(passages[inside[0]], inside[0], run, key, cuts)
        homes.update(dict.fromkeys(inside, parent))
    return homes


def _home(
    passage: GivenPassage, number: int, run: Piece, key: VersionKey, cuts: tuple[Span, ...]
) -> Parent:
    return Parent(
        Section(
            key=f"passages[{number}]",
            provenance=_provenance(passage, key.content_sha256),
            span=run.span,
            ordinal=number,
            text=run.text,
            text_sha256="",
            heading_path=passage.heading_path,
            title=passage.title,
            uri=passage.uri,
            media_type="",
            language="",
            first_chunk_ordinal=0,
            chunk_spans=cuts,
            borders=(),
            metadata=dict(passage.metadata),
        ),
        key,
        0,
    )


def _provenance(passage: GivenPassage, content_sha256: str) -> Provenance:
    return Provenance("", passage.source_id, passage.version, content_sha256, None, 0)


def _evidence(
    passage: GivenPassage, number: int, rank: int, home: Parent, worth: float
) -> Evidence:
    span = passage.span or home.section.span
    candidate = Candidate(
        rank=rank,
        target=0,
        index=GIVEN,
        version=home.version,
        chunk=Chunk(
            key=f"passages[{number}]",
            provenance=_provenance(passage, home.version.content_sha256),
            section_key=home.section.key,
            span=span,
            ordinal=number,
            text_sha256="",
        ),
        score=worth,
        scores=() if passage.score is None else (SignalScore(Signal.CALLER, passage.score),),
        queries=(),
        cosine=None,
    )
    return Evidence(candidate, home, span, (span,), None, ())
