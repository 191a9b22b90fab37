"""
The first half of a request: who may see what, and the candidates in their order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from assembler.coarse import best_sections, section_limit
from assembler.errors import ProfileUnknown, QueryTooLong, RerankerUnavailable
from assembler.model import PointKind
from assembler.ports import Embedder, Reranker, Vector
from assembler.profile import Profile
from assembler.rank import Candidate, Found, Support, rank
from assembler.reads import Reads, Texts, found, found_sections
from assembler.report import Degradation, Stage
from assembler.request import AssembleRequest, RetrievalMode
from assembler.rerank import judged, readable, reranked
from assembler.resolve import check_model, check_section_vectors, lacks_text_search
from assembler.scope import ReadScope
from assembler.stages import Stages

RERANK_SECONDS = 0.25
"""What has to be left before candidates are reranked."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Looked:
    """
    What the first half of a request found: who may see what, and the ranked candidates.

    Attributes:
        model_sha256: Hash of the targets' embedding model, a comma between several; "" where none
            took part.
        reranker: Identity of the reranker, where it took part.
    """

    scopes: tuple[ReadScope, ...]
    profile: Profile
    candidates: tuple[Candidate, ...]
    support: Support
    model_sha256: str
    reranker: str = ""
    degradations: tuple[Degradation, ...] = ()


class Look:
    """
    Searches, ranks and, where that is asked for, reranks.
    """

    def __init__(
        self,
        reads: Reads,
        embedders: Sequence[Embedder],
        reranker: Reranker | None,
        profiles: Mapping[str, Profile],
    ) -> None:
        self._reads = reads
        self._embedders = {one.identity.sha256: one for one in embedders}
        self._reranker = reranker
        self._profiles = profiles

    @property
    def has_reranker(self) -> bool:
        """
        Return whether requests may ask for reranking.
        """
        return self._reranker is not None

    def profile(self, name: str) -> Profile:
        """
        Return a profile by its name.

        Raises:
            ProfileUnknown: There is none.
        """
        try:
            return self._profiles[name]
        except KeyError:
            raise ProfileUnknown(name, tuple(sorted(self._profiles))) from None

    async def look(self, request: AssembleRequest, stages: Stages) -> Looked:
        """
        Return what is found for a request, best first.
        """
        resolved = await asyncio.gather(
            *(self._reads.resolve(target, number) for number, target in enumerate(request.targets))
        )
        states = tuple(state for state, _ in resolved)
        scopes = tuple(scope for _, scope in resolved)
        profile = self.profile(request.profile or states[0].profile)
        uses_vectors = request.retrieval.mode is not RetrievalMode.SPARSE
        models = tuple(state.model.sha256 for state in states)
        if uses_vectors:
            known = [one.identity for one in self._embedders.values()]
            for number, state in enumerate(states):
                check_model(request.queries, state, known, number)
        is_coarse = request.retrieval.mode is RetrievalMode.COARSE_TO_FINE
        if is_coarse:
            check_section_vectors(states)
        lacks_text = lacks_text_search(states, request.retrieval.mode)
        with stages.timed(Stage.SEARCH):
            if is_coarse:
                hits = await self._coarse_to_fine(request, scopes, models, profile, stages)
            else:
                vectors, text = await asyncio.gather(
                    self._vectors(request, models, stages),
                    self._reads.search_text(request, scopes),
                )
                dense = await self._reads.search_vectors(request, scopes, vectors)
                hits = found(dense, text)
        with stages.timed(Stage.RANK):
            ranking = await off_loop(
                lambda: rank(
                    hits,
                    indexes=[scope.index for scope in scopes],
                    query_weights=[query.weight for query in request.queries],
                    target_weights=[target.weight for target in request.targets],
                    models=models,
                    profile=profile,
                )
            )
        return Looked(
            scopes=scopes,
            profile=profile,
            candidates=ranking.candidates,
            support=ranking.support,
            model_sha256=",".join(dict.fromkeys(models)) if uses_vectors else "",
            degradations=(Degradation.TEXT_SEARCH_MISSING,) if lacks_text else (),
        )

    async def _coarse_to_fine(
        self,
        request: AssembleRequest,
        scopes: Sequence[ReadScope],
        models: Sequence[str],
        profile: Profile,
        stages: Stages,
    ) -> list[Found]:
        """
        Return what searches find inside the best sections, which are searched for first.
        """
        reads, kind = self._reads, PointKind.SECTION
        limit = section_limit(request.retrieval, profile)
        reach = max(limit, request.retrieval.chunk_limit)
        vectors, text = await asyncio.gather(
            self._vectors(request, models, stages),
            reads.search_text(request, scopes, (kind,), limit=reach),
        )
        dense = await reads.search_vectors(request, scopes, vectors, kind, limit=reach)
        inside = best_sections(
            found_sections(dense, text),
            query_weights=[query.weight for query in request.queries],
            target_weights=[target.weight for target in request.targets],
            models=models,
            profile=profile,
            limit=limit,
        )
        by_vector, by_text = await asyncio.gather(
            reads.search_vectors(request, scopes, vectors, inside=inside),
            reads.search_text(request, scopes, (PointKind.CHUNK,), inside=inside),
        )
        both = [
            [(chunks, sections) for (chunks,), (sections,) in zip(fine, coarse, strict=True)]
            for fine, coarse in zip(by_text, text, strict=True)
        ]
        return found(by_vector, both)

    async def _vectors(
        self, request: AssembleRequest, models: Sequence[str], stages: Stages
    ) -> list[list[Vector]]:
        """
        Return one vector per target and query, each by the target's model; a model embeds once.
        """
        if request.retrieval.mode is RetrievalMode.SPARSE:
            return [[] for _ in models]
        given = {n: query.vector.values for n, query in enumerate(request.queries) if query.vector}
        missing = [n for n in range(len(request.queries)) if n not in given]
        if not missing:
            return [list(given.values()) for _ in models]
        texts = [request.queries[n].text for n in missing]
        used = tuple(dict.fromkeys(models))
        with stages.timed(Stage.EMBED):
            try:
                made = await asyncio.gather(*(self._embedders[one].embed(texts) for one in used))
            except QueryTooLong as error:
                place = missing[error.position]
                raise QueryTooLong(place, tokens=error.tokens, most=error.most) from None
        by_model = {
            model: {**given, **dict(zip(missing, vectors, strict=True))}
            for model, vectors in zip(used, made, strict=True)
        }
        return [[by_model[model][n] for n in range(len(request.queries))] for model in models]

    async def rerank(
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
                skipped, and the reply says so, as it does where time is short.
        """
        skipped = replace(looked, degradations=(*looked.degradations, Degradation.RERANK_SKIPPED))
        asking = [query for query in request.queries if query.text.strip()]
        if self._reranker is None or not asking or not stages.has_time_for(RERANK_SECONDS):
            return skipped
        first = inside[: looked.profile.rerank_limit]
        with stages.timed(Stage.FETCH_SECTIONS):
            await self._reads.texts(first, looked.scopes, texts)
        with stages.timed(Stage.RERANK):
            known = await off_loop(readable, first, texts.sections, texts.own)
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
            candidates = await off_loop(reranked, looked.candidates, said, looked.profile)
        return replace(looked, candidates=candidates, reranker=self._reranker.identity)


async def off_loop(step: Callable[..., T], *values: object) -> T:
    """
    Run a CPU-heavy step outside the event loop.
    """
    return await asyncio.to_thread(step, *values)
