"""
A small index in memory, written by the real indexer, with the core on top of it.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from assembler.assemble import ContextAssembler
from assembler.errors import TokenizerUnknown
from assembler.model import FieldType
from assembler.profile import DEFAULT_PROFILE
from assembler.report import AssembledContext
from assembler.request import AssembleRequest, Budget, ContextTokens, Query, Target
from assembler.scope import Scope
from assembler.stages import no_deadline
from indexer.index import run_index
from indexer.request import IndexRequest, Summary
from tests.counters import CharCounter
from tests.fake_index import FakeIndex
from tests.fakes import FakeEmbedder

TRAVEL = """# Travel

## Trains

Trains are booked in second class. First class may be booked for journeys of three hours.

Tickets are kept for a year. Refunds go to the team.

## Flights

Flights are booked in economy class. Business class is never paid.

| city | limit |
| --- | --- |
| Oslo | 180 |
| Bergen | 150 |
"""
EXPENSES = """# Expenses

Receipts are handed in within 30 days. Tickets are kept for a year. Refunds go to the team.

Fines are never paid.
"""
SECRET = "# Salaries\n\nThe band of level three ends at 78000.\n"
SCHEMA = {"team": FieldType.KEYWORD, "year": FieldType.INT64}


NO_DOUBT = {"sure_cosine": 0.0, "lost_cosine": 0.0}
"""The fake embedder's cosines say nothing of how near a text is."""


class Counters:
    """
    One tokenizer.
    """

    def get(self, name: str) -> CharCounter:
        if name != "chars":
            raise TokenizerUnknown(name, ("chars",))
        return CharCounter()

    def names(self) -> tuple[str, ...]:
        return ("chars",)


class SmallIndex:
    """
    Files in a folder, an index in memory, and an assembler over it.
    """

    def __init__(self, folder: Path, store: FakeIndex | None = None) -> None:
        self.folder = folder
        self.store = store or FakeIndex()
        self.embedder = FakeEmbedder()
        self.profiles = {
            "default": replace(DEFAULT_PROFILE, price=0.0, **NO_DOUBT),
            "priced": replace(DEFAULT_PROFILE, name="priced", price=0.9, **NO_DOUBT),
        }
        ticks = itertools.count()
        self.assembler = ContextAssembler(
            catalog=self.store,
            index=self.store,
            embedder=self.embedder,
            counters=Counters(),
            profiles=self.profiles,
            clock=lambda: float(next(ticks)),
        )

    def write(self, **files: str) -> None:
        """
        Write files; `__` in a name stands for a point.
        """
        for name, text in files.items():
            (self.folder / name.replace("__", ".")).write_text(text, encoding="utf-8")

    def index(self, *facts: dict[str, Any], **asked: Any) -> Summary:
        """
        Index the folder, with what the facts say of its files.
        """
        sources = None
        if facts:
            sources = self.folder.parent / "sources.jsonl"
            sources.write_text("".join(json.dumps(one) + "\n" for one in facts), encoding="utf-8")
        request = IndexRequest(
            **{"index": "docs", "paths": (self.folder,), "sources_file": sources, **asked}
        )
        return run_index(request, self.store, self.embedder, lambda *_: None)

    async def ask(self, text: str = "Refunds tickets", **asked: Any) -> AssembledContext:
        """
        Ask with the defaults for whatever is not given.
        """
        scope = asked.pop("scope", Scope())
        time_left = asked.pop("time_left", no_deadline)
        limit = asked.pop("limit", 200)
        given = {
            "queries": (Query(text),),
            "targets": (Target("docs", scope),),
            "budget": Budget("chars", ContextTokens(limit)),
            **asked,
        }
        return await self.assembler.assemble(AssembleRequest(**given), time_left)
