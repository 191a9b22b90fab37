"""
Requests: proto to domain, with the checks that a proto cannot express.
"""

from __future__ import annotations

import enum

from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb

from adapters.bm25 import is_language
from assembler.errors import FieldNotSupported, InvalidRequest
from assembler.request import (
    AssembleRequest,
    Budget,
    ContextTokens,
    Expansion,
    ExpansionMode,
    Fill,
    GivenPassage,
    PackRequest,
    Query,
    QueryVector,
    Retrieval,
    RetrievalMode,
    Target,
)
from server import checks
from server.convert_metadata import from_metadata
from server.convert_parts import to_budget, to_layout, to_selectors
from server.convert_scope import MOST_NAMES, to_scope
from server.settings import Settings

MOST_CHUNKS = 500
MOST_SECTIONS = 1000
MOST_WINDOW_CHUNKS = 20
MOST_WEIGHT = 1000.0


class _Explain(enum.Enum):
    COUNTS = "counts"
    LIST = "list"


class _Rerank(enum.Enum):
    OFF = False
    ON = True
    UNSET = None


def to_assemble_request(
    message: service_pb.AssembleContextRequest, settings: Settings
) -> AssembleRequest:
    """
    Return the request with every value checked and effective.

    Raises:
        InvalidRequest: Names the field and the remedy.
    """
    _no_continuation(message.continuation)
    mode = _mode(message.retrieval)
    targets = tuple(
        _target(target, f"targets[{number}]", settings)
        for number, target in enumerate(message.targets)
    )
    if not targets:
        raise InvalidRequest("targets", "is empty; name at least one index")
    checks.at_most(targets, "targets", settings.max_targets)
    queries = tuple(
        _query(query, f"queries[{number}]", mode, settings)
        for number, query in enumerate(message.queries)
    )
    if not queries:
        raise InvalidRequest("queries", "is empty; ask at least one")
    checks.at_most(queries, "queries", settings.max_queries)
    checks.at_most(message.metadata_fields, "metadata_fields", MOST_NAMES)
    checks.choice(message.explain, pb.Explain.DESCRIPTOR, _Explain, "explain", _Explain.COUNTS)
    budget = to_budget(message.budget, settings, is_given=message.HasField("budget"))
    _minima_fit(targets, budget)
    return AssembleRequest(
        queries=queries,
        targets=targets,
        budget=budget,
        fill=checks.choice(message.fill, pb.Fill.DESCRIPTOR, Fill, "fill", Fill.AUTO),
        retrieval=_retrieval(message.retrieval, mode),
        expansion=_expansion(message.expansion),
        layout=to_layout(message.layout),
        must_include=to_selectors(message.must_include, "must_include", len(targets)),
        exclude=to_selectors(message.exclude, "exclude", len(targets)),
        profile=checks.name(message.profile, "profile") if message.HasField("profile") else None,
        query_language=_language(message.query_language)
        if message.HasField("query_language")
        else None,
        metadata_fields=tuple(dict.fromkeys(message.metadata_fields)),
    )


def to_pack_request(message: service_pb.PackPassagesRequest, settings: Settings) -> PackRequest:
    """
    Return the request with every value checked and effective.

    Raises:
        InvalidRequest: Names the field and the remedy.
    """
    _no_continuation(message.continuation)
    checks.at_most(message.passages, "passages", settings.max_passages)
    checks.choice(message.explain, pb.Explain.DESCRIPTOR, _Explain, "explain", _Explain.COUNTS)
    share = 1.0
    if message.HasField("max_source_share"):
        share = checks.ratio(message.max_source_share, "max_source_share", above=0.0, most=1.0)
    return PackRequest(
        passages=tuple(
            _passage(one, f"passages[{number}]") for number, one in enumerate(message.passages)
        ),
        budget=to_budget(message.budget, settings, is_given=message.HasField("budget")),
        fill=checks.choice(message.fill, pb.Fill.DESCRIPTOR, Fill, "fill", Fill.AUTO),
        layout=to_layout(message.layout),
        max_source_share=share,
    )


def _no_continuation(continuation: bytes) -> None:
    if continuation:
        raise FieldNotSupported("continuation", "is reserved for later use; leave it empty")


def _mode(message: pb.Retrieval) -> RetrievalMode:
    return checks.choice(
        message.mode,
        pb.RetrievalMode.DESCRIPTOR,
        RetrievalMode,
        "retrieval.mode",
        RetrievalMode.HYBRID,
    )


def _retrieval(message: pb.Retrieval, mode: RetrievalMode) -> Retrieval:
    field = "retrieval"
    defaults = Retrieval()
    return Retrieval(
        chunk_limit=checks.whole(
            message.chunk_limit, f"{field}.chunk_limit", least=1, most=MOST_CHUNKS
        )
        if message.HasField("chunk_limit")
        else defaults.chunk_limit,
        section_limit=checks.whole(
            message.section_limit, f"{field}.section_limit", least=1, most=MOST_SECTIONS
        )
        if message.HasField("section_limit")
        else None,
        max_source_share=checks.ratio(
            message.max_source_share, f"{field}.max_source_share", above=0.0, most=1.0
        )
        if message.HasField("max_source_share")
        else defaults.max_source_share,
        min_similarity=checks.number(
            message.min_similarity, f"{field}.min_similarity", least=-1.0, most=1.0
        )
        if message.HasField("min_similarity")
        else None,
        mode=mode,
        rerank=checks.choice(
            message.rerank, pb.Rerank.DESCRIPTOR, _Rerank, f"{field}.rerank", _Rerank.UNSET
        ).value,
    )


def _expansion(message: pb.Expansion) -> Expansion:
    mode = checks.choice(
        message.mode,
        pb.ExpansionMode.DESCRIPTOR,
        ExpansionMode,
        "expansion.mode",
        ExpansionMode.AUTO,
    )
    if not message.HasField("window_chunks"):
        return Expansion(mode)
    if mode is not ExpansionMode.WINDOW:
        raise InvalidRequest("expansion.window_chunks", "needs expansion.mode WINDOW")
    return Expansion(
        mode,
        checks.whole(
            message.window_chunks, "expansion.window_chunks", least=1, most=MOST_WINDOW_CHUNKS
        ),
    )


def _query(message: service_pb.Query, field: str, mode: RetrievalMode, settings: Settings) -> Query:
    needs_text = mode is not RetrievalMode.DENSE or not message.HasField("vector")
    if needs_text and not message.text.strip():
        raise InvalidRequest(f"{field}.text", "is empty; it is required")
    if len(message.text) > settings.max_query_chars:
        raise InvalidRequest(
            f"{field}.text",
            f"has {len(message.text)} code points; at most {settings.max_query_chars}",
        )
    weight = 1.0
    if message.HasField("weight"):
        weight = checks.ratio(message.weight, f"{field}.weight", above=0.0, most=MOST_WEIGHT)
    vector = None
    if message.HasField("vector"):
        vector = _vector(message.vector, f"{field}.vector", mode)
    return Query(message.text, weight, vector)


def _vector(message: service_pb.QueryVector, field: str, mode: RetrievalMode) -> QueryVector:
    if mode is RetrievalMode.SPARSE:
        raise InvalidRequest(field, "has no use in mode SPARSE; leave it unset")
    if not message.values:
        raise InvalidRequest(f"{field}.values", "is empty; give one value per dimension")
    values = tuple(message.values)
    if not all(abs(value) < float("inf") for value in values) or not any(values):
        raise InvalidRequest(f"{field}.values", "must be finite and not all 0")
    return QueryVector(values, checks.name(message.model, f"{field}.model"))


def _target(message: service_pb.Target, field: str, settings: Settings) -> Target:
    most = settings.max_context_tokens
    least_tokens, most_tokens = 0, None
    if message.HasField("min_context_tokens"):
        least_tokens = checks.whole(
            message.min_context_tokens, f"{field}.min_context_tokens", least=0, most=most
        )
    if message.HasField("max_context_tokens"):
        most_tokens = checks.whole(
            message.max_context_tokens, f"{field}.max_context_tokens", least=1, most=most
        )
        if most_tokens < least_tokens:
            raise InvalidRequest(f"{field}.max_context_tokens", "is below min_context_tokens")
    weight = 1.0
    if message.HasField("weight"):
        weight = checks.ratio(message.weight, f"{field}.weight", above=0.0, most=MOST_WEIGHT)
    return Target(
        index=checks.index_name(message.index, f"{field}.index"),
        scope=to_scope(message.scope, f"{field}.scope", settings),
        weight=weight,
        min_context_tokens=least_tokens,
        max_context_tokens=most_tokens,
    )


def _minima_fit(targets: tuple[Target, ...], budget: Budget) -> None:
    """
    Refuse minima that a fixed room cannot hold; a prompt's room follows its frame.
    """
    if not isinstance(budget.room, ContextTokens):
        return
    least = sum(target.min_context_tokens for target in targets)
    if least > budget.room.limit:
        raise InvalidRequest(
            "targets.min_context_tokens",
            f"is {least} in all, above budget.context_tokens of {budget.room.limit}; lower it or "
            "raise the budget",
        )


def _language(tag: str) -> str:
    checks.name(tag, "query_language")
    if not is_language(tag):
        raise InvalidRequest("query_language", f"{tag!r} is not a BCP 47 tag such as en or pt-BR")
    return tag


def _passage(message: service_pb.GivenPassage, field: str) -> GivenPassage:
    if not message.text:
        raise InvalidRequest(f"{field}.text", "is empty; it is required")
    if message.HasField("score"):
        checks.number(message.score, f"{field}.score", least=-1e12, most=1e12)
    return GivenPassage(
        text=message.text,
        source_id=checks.name(message.source_id, f"{field}.source_id"),
        version=message.version,
        span=checks.span(message.range, f"{field}.range") if message.HasField("range") else None,
        score=message.score if message.HasField("score") else None,
        heading_path=tuple(message.heading_path),
        title=message.title,
        uri=message.uri,
        metadata=from_metadata(message.metadata),
    )
