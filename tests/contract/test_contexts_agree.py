"""
The same data and the same requests give the same hits and the same contexts, byte for byte, from the
fake, the embedded engine and a Qdrant server; with two shards, and approximately, nearly the same.
"""

from __future__ import annotations

import random
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from assembler.assemble import ContextAssembler
from assembler.errors import ContextAssemblerError
from assembler.filters import AnyString, Condition, Filter, IntRange
from assembler.model import Hit, PointKind
from assembler.ports import DenseSearch, SparseSearch
from assembler.profile import DEFAULT_PROFILE
from assembler.report import AssembledContext
from assembler.request import (
    AssembleRequest,
    Budget,
    ChunkKey,
    ContextTokens,
    Expansion,
    ExpansionMode,
    Fill,
    Format,
    Headings,
    Layout,
    Order,
    Query,
    Retrieval,
    RetrievalMode,
    Selector,
    SourceRange,
    Target,
)
from assembler.scope import Scope, VersionPolicy
from indexer.index import run_index
from indexer.request import IndexRequest
from tests.contract.conftest import KINDS, Backend, EmptyQdrant, opened
from tests.contract.corpus import read_scope
from tests.fakes import FakeEmbedder, hash_vector
from tests.small_index import NO_DOUBT, SCHEMA, Counters

REQUESTS = 500
"""How many requests are compared; `-s` shows the count."""

WORDS = (
    *("train", "ticket", "refund", "hotel", "flight", "limit", "team", "receipt", "class", "hour"),
    *("night", "booking", "fine", "paid", "never", "always", "first", "second", "Oslo", "Bergen"),
)
TENANTS = ("", "acme")
FILES = 12
DENSE_DIMENSION = 8


@dataclass
class Side:
    """
    A backend with the corpus in it, and the core on top.
    """

    backend: Backend
    assembler: ContextAssembler

    async def context(self, request: AssembleRequest) -> AssembledContext | str:
        """
        Return the context, or the refusal, which has to be the same everywhere too.
        """
        try:
            return await self.assembler.assemble(request)
        except ContextAssemblerError as error:
            return f"{type(error).__name__}: {error}"

    async def hits(self, request: AssembleRequest) -> list[list[tuple[str, float]]]:
        """
        Return keys and scores of what the request's searches find, in order.
        """
        found: list[list[tuple[str, float]]] = []
        limit = request.retrieval.chunk_limit
        for target in request.targets:
            asked = target.scope
            scope = await read_scope(
                self.backend,
                policy=asked.versions.name,
                tenant=asked.tenant,
                principals=asked.principals,
                filter=asked.filter,
                source_ids=asked.source_ids,
            )
            text = request.queries[0].text
            vector = hash_vector(text, DENSE_DIMENSION)
            reading = self.backend.reading
            batches = [
                *await reading.search_text(
                    scope, [SparseSearch(text, kind, limit) for kind in PointKind]
                ),
                *await reading.search_vectors(
                    scope, [DenseSearch(vector, limit, kind) for kind in PointKind]
                ),
            ]
            found.extend(
                [
                    (hit.chunk.key if isinstance(hit, Hit) else hit.section_key, hit.score)
                    for hit in batch
                ]
                for batch in batches
            )
        return found


def with_corpus(backend: Backend, folder: Path) -> Side:
    """
    Index the same files for two tenants, change some, and index again.
    """
    draw = random.Random(11)
    embedder = FakeEmbedder(DENSE_DIMENSION)
    for tenant in TENANTS:
        place = folder / backend.kind / (tenant or "none")
        place.mkdir(parents=True)
        facts = folder / f"{backend.kind}-{tenant}.jsonl"
        facts.write_text("".join(_facts(draw, number, tenant) for number in range(FILES)), "utf-8")
        request = IndexRequest(
            index="docs",
            paths=(place,),
            tenant=tenant,
            sources_file=facts,
            schema=SCHEMA,
            keep_versions=1,
        )
        for names in (range(FILES), range(0, FILES, 3)):
            for number in names:
                (place / f"f{number}.md").write_text(_document(draw), "utf-8")
            run_index(request, backend.store, embedder, lambda *_: None)
    profiles = {
        "default": replace(DEFAULT_PROFILE, price=0.0, **NO_DOUBT),
        "priced": replace(DEFAULT_PROFILE, name="priced", price=0.9, **NO_DOUBT),
    }
    assembler = ContextAssembler(
        catalog=backend.reading,
        index=backend.reading,
        embedder=embedder,
        counters=Counters(),
        profiles=profiles,
        clock=lambda: 0.0,
    )
    return Side(backend, assembler)


@pytest.fixture
async def sides(tmp_path: Path, qdrant: EmptyQdrant) -> AsyncIterator[list[Side]]:
    async with AsyncExitStack() as stack:
        backends = [
            await stack.enter_async_context(opened(kind, tmp_path / "data", qdrant))
            for kind in KINDS
        ]
        yield [with_corpus(backend, tmp_path) for backend in backends]


async def test_random_requests_give_the_same_hits_and_contexts(sides: list[Side]) -> None:
    draw = random.Random(3)
    compared = with_text = refused = 0
    keys: list[str] = []
    for _ in range(REQUESTS):
        request = random_request(draw, keys)
        hits = [await side.hits(request) for side in sides]
        for other in hits[1:]:
            assert [[key for key, _ in batch] for batch in other] == [
                [key for key, _ in batch] for batch in hits[0]
            ], request
            for one, two in zip(hits[0], other, strict=True):
                assert [score for _, score in one] == pytest.approx(
                    [score for _, score in two], abs=1e-4
                )
        keys = [key for key, _ in hits[0][0]] or keys
        contexts = [await side.context(request) for side in sides]
        first = contexts[0]
        for context in contexts[1:]:
            assert _told(context) == _told(first), request
        compared += 1
        refused += isinstance(first, str)
        with_text += not isinstance(first, str) and bool(first.context)

    sys.stdout.write(
        f"\n{compared} requests compared on {len(sides)} backends: {with_text} texts, "
        f"{refused} refusals\n"
    )
    assert compared == REQUESTS
    assert with_text >= REQUESTS * 3 // 4
    assert refused <= REQUESTS // 10


def _told(context: AssembledContext | str) -> object:
    """
    Return everything of a context that a caller sees and that no score's last digit moves.
    """
    if isinstance(context, str):
        return context
    return (
        context.context.encode(),
        context.context_sha256,
        context.budget,
        [passage.sources for passage in context.passages],
        [(one.chunk_key, one.disposition, one.notes) for one in context.candidates],
    )


def random_request(draw: random.Random, keys: Sequence[str]) -> AssembleRequest:
    targets = tuple(
        Target("docs", _scope(draw, tenant), weight=draw.choice([1.0, 0.5]))
        for tenant in draw.sample(TENANTS, k=draw.choice([1, 1, 2]))
    )
    some = draw.random()
    pinned: tuple[Selector, ...] = ()
    if some < 0.1 and keys:
        pinned = (ChunkKey(draw.choice(keys)),)
    elif some < 0.2:
        pinned = (SourceRange(0, f"f{draw.randrange(FILES)}.md"),)
    is_excluding = draw.random() < 0.5
    return AssembleRequest(
        queries=tuple(
            Query(" ".join(draw.choices(WORDS, k=draw.randint(1, 5))), draw.choice([1.0, 2.0]))
            for _ in range(draw.choice([1, 1, 2]))
        ),
        targets=targets,
        budget=Budget("chars", ContextTokens(draw.choice([40, 150, 300, 600, 2000]))),
        fill=draw.choice(list(Fill)),
        retrieval=Retrieval(
            chunk_limit=draw.choice([1, 5, 10, 40]),
            section_limit=draw.choice([None, 2, 5]),
            max_source_share=draw.choice([1.0, 1.0, 1.0, 0.4]),
            min_similarity=draw.choice([None, None, None, 0.1]),
            mode=draw.choice(list(RetrievalMode)),
        ),
        expansion=Expansion(draw.choice(list(ExpansionMode)), draw.randint(1, 2)),
        layout=Layout(
            draw.choice(list(Order)), draw.choice(list(Format)), draw.choice(list(Headings))
        ),
        must_include=() if is_excluding else pinned,
        exclude=pinned if is_excluding else (),
        profile=draw.choice([None, None, None, "priced"]),
        query_language=draw.choice([None, None, "en"]),
    )


def _scope(draw: random.Random, tenant: str) -> Scope:
    team = Condition("fields.team", AnyString((draw.choice(["red", "blue"]),)))
    year = Condition("fields.year", IntRange(2000, draw.randint(2001, 2004)))
    return Scope(
        tenant=tenant,
        principals=draw.choice([None, *(("all",), ("all", "ann"), ("all", "ann", "bob")) * 2]),
        filter=draw.choice(
            [
                *(Filter(),) * 5,
                Filter(all_of=(team,)),
                Filter(any_of=(team, year)),
                Filter(none_of=(year,)),
            ]
        ),
        source_ids=draw.choice([*((),) * 4, tuple(f"f{n}.md" for n in range(0, FILES, 2))]),
        versions=draw.choice([VersionPolicy.ACTIVE, VersionPolicy.ALL]),
    )


def _document(draw: random.Random) -> str:
    parts = [f"# {_sentence(draw)}\n"]
    for _ in range(draw.randint(1, 4)):
        parts.append(f"\n## {_sentence(draw)}\n")
        for _ in range(draw.randint(1, 3)):
            sentences = (_sentence(draw) for _ in range(draw.randint(1, 6)))
            parts.append("\n" + " ".join(sentences) + "\n")
    return "".join(parts)


def _sentence(draw: random.Random) -> str:
    return " ".join(draw.choices(WORDS, k=draw.randint(3, 12))).capitalize() + "."


def _facts(draw: random.Random, number: int, tenant: str) -> str:
    # One tenant's sources have readers, so that whoever names none sees nothing; the other's not.
    reader = draw.choice(["all", "all", "ann", "bob"])
    readers = f', "readers": ["{reader}"]' if tenant else ""
    team, year = draw.choice(["red", "blue"]), draw.randint(2000, 2003)
    fields = f'"metadata": {{"team": "{team}", "year": {year}}}'
    return f'{{"path": "f{number}.md", {fields}{readers}}}\n'
