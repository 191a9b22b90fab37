"""
The straight line: from a question to a counted, cited context.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from assembler.budget import Measure, measure
from assembler.coarse import section_limit
from assembler.conclude import Basis, conclude
from assembler.expand import Evidence, expand
from assembler.gather import (
    Exclusions,
    best_cosine,
    check_included,
    exclusions,
    first_read,
    settle,
    within_section_limit,
)
from assembler.look import Look, Looked, off_loop
from assembler.pack import Packed, Pinned, Work, pack
from assembler.pack_given import given_work
from assembler.ports import (
    ChunkIndex,
    Clock,
    Embedder,
    IndexCatalog,
    Reranker,
    TokenCounter,
    TokenCounters,
)
from assembler.profile import Profile
from assembler.rank import Candidate
from assembler.reads import Reads, Texts
from assembler.report import AssembledContext, Degradation, Disposition, Stage
from assembler.request import AssembleRequest, Budget, ExpansionMode, PackRequest, PromptWindow
from assembler.rerank import check_rerank, is_wanted, kept
from assembler.rules import Rules, no_spans, share_of
from assembler.stages import StageObserver, Stages, TimeLeft, no_deadline, unobserved
from assembler.widen import Widened, widened

GROWTH_SECONDS = 0.05
"""What has to be left before passages are grown: the rest of a request takes half of it."""


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
        more_embedders: Sequence[Embedder] = (),
        observe: StageObserver = unobserved,
    ) -> None:
        """
        Name the parts.

        Args:
            catalog: Resolves index names.
            index: Searches and reads.
            embedder: The model of most indexes.
            counters: The tokenizers.
            profiles: By name.
            clock: For the durations of stages.
            reranker: Scores candidates again.
            more_embedders: Models of further indexes and generations.
            observe: Told of every stage when it ends.
        """
        embedders = (*((embedder,) if embedder else ()), *more_embedders)
        self._reads = Reads(catalog, index)
        self._look = Look(self._reads, embedders, reranker, profiles)
        self._counters = counters
        self._clock = clock
        self._observe = observe

    async def assemble(
        self, request: AssembleRequest, time_left: TimeLeft = no_deadline
    ) -> AssembledContext:
        """
        Return the best context for the queries that fits the budget.

        Where time gets short, optional work (reranking, growth) is left out, and the context says
        so.

        Raises:
            ContextAssemblerError: See `assembler/errors.py`; nothing found is not an error.
        """
        stages = Stages(self._clock, time_left, self._observe)
        counter = self._counters.get(request.budget.tokenizer)
        meter = await _measured(request.budget, counter)
        check_rerank(request, is_there=self._look.has_reranker)
        looked = await self._look.look(request, stages)
        named = await self._reads.named(request.exclude, looked.scopes)
        excluded = exclusions(request.exclude, looked.scopes, named)
        settled = settle(
            looked.candidates, looked.scopes, excluded, request.retrieval.min_similarity
        )
        open_ones = tuple(one for one in looked.candidates if one.identity not in settled)
        limit = section_limit(request.retrieval, looked.profile)
        inside, outside = within_section_limit(open_ones, limit)
        settled.update(dict.fromkeys((one.identity for one in outside), Disposition.SECTION_LIMIT))
        pinned = await self._reads.pinned(request.must_include, looked.scopes)
        check_included(pinned, excluded)
        texts = Texts()
        if is_wanted(request, looked.profile):
            looked = await self._look.rerank(request, looked, inside, texts, stages)
            open_ones, inside = (kept(looked.candidates, some) for some in (open_ones, inside))
        work = _work(request, looked, open_ones, pinned, excluded, meter)
        is_ungrown = work.support is not None and not stages.has_time_for(GROWTH_SECONDS)
        if is_ungrown:
            work = replace(work, support=None)
        packed, evidence, lost, wider = await self._read_and_pack(
            request, looked, inside, texts, excluded, work, meter, stages
        )
        settled.update(wider.settled)
        settled.update(dict.fromkeys((one.identity for one in lost), Disposition.INVALID))
        basis = Basis(
            request=request,
            profile=looked.profile,
            candidates=(*looked.candidates, *wider.beside),
            evidence=evidence,
            settled=settled,
            index_versions=tuple(scope.version for scope in looked.scopes),
            model_sha256=looked.model_sha256,
            reranker=looked.reranker,
            degradations=(
                *looked.degradations,
                *((Degradation.GROWTH_SKIPPED,) if is_ungrown else ()),
            ),
        )
        with stages.timed(Stage.CITE):
            context = await off_loop(conclude, packed, basis, meter)
        return replace(context, stages=stages.times)

    async def pack_passages(self, request: PackRequest) -> AssembledContext:
        """
        Return the caller's own passages merged, deduplicated, chosen, laid out and counted.

        Raises:
            InvalidRequest: Two passages disagree, or a range is not as long as its text.
        """
        stages = Stages(self._clock, observe=self._observe)
        counter = self._counters.get(request.budget.tokenizer)
        meter = await _measured(request.budget, counter)
        with stages.timed(Stage.PACK):
            work, basis = await off_loop(
                given_work, request, meter.limit, self._look.profile("default")
            )
            packed = await off_loop(pack, work, meter)
        with stages.timed(Stage.CITE):
            context = await off_loop(conclude, packed, basis, meter)
        return replace(context, stages=stages.times)

    async def _read_and_pack(
        self,
        request: AssembleRequest,
        looked: Looked,
        inside: Sequence[Candidate],
        texts: Texts,
        excluded: Exclusions,
        work: Work,
        meter: Measure,
        stages: Stages,
    ) -> tuple[Packed, tuple[Evidence, ...], tuple[Candidate, ...], Widened]:
        """
        Read sections in rank order and pack; read the rest only when room is left for it.

        Returns:
            The context, its evidence, candidates without any text, and what was found beside.
        """
        start, end = 0, first_read(inside, meter.limit)
        while True:
            with stages.timed(Stage.FETCH_SECTIONS):
                await self._reads.texts(inside[start:end], looked.scopes, texts)
            with stages.timed(Stage.EXPAND):
                wider, evidence, lost = await off_loop(
                    _expanded, request, looked, inside[:end], texts, excluded
                )
            with stages.timed(Stage.PACK):
                packed = await off_loop(pack, replace(work, evidence=evidence), meter)
            if end >= len(inside) or not packed.filling.has_room(inside[end].score):
                return packed, evidence, lost, wider
            start, end = end, len(inside)


async def _measured(budget: Budget, counter: TokenCounter) -> Measure:
    is_counted = isinstance(budget.room, PromptWindow) and budget.room.messages is not None
    return await off_loop(measure, budget, counter) if is_counted else measure(budget, counter)


def _expanded(
    request: AssembleRequest,
    looked: Looked,
    inside: Sequence[Candidate],
    texts: Texts,
    excluded: Exclusions,
) -> tuple[Widened, tuple[Evidence, ...], tuple[Candidate, ...]]:
    wider = widened(request, looked, inside, texts.sections, excluded)
    queries = [query.text for query in request.queries]
    evidence, lost = expand(
        wider.candidates, texts.sections, texts.own, request.expansion, queries, texts.matched
    )
    return wider, evidence, lost


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
            price=looked.profile.price_at(best_cosine(candidates)),
            forbidden=excluded.spans if excluded.ranges else no_spans,
        ),
        layout=request.layout,
        support=looked.support if request.expansion.mode is ExpansionMode.AUTO else None,
    )
