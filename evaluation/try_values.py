"""
Ask a team's questions with every value of a weight, through the product's own assembling path.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from assembler.assemble import ContextAssembler
from assembler.errors import InvalidRequest
from assembler.ports import ChunkIndex, Embedder, IndexCatalog, Reranker, TokenCounters
from assembler.profile import Profile
from assembler.request import AssembleRequest, Budget, ContextTokens, Query, Target
from evaluation.json_lines import QuestionSetInvalid
from evaluation.measures import evidence_recall
from evaluation.memo import Memo, MemoIndex
from evaluation.question_set import Question
from evaluation.shown import shown_of
from evaluation.team_questions import document_name
from evaluation.trials import Trial, Trials
from evaluation.weights import Weight


class Asker:
    """
    Asks in this process; what a question searches is remembered, so that values cost ranking only.
    """

    def __init__(
        self,
        *,
        catalog: IndexCatalog,
        chunk_index: ChunkIndex,
        embedder: Embedder,
        counters: TokenCounters,
        reranker: Reranker | None,
        tokenizer: str,
    ) -> None:
        self._counters = counters
        self._tokenizer = tokenizer
        self._catalog = catalog
        self._chunk_index = cast("ChunkIndex", MemoIndex(chunk_index))
        self._embedder = cast("Embedder", Memo(embedder))
        self._reranker = None if reranker is None else cast("Reranker", Memo(reranker))

    async def try_values(
        self,
        weight: Weight,
        profiles: Mapping[float, Profile],
        *,
        current: float,
        questions: Sequence[Question],
        target: Target,
        budgets: Sequence[int],
        tell: Callable[[int], None],
    ) -> Trials:
        """
        Return what was measured with every value.

        Args:
            weight: Whose values they are.
            profiles: By value.
            current: The value that the others are compared with.
            questions: With their evidence in the target.
            target: The index and what is read of it.
            budgets: Tokens of the contexts.
            tell: Told how many contexts more are there.

        Raises:
            QuestionSetInvalid: A question cannot be asked.
            ContextAssemblerError: The index or the model cannot be used.
        """
        counter = self._counters.get(self._tokenizer)
        assembler = ContextAssembler(
            catalog=self._catalog,
            index=self._chunk_index,
            embedder=self._embedder,
            counters=self._counters,
            profiles={one.name: one for one in profiles.values()},
            clock=time.perf_counter,
            reranker=self._reranker,
        )
        recall = {value: {budget: list[float]() for budget in budgets} for value in profiles}
        tokens = {value: {budget: list[float]() for budget in budgets} for value in profiles}
        for question in questions:
            for value, profile in profiles.items():
                for budget in budgets:
                    request = AssembleRequest(
                        queries=(Query(question.text),),
                        targets=(target,),
                        budget=Budget(self._tokenizer, ContextTokens(budget)),
                        fill=weight.fill,
                        profile=profile.name,
                    )
                    try:
                        context = await assembler.assemble(request)
                    except InvalidRequest as error:
                        raise QuestionSetInvalid(question.id, "question", str(error)) from error
                    shown = shown_of(context, document_name, counter)
                    recall[value][budget].append(evidence_recall(question.evidence, shown))
                    tokens[value][budget].append(float(shown.tokens))
                    tell(1)
        by_value = {value: Trial(recall[value], tokens[value]) for value in profiles}
        return Trials(weight, current, by_value)
