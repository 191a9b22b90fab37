"""
The straight line: from a question to a counted, cited context.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from assembler.budget import Measure, measure
from assembler.conclude import Basis, conclude
from assembler.errors import ProfileUnknown, QueryTooLong, RerankerUnavailable
from assembler.expand import Evidence, expand
from assembler.fill import Rules, share_of
from assembler.gather import Exclusions, exclusions, first_read, settle, within_section_limit
from assembler.pack import Packed, Pinned, Work, pack
from assembler.pack_given import given_work
from assembler.ports import (
    ChunkIndex,
    Clock,
    Embedder,
    IndexCatalog,
    Reranker,
    TokenCounters,
    Vector,
)
from assembler.profile import Profile
from assembler.rank import Candidate, rank
from assembler.reads import Reads, Texts, found
from assembler.report import AssembledContext, Degradation, Disposition, Stage
from assembler.request import AssembleRequest, PackRequest, RetrievalMode
from assembler.rerank import check_rerank, is_wanted, judged, kept, readable, reranked
from assembler.resolve import check_model
from assembler.scope import ReadScope
from assembler.stages import Stages

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Looked:
    """
    What the first half of a request found: who may see what, and the ranked candidates.

    Attributes:
        reranker: Identity of the reranker, where it took part.
    """

    scopes: tuple[ReadScope, ...]
    profile: Profile
    candidates: tuple[Candidate, ...]
    model_sha256: str
    reranker: str = ""
    degradations: tuple[Degradation, ...] = ()


class ContextAssembler:
    """
    Assembles contexts from an index; keeps no state between requests.
    """

    def __init__(
        self,
        *,
        catalog: IndexCatalog,
        index: ChunkIndex,
        embedder: Embedder | None,
        counters: TokenCounters,
        profiles: Mapping[str, Profile],
        clock: Clock,
        reranker: Reranker | None = None,
    ) -> None:
        self._reads = Reads(catalog, index)
        self._embedder = embedder
        self._counters = counters
        self._profiles = profiles
        self._clock = clock
        self._reranker = reranker

    async def assemble(self, request: AssembleRequest) -> AssembledContext:
        """
        Return the best context for the queries that fits the budget.

        Raises:
            ContextAssemblerError: See `assembler/errors.py`; nothing found is not an error.
        """
        stages = Stages(self._clock)
        counter = self._counters.get(request.budget.tokenizer)
        meter = await _off_loop(measure, request.budget, counter)
        check_rerank(request, is_there=self._reranker is not None)
        looked = await self._look(request, stages)
        named = await self._reads.named(request.exclude, looked.scopes)
        excluded = exclusions(request.exclude, looked.scopes, named)
        settled = settle(
            looked.candidates, looked.scopes, excluded, request.retrieval.min_similarity
        )
        open_ones = tuple(one for one in looked.candidates if one.identity not in settled)
        limit = request.retrieval.section_limit or looked.profile.section_limit
        inside, outside = within_section_limit(open_ones, limit)
        settled.update(dict.fromkeys((one.identity for one in outside), Disposition.SECTION_LIMIT))
        pinned = await self._reads.pinned(request.must_include, looked.scopes)
        texts = Texts()
        if is_wanted(request, looked.profile):
            looked = await self._rerank(request, looked, inside, texts, stages)
            open_ones, inside = (kept(looked.candidates, some) for some in (open_ones, inside))
        work = _work(request, looked, open_ones, pinned, excluded, meter)
        packed, evidence, lost = await self._read_and_pack(
            request, looked.scopes, inside, texts, work, meter, stages
        )
        settled.update(dict.fromkeys((one.identity for one in lost), Disposition.INVALID))
        basis = Basis(
            request=request,
            profile=looked.profile,
            candidates=looked.candidates,
            evidence=evidence,
            settled=settled,
            index_versions=tuple(scope.version for scope in looked.scopes),
            model_sha256=looked.model_sha256,
            reranker=looked.reranker,
            degradations=looked.degradations,
        )
        with stages.timed(Stage.CITE):
            context = await _off_loop(conclude, packed, basis, meter)
        return replace(context, stages=stages.times)

    async def pack_passages(self, request: PackRequest) -> AssembledContext:
        """
        Return the caller's own passages merged, deduplicated, chosen, laid out and counted.

        Raises:
            InvalidRequest: Two passages disagree, or a range is not as long as its text.
        """
        stages = Stages(self._clock)
        counter = self._counters.get(request.budget.tokenizer)
        meter = await _off_loop(measure, request.budget, counter)
        with stages.timed(Stage.PACK):
            work, basis = await _off_loop(
                given_work, request, meter.limit, self._profile("default")
            )
            packed = await _off_loop(pack, work, meter)
        with stages.timed(Stage.CITE):
            context = await _off_loop(conclude, packed, basis, meter)
        return replace(context, stages=stages.times)

    async def _look(self, request: AssembleRequest, stages: Stages) -> Looked:
        resolved = await asyncio.gather(
            *(self._reads.resolve(target, number) for number, target in enumerate(request.targets))
        )
        states = tuple(state for state, _ in resolved)
        scopes = tuple(scope for _, scope in resolved)
        profile = self._profile(request.profile or states[0].profile)
        uses_vectors = request.retrieval.mode is not RetrievalMode.SPARSE
        identity = self._embedder.identity if self._embedder and uses_vectors else None
        if uses_vectors:
            for number, state in enumerate(states):
                check_model(request.queries, state, identity, number)
        with stages.timed(Stage.SEARCH):
            vectors, text_hits = await asyncio.gather(
                self._vectors(request, stages), self._reads.search_text(request, scopes)
            )
            dense_hits = await self._reads.search_vectors(request, scopes, vectors)
        with stages.timed(Stage.RANK):
            candidates = await _off_loop(
                lambda: rank(
                    found(text_hits, dense_hits),
                    indexes=[scope.index for scope in scopes],
                    query_weights=[query.weight for query in request.queries],
                    target_weights=[target.weight for target in request.targets],
                    profile=profile,
                )
            )
        return Looked(scopes, profile, candidates, identity.sha256 if identity else "")

    async def _vectors(self, request: AssembleRequest, stages: Stages) -> list[Vector]:
        if request.retrieval.mode is RetrievalMode.SPARSE:
            return []
        missing = [n for n, query in enumerate(request.queries) if query.vector is None]
        vectors: dict[int, Vector] = {
            n: query.vector.values for n, query in enumerate(request.queries) if query.vector
        }
        if missing and self._embedder is not None:
            texts = [request.queries[n].text for n in missing]
            with stages.timed(Stage.EMBED):
                try:
                    vectors.update(zip(missing, await self._embedder.embed(texts), strict=True))
                except QueryTooLong as error:
                    raise error.at(missing[error.position]) from None
        return [vectors[n] for n in range(len(request.queries))]

    async def _rerank(
        self,
        request: AssembleRequest,
        looked: Looked,
        inside: Sequence[Candidate],
        texts: Texts,
        stages: Stages,
    ) -> Looked:
        """
        Return the candidates in the order that reading the texts of the first of them gives.

        Raises:
            RerankerUnavailable: The request asked for it; what only the profile asks for is
                skipped, and the reply says so.
        """
        skipped = replace(looked, degradations=(Degradation.RERANK_SKIPPED,))
        asking = [query for query in request.queries if query.text.strip()]
        if self._reranker is None or not asking:
            return skipped
        first = inside[: looked.profile.rerank_limit]
        with stages.timed(Stage.FETCH_SECTIONS):
            await self._reads.texts(first, looked.scopes, texts)
        with stages.timed(Stage.RERANK):
            known = await _off_loop(readable, first, texts.sections, texts.own)
            if not known:
                return looked
            read = list(known.values())
            try:
                scores = await asyncio.gather(
                    *(self._reranker.rerank(query.text, read) for query in asking)
                )
            except RerankerUnavailable:
                if request.retrieval.rerank:
                    raise
                return skipped
            said = judged(list(known), scores, [query.weight for query in asking])
            candidates = await _off_loop(reranked, looked.candidates, said, looked.profile)
        return replace(looked, candidates=candidates, reranker=self._reranker.identity)

    async def _read_and_pack(
        self,
        request: AssembleRequest,
        scopes: Sequence[ReadScope],
        inside: Sequence[Candidate],
        texts: Texts,
        work: Work,
        meter: Measure,
        stages: Stages,
    ) -> tuple[Packed, tuple[Evidence, ...], tuple[Candidate, ...]]:
        """
        Read sections in rank order and pack; read the rest only when room is left for it.
        """
        start, end = 0, first_read(inside, meter.limit)
        while True:
            with stages.timed(Stage.FETCH_SECTIONS):
                await self._reads.texts(inside[start:end], scopes, texts)
            with stages.timed(Stage.EXPAND):
                evidence, lost = await _off_loop(
                    expand,
                    inside[:end],
                    texts.sections,
                    texts.own,
                    request.expansion,
                    [query.text for query in request.queries],
                )
            with stages.timed(Stage.PACK):
                packed = await _off_loop(pack, replace(work, evidence=evidence), meter)
            if end >= len(inside) or not packed.filling.has_room(inside[end].score):
                return packed, evidence, lost
            start, end = end, len(inside)

    def _profile(self, name: str) -> Profile:
        try:
            return self._profiles[name]
        except KeyError:
            raise ProfileUnknown(name, tuple(sorted(self._profiles))) from None


def _work(
    request: AssembleRequest,
    looked: Looked,
    candidates: Sequence[Candidate],
    pinned: Sequence[Pinned],
    excluded: Exclusions,
    meter: Measure,
) -> Work:
    return Work(
        evidence=(),
        pinned=pinned,
        scores={(one.version, one.chunk.ordinal): one.score for one in candidates},
        rules=Rules(
            limit=meter.limit,
            source_limit=share_of(meter.limit, request.retrieval.max_source_share),
            targets=request.targets,
            fill=request.fill,
            profile=looked.profile,
            forbidden=excluded.spans,
        ),
        layout=request.layout,
        mode=request.expansion.mode,
    )


async def _off_loop(step: Callable[..., T], *values: object) -> T:
    """
    Run a CPU-heavy step outside the event loop.
    """
    return await asyncio.to_thread(step, *values)
