"""
From a packed context to the reply of the core.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assembler.budget import Measure
from assembler.cite import CandidateId, account, cite, homes_of
from assembler.expand import Evidence
from assembler.pack import Packed
from assembler.profile import Profile
from assembler.rank import Candidate
from assembler.render import Block
from assembler.report import (
    AssembledContext,
    BudgetReport,
    CitedPassage,
    Degradation,
    Disposition,
)
from assembler.request import AssembleRequest, PackRequest
from assembler.scope import IndexVersion

PACKING_VERSION = "4"
"""Changes when equal input may give another context; part of every fingerprint."""


@dataclass(frozen=True, slots=True)
class Basis:
    """
    What a context was made from, besides the packed passages.

    Attributes:
        settled: Dispositions that were decided before packing.
        model_sha256: Hash of the embedding model; "" where none took part.
        reranker: Identity of the reranker; "" where none took part.
    """

    request: AssembleRequest | PackRequest
    profile: Profile
    candidates: Sequence[Candidate]
    evidence: Sequence[Evidence]
    settled: Mapping[CandidateId, Disposition]
    index_versions: tuple[IndexVersion, ...]
    model_sha256: str
    reranker: str = ""
    degradations: tuple[Degradation, ...] = ()


def conclude(packed: Packed, basis: Basis, measure: Measure) -> AssembledContext:
    """
    Return the context with its citations, its account and its fingerprints; stages come later.
    """
    request = basis.request
    fields = request.metadata_fields if isinstance(request, AssembleRequest) else ()
    revisions = {number: one.revision for number, one in enumerate(basis.index_versions)}
    context = packed.rendered.text
    known = (packed, basis.candidates, basis.evidence, basis.settled)
    homes = homes_of(*known)
    passages = cite(
        packed,
        homes=homes,
        revisions=revisions,
        metadata_fields=fields,
        count=measure.counter.count,
    )
    return AssembledContext(
        context=context,
        passages=passages,
        budget=_budget(packed, passages, measure, request),
        candidates=account(*known, homes),
        stages=(),
        index_versions=basis.index_versions,
        degradations=basis.degradations,
        request=request,
        profile=basis.profile,
        context_sha256=_sha256(context),
        request_fingerprint=fingerprint(basis, measure),
        corrections=packed.corrections,
    )


def fingerprint(basis: Basis, measure: Measure) -> str:
    """
    Return a hash of everything that decides the context: a cache key.
    """
    parts = (
        PACKING_VERSION,
        [str(version) for version in basis.index_versions],
        basis.request,
        basis.profile.sha256,
        measure.counter.sha256,
        basis.model_sha256,
        basis.reranker,
    )
    return _sha256(repr(parts))


def _budget(
    packed: Packed,
    passages: Sequence[CitedPassage],
    measure: Measure,
    request: AssembleRequest | PackRequest,
) -> BudgetReport:
    parts, blocks = packed.filling.parts, packed.rendered.blocks
    headings = sum(parts.of(block.heading) for block in blocks)
    # a block is counted already; what stands in it beside text is short
    beside = sum(parts.of(one) for block in blocks for one in _beside_text(block, packed))
    texts = max(sum(passage.tokens for passage in passages) - beside, 0)
    headings = min(headings, packed.tokens)
    text = min(texts, packed.tokens - headings)
    return BudgetReport(
        tokenizer=measure.counter.name,
        tokenizer_sha256=measure.counter.sha256,
        limit=measure.limit,
        frame=measure.frame,
        context=packed.tokens,
        text=text,
        headings=headings,
        markers=packed.tokens - headings - text,
        is_proxy=request.budget.safety_ratio > 1.0,
    )


def _beside_text(block: Block, packed: Packed) -> Iterator[str]:
    """
    Yield what stands in a block before, between and after its source text.
    """
    start = block.place.start
    for span in block.spans:
        yield packed.rendered.text[start : span.context.start]
        start = span.context.end
    yield packed.rendered.text[start : block.place.end]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
