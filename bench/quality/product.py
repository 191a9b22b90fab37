"""
Ask the product: its own assembling path with its defaults, over an index of its own indexer.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from assembler.assemble import ContextAssembler
from assembler.ports import ChunkIndex, Embedder, IndexCatalog, TokenCounter, TokenCounters
from assembler.profile import PROFILES, WEIGHTS, Profile
from assembler.report import Stage
from assembler.request import (
    AssembleRequest,
    Budget,
    ContextTokens,
    Expansion,
    Fill,
    Layout,
    Query,
    Target,
)
from assembler.scope import Pin, Scope, VersionPolicy
from bench.quality.options import TOKENIZER, Options
from bench.quality.stored import StoredDocuments, source_id_of
from evaluation.measures import Shown
from evaluation.question_set import Document, Question
from evaluation.shown import shown_of

SEARCHING = frozenset([Stage.EMBED, Stage.SEARCH, Stage.FETCH_SECTIONS])


class Product:
    """
    Asks for contexts and says what they show.
    """

    def __init__(
        self,
        *,
        index: str,
        catalog: IndexCatalog,
        chunk_index: ChunkIndex,
        embedder: Embedder,
        counters: TokenCounters,
        stored: StoredDocuments,
        documents: Mapping[str, Document],
        options: Options,
    ) -> None:
        self._index = index
        self._counter: TokenCounter = counters.get(TOKENIZER)
        self._stored = stored
        self._documents = documents
        self._options = options
        self._assembler = ContextAssembler(
            catalog=catalog,
            index=chunk_index,
            embedder=embedder,
            counters=counters,
            profiles={**PROFILES, **ablated(options.profile)},
            clock=time.perf_counter,
        )

    def scope(self, question: Question) -> Scope:
        """
        Return what a question reads: every version of everything, unless it is to be restricted.
        """
        options = self._options
        if options.is_pinned and question.version:
            mine = [one for one in self._documents.values() if one.version == question.version]
            pins = tuple(Pin(one.source, one.version) for one in mine)
            return Scope(versions=VersionPolicy.PINNED, pins=pins)
        if options.is_scoped and question.scope_doc_ids:
            asked = [self._documents[one] for one in question.scope_doc_ids]
            if all(one.version for one in asked):
                pins = tuple(Pin(one.source, one.version) for one in asked)
                return Scope(versions=VersionPolicy.PINNED, pins=pins)
            names = tuple(dict.fromkeys(source_id_of(one) for one in asked))
            return Scope(versions=VersionPolicy.ALL, source_ids=names)
        return Scope(versions=VersionPolicy.ALL)

    async def ask(
        self, question: Question, budget: int, fill: Fill, profile: str | None = None
    ) -> tuple[Shown, float]:
        """
        Return what the context shows, and the seconds it took without searching and reading.
        """
        options = self._options
        context = await self._assembler.assemble(
            AssembleRequest(
                queries=(Query(question.text),),
                targets=(Target(self._index, self.scope(question)),),
                budget=Budget(TOKENIZER, ContextTokens(budget)),
                fill=fill,
                expansion=Expansion(options.expansion),
                layout=Layout(order=options.order, format=options.form),
                profile=profile or options.profile,
            )
        )
        seconds = sum(one.seconds for one in context.stages if one.stage not in SEARCHING)
        return shown_of(context, self._stored.doc_id, self._counter), seconds


def ablated(name: str | None) -> dict[str, Profile]:
    """
    Return the profile without each of its weights, one at a time, by the name of the weight.

    A weight of 0 has nothing to take away.
    """
    profile = PROFILES[name or "default"]
    found = {}
    for weight in WEIGHTS:
        if getattr(profile, weight):
            without: dict[str, Any] = {"name": f"without {weight}", weight: 0.0}
            found[f"without {weight}"] = replace(profile, **without)
    return found
