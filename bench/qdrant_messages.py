"""
What one request's messages to and from a Qdrant server cost in CPU time: by the client's models,
and by its raw gRPC messages as `adapters/qdrant_search.py` uses them.

`python -m bench.qdrant_messages [--rounds 50]`
"""

from __future__ import annotations

import hashlib
import random
import sys
import time
import uuid
from collections.abc import Callable
from typing import Annotated, Any

import typer
from qdrant_client import grpc as wire
from qdrant_client import models
from qdrant_client.conversions.conversion import (
    GrpcToRest,
    RestToGrpc,
    grpc_to_payload,
    payload_to_grpc,
)

from adapters.bm25 import SparseWeights
from adapters.payload import decode_chunk, decode_section, encode_chunk, encode_section
from adapters.payload_keys import CHUNK_HIT_KEYS
from adapters.qdrant_filter import qdrant_filter
from adapters.qdrant_points import scroll_points
from adapters.qdrant_search import SearchSettings, query_batch, scored
from adapters.records import ChunkPoint, SectionPoint
from adapters.searches import PointQuery
from assembler.filters import AnyString, Condition, Filter
from assembler.model import Border, BorderKind, Chunk, PointKind, Provenance, Section
from assembler.scope import IndexVersion, ReadScope, Scope
from assembler.span import Span

HITS = 116
"""A hundred, and what is fetched beyond them to see whether the last ones tie."""

SECTIONS = 40
DIMENSION = 384
COLLECTION = "ctx__docs__g0123456789"
WORDS = ("the", "refund", "of", "tickets", "is", "given", "within", "thirty", "days", "always")


def main(rounds: Annotated[int, typer.Option(help="How often each is measured.")] = 50) -> None:
    """
    Print the least milliseconds of CPU per request.
    """
    draw = random.Random(1)  # noqa: S311 - inputs need no cryptography
    scope = ReadScope(
        "docs", IndexVersion("g0123456789", 7), readers_required=True, asked=Scope("acme", ("all",))
    )
    chunk_filter = scope.point_filter(PointKind.CHUNK)
    queries = _queries(draw, scope, chunk_filter)
    searched = _searched(draw).SerializeToString()
    read = _read(draw).SerializeToString()
    sections = [str(uuid.UUID(int=draw.getrandbits(128))) for _ in range(SECTIONS)]
    by_key = Filter(all_of=(Condition("key", AnyString(tuple(sections))), chunk_filter))
    settings = SearchSettings()

    def parsed() -> None:
        wire.QueryBatchResponse.FromString(searched)
        wire.ScrollResponse.FromString(read)

    def raw() -> None:
        query_batch(COLLECTION, queries, settings, 5.0).SerializeToString()
        found = scored(wire.QueryBatchResponse.FromString(searched), len(queries))
        scroll_points(COLLECTION, qdrant_filter(by_key), None, SECTIONS).SerializeToString()
        answer = wire.ScrollResponse.FromString(read)
        payloads = [grpc_to_payload(point.payload) for point in answer.result]
        _decoded([[hit.payload for hit in hits] for hits in found], payloads)

    rest = [_rest_query(query) for query in queries]
    rest_filter = GrpcToRest.convert_filter(qdrant_filter(by_key))

    def client() -> None:
        wire.QueryBatchPoints(
            collection_name=COLLECTION,
            query_points=[RestToGrpc.convert_query_request(one, COLLECTION) for one in rest],
        ).SerializeToString()
        answer = wire.QueryBatchResponse.FromString(searched)
        found = [
            [GrpcToRest.convert_scored_point(point) for point in batch.result]
            for batch in answer.result
        ]
        wire.ScrollPoints(
            collection_name=COLLECTION, filter=RestToGrpc.convert_filter(rest_filter)
        ).SerializeToString()
        records = [
            GrpcToRest.convert_retrieved_point(point)
            for point in wire.ScrollResponse.FromString(read).result
        ]
        _decoded(
            [[hit.payload for hit in hits] for hits in found],
            [record.payload for record in records],
        )

    def decoding() -> None:
        _decoded(chunks, payloads)

    def values() -> None:
        for batch in answer.result:
            for point in batch.result:
                grpc_to_payload(point.payload)
        for record in stored.result:
            grpc_to_payload(record.payload)

    answer, stored = (
        wire.QueryBatchResponse.FromString(searched),
        wire.ScrollResponse.FromString(read),
    )
    chunks = [[grpc_to_payload(point.payload) for point in b.result] for b in answer.result]
    payloads = [grpc_to_payload(point.payload) for point in stored.result]
    for name, work in {
        "parsing the bytes": parsed,
        "payloads from messages": values,
        "our own records from payloads": decoding,
        "all, raw messages": raw,
        "all, the client's models": client,
    }.items():
        sys.stdout.write(f"{name:32}{_milliseconds(work, rounds):6.2f} ms\n")


def _milliseconds(work: Callable[[], None], rounds: int) -> float:
    work()
    times = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times) * 1000


def _queries(draw: random.Random, scope: ReadScope, wanted: Filter) -> list[PointQuery]:
    corpus = scope.corpus_filter()
    sparse = SparseWeights(tuple(sorted(draw.sample(range(2**31), 8))), (1.0,) * 8)
    dense = [draw.uniform(-1, 1) for _ in range(DIMENSION)]
    keys, kind = CHUNK_HIT_KEYS, PointKind.CHUNK
    return [
        PointQuery(kind, sparse, "bm25", wanted, corpus, False, HITS, keys),  # noqa: FBT003 - is_exact
        PointQuery(kind, sparse, "section_bm25", wanted, corpus, False, HITS, keys),  # noqa: FBT003 - is_exact
        PointQuery(kind, dense, "dense", wanted, None, False, HITS, keys),  # noqa: FBT003 - is_exact
    ]


def _rest_query(query: PointQuery) -> Any:
    wanted = GrpcToRest.convert_filter(qdrant_filter(query.wanted))
    vector: Any = query.vector
    if isinstance(query.vector, SparseWeights):
        vector = models.SparseVector(
            indices=list(query.vector.indices), values=list(query.vector.values)
        )
    return models.QueryRequest(
        query=models.NearestQuery(nearest=vector),
        using=query.using,
        filter=wanted,
        limit=query.limit,
        with_payload=list(query.keys),
    )


def _searched(draw: random.Random) -> wire.QueryBatchResponse:
    def hits() -> list[wire.ScoredPoint]:
        return [
            wire.ScoredPoint(
                id=wire.PointId(uuid=str(uuid.UUID(int=draw.getrandbits(128)))),
                score=draw.random(),
                payload=payload_to_grpc(
                    {
                        key: value
                        for key, value in encode_chunk(_chunk(draw)).items()
                        if key in CHUNK_HIT_KEYS
                    }
                ),
            )
            for _ in range(HITS)
        ]

    return wire.QueryBatchResponse(result=[wire.BatchResult(result=hits()) for _ in range(3)])


def _read(draw: random.Random) -> wire.ScrollResponse:
    return wire.ScrollResponse(
        result=[
            wire.RetrievedPoint(
                id=wire.PointId(uuid=str(uuid.UUID(int=draw.getrandbits(128)))),
                payload=payload_to_grpc(encode_section(_section(draw))),
            )
            for _ in range(SECTIONS)
        ]
    )


def _decoded(searched: list[list[Any]], read: list[Any]) -> None:
    for payloads in searched:
        for payload in payloads:
            decode_chunk(payload, 7)
    for payload in read:
        decode_section(payload, 7)


def _provenance() -> Provenance:
    return Provenance(
        tenant="acme",
        source_id="travel/trains.md",
        version="0123456789ab",
        content_sha256="0" * 64,
        readers=("all",),
        from_rev=3,
        fields={"team": "travel", "year": 2025, "tags": ("a", "b")},
    )


def _text(draw: random.Random, words: int) -> str:
    return " ".join(draw.choices(WORDS, k=words))


def _chunk(draw: random.Random) -> ChunkPoint:
    text = _text(draw, 80)
    chunk = Chunk(
        key=str(uuid.UUID(int=draw.getrandbits(128))),
        provenance=_provenance(),
        section_key=str(uuid.UUID(int=draw.getrandbits(128))),
        span=Span(1000, 1000 + len(text)),
        ordinal=3,
        text_sha256=_sha256(text),
    )
    return ChunkPoint(chunk, text, (), text, "en", "0" * 64)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _section(draw: random.Random) -> SectionPoint:
    text = _text(draw, 480)
    step = len(text) // 6
    spans = tuple(Span(at, at + step) for at in range(0, 6 * step, step))
    section = Section(
        key=str(uuid.UUID(int=draw.getrandbits(128))),
        provenance=_provenance(),
        span=Span(0, len(text)),
        ordinal=1,
        text=text,
        text_sha256=_sha256(text),
        heading_path=("Travel", "Trains"),
        title="Travel",
        uri="travel/trains.md",
        media_type="text/markdown",
        language="en",
        first_chunk_ordinal=6,
        chunk_spans=spans,
        borders=tuple(Border(at, BorderKind.SENTENCE) for at in range(0, len(text), 80)),
        metadata={"page": 3},
    )
    return SectionPoint(section, text)


if __name__ == "__main__":
    typer.run(main)
