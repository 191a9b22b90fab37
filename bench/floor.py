"""
The floor of a question: what no service can go below, measured alone.

It is one forward pass of the model, the faster of one and two threads, and the engine's own calls
for the same searches and the section read.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from adapters.embedder import OnnxEmbedder
from adapters.token_counters import TokenizerFolder
from assembler.assemble import ContextAssembler
from assembler.profile import PROFILES
from assembler.request import AssembleRequest, Budget, ContextTokens, Fill, Query, Target
from assembler.scope import Scope
from bench.corpus import Corpus
from bench.engine_calls import RecordingIndex
from bench.served import TOKENIZER


@dataclass(frozen=True, slots=True)
class Floor:
    """
    Seconds of the same questions' least work, each measured alone.

    Attributes:
        embed: Of the forward pass, by threads, per question.
        engine: Of the engine's calls, per question.
        cpu: CPU seconds of a one-thread pass and the engine's calls, in the mean.
    """

    embed: dict[int, list[float]]
    engine: list[float]
    cpu: float

    @property
    def threads(self) -> int:
        """
        Return with how many threads the forward pass is the faster.
        """
        return min(self.embed, key=lambda threads: statistics.median(self.embed[threads]))

    @property
    def seconds(self) -> list[float]:
        """
        Return the floor per question.
        """
        return [a + b for a, b in zip(self.embed[self.threads], self.engine, strict=True)]


def filling(index: str, question: str, budget: int) -> AssembleRequest:
    """
    Return a request for as many tokens as the budget holds.
    """
    return AssembleRequest(
        queries=(Query(question),),
        targets=(Target(index, Scope()),),
        budget=Budget(TOKENIZER, ContextTokens(budget)),
        fill=Fill.FULL,
    )


async def floor_of(
    made: Corpus,
    questions: Sequence[str],
    budget: int,
    *,
    model_dir: Path,
    tokenizer_dir: Path,
) -> Floor:
    """
    Return the floor of the questions.
    """
    index = RecordingIndex(made.data_dir)
    model = OnnxEmbedder(model_dir, threads=1)
    assembler = ContextAssembler(
        catalog=index,
        index=index,
        embedder=model,
        counters=TokenizerFolder(tokenizer_dir),
        profiles=PROFILES,
        clock=time.perf_counter,
    )
    embed: dict[int, list[float]] = {1: [], 2: []}
    engine: list[float] = []
    spent = 0.0
    for question in questions:
        request = filling(made.index, question, budget)
        calls = await index.calls(assembler.assemble(request))
        cpu, began = time.process_time(), time.perf_counter()
        await model.embed([question])
        embed[1].append(time.perf_counter() - began)
        spent += time.process_time() - cpu
        cpu, began = time.process_time(), time.perf_counter()
        index.replay(made.index, calls)
        engine.append(time.perf_counter() - began)
        spent += time.process_time() - cpu
    await index.close()
    # last, since its second thread goes on spinning after each pass, at the cost of what is next
    model = OnnxEmbedder(model_dir, threads=2)
    for question in questions:
        began = time.perf_counter()
        await model.embed([question])
        embed[2].append(time.perf_counter() - began)
    return Floor(embed, engine, spent / len(questions))
