"""
The servicer: convert, call, convert back. No logic.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import grpc
from contextassembler.v1 import context_assembler_service_pb2 as service_pb
from contextassembler.v1 import context_pb2 as pb
from contextassembler.v1.context_assembler_service_pb2_grpc import ContextAssemblerServiceServicer

from adapters.store import IndexListing
from assembler.assemble import ContextAssembler
from assembler.errors import FieldNotSupported, InvalidRequest
from assembler.ports import ChunkIndex, IndexCatalog, TokenCounter, TokenCounters
from assembler.report import AssembledContext
from assembler.scope import VersionPolicy
from assembler.source_text import SourceRequest, read_source
from server import checks
from server.access import CALLER
from server.convert import to_assemble_request, to_pack_request
from server.convert_parts import to_messages
from server.convert_scope import to_scope
from server.page_token import make_token, read_token
from server.replies import to_context, to_index, to_source_text
from server.settings import Settings

BYTES_PER_CHAR = 4
REPLY_ROOM_BYTES = 64 * 1024
_SHA256 = re.compile(r"[0-9a-f]{64}")

Call: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


@dataclass(frozen=True, slots=True)
class Parts:
    """
    What the servicer calls.

    Attributes:
        listings: Returns the indexes of a tenant.
        record: Told every finished context, for the metrics.
    """

    assembler: ContextAssembler
    catalog: IndexCatalog
    index: ChunkIndex
    counters: TokenCounters
    listings: Callable[[str], Awaitable[Sequence[IndexListing]]]
    record: Callable[[AssembledContext], None]
    settings: Settings


class ContextAssemblerService(ContextAssemblerServiceServicer):
    """
    `contextassembler.v1.ContextAssemblerService` over the core.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def AssembleContext(  # noqa: N802 - named by the proto
        self, request: service_pb.AssembleContextRequest, context: Call
    ) -> service_pb.AssembleContextResponse:
        """
        Answer `AssembleContext`.
        """
        parts = self._parts
        CALLER.get().check(target.scope for target in request.targets)
        asked = to_assemble_request(request, parts.settings)
        assembled = await parts.assembler.assemble(asked, context.time_remaining)
        parts.record(assembled)
        has_list = request.explain == pb.EXPLAIN_LIST
        return service_pb.AssembleContextResponse(context=to_context(assembled, has_list=has_list))

    async def PackPassages(  # noqa: N802 - named by the proto
        self, request: service_pb.PackPassagesRequest, context: Call
    ) -> service_pb.PackPassagesResponse:
        """
        Answer `PackPassages`.
        """
        del context
        parts = self._parts
        asked = to_pack_request(request, parts.settings)
        assembled = await parts.assembler.pack_passages(asked)
        parts.record(assembled)
        has_list = request.explain == pb.EXPLAIN_LIST
        return service_pb.PackPassagesResponse(context=to_context(assembled, has_list=has_list))

    async def CountTokens(  # noqa: N802 - named by the proto
        self, request: service_pb.CountTokensRequest, context: Call
    ) -> service_pb.CountTokensResponse:
        """
        Answer `CountTokens`.
        """
        del context
        parts = self._parts
        counter = parts.counters.get(checks.name(request.tokenizer, "tokenizer"))
        chars = sum(len(text) for text in request.texts)
        chars += sum(len(message.content) for message in request.messages.messages)
        if chars > parts.settings.max_count_chars:
            raise InvalidRequest(
                "texts", f"have {chars} code points; at most {parts.settings.max_count_chars}"
            )
        if not request.texts and not request.HasField("messages"):
            raise InvalidRequest("texts", "are empty; give texts or messages to count")
        return await asyncio.to_thread(_counted, request, counter)

    async def ListTokenizers(  # noqa: N802 - named by the proto
        self, request: service_pb.ListTokenizersRequest, context: Call
    ) -> service_pb.ListTokenizersResponse:
        """
        Answer `ListTokenizers`.
        """
        del request, context
        parts = self._parts
        return service_pb.ListTokenizersResponse(
            tokenizers=[
                service_pb.Tokenizer(name=name, sha256=parts.counters.get(name).sha256)
                for name in sorted(parts.counters.names())
            ]
        )

    async def ListIndexes(  # noqa: N802 - named by the proto
        self, request: service_pb.ListIndexesRequest, context: Call
    ) -> service_pb.ListIndexesResponse:
        """
        Answer `ListIndexes`.
        """
        del context
        parts = self._parts
        CALLER.get().check([pb.Scope(tenant=request.tenant)])
        if parts.settings.require_tenant and not request.tenant:
            raise InvalidRequest("tenant", "is required by this deployment")
        found = await parts.listings(request.tenant)
        named = sorted(found, key=lambda listing: listing.name)
        return service_pb.ListIndexesResponse(
            indexes=[to_index(one) for one in named if one.ledger.revision]
        )

    async def GetSourceText(  # noqa: N802 - named by the proto
        self, request: service_pb.GetSourceTextRequest, context: Call
    ) -> service_pb.GetSourceTextResponse:
        """
        Answer `GetSourceText`.
        """
        del context
        parts = self._parts
        CALLER.get().check([request.scope])
        asked = _source_request(request, parts.settings)
        most = (parts.settings.max_message_bytes - REPLY_ROOM_BYTES) // BYTES_PER_CHAR
        size = most
        if request.HasField("page_size_chars"):
            size = min(
                checks.whole(request.page_size_chars, "page_size_chars", least=1, most=2**40), most
            )
        wanted = asked.end
        page_end = asked.start + size
        end = page_end if wanted is None else min(page_end, wanted)
        page = SourceRequest(
            asked.index,
            asked.scope,
            asked.source_id,
            asked.version,
            asked.content_sha256,
            asked.start,
            end,
        )
        found = await read_source(page, parts.catalog, parts.index)
        last = found.row.chars if wanted is None else min(wanted, found.row.chars)
        token = ""
        if found.span and found.span.end < last:
            token = make_token(
                found.row.content_sha256,
                found.span.end,
                index=asked.index,
                tenant=asked.scope.tenant,
                source_id=asked.source_id,
                version=found.row.version,
            )
        return to_source_text(found, token)


def _counted(
    request: service_pb.CountTokensRequest, counter: TokenCounter
) -> service_pb.CountTokensResponse:
    messages = None
    if request.HasField("messages"):
        asked = to_messages(request.messages, "messages")
        try:
            messages = counter.count_messages(asked)
        except InvalidRequest as error:  # names the field of a budget
            raise InvalidRequest("messages", error.problem) from error
    return service_pb.CountTokensResponse(
        tokenizer=counter.name,
        tokenizer_sha256=counter.sha256,
        text_tokens=[counter.count(text) for text in request.texts],
        message_tokens=messages,
    )


def _source_request(request: service_pb.GetSourceTextRequest, settings: Settings) -> SourceRequest:
    scope = to_scope(request.scope, "scope", settings)
    if scope.versions is not VersionPolicy.ACTIVE:
        raise FieldNotSupported("scope.version_policy", "has no use here; name a version instead")
    start, end = 0, None
    if request.HasField("range"):
        span = checks.span(request.range, "range")
        start, end = span.start, span.end
    content_sha256 = request.content_sha256 if request.HasField("content_sha256") else None
    if content_sha256 is not None and not _SHA256.fullmatch(content_sha256):
        raise InvalidRequest("content_sha256", "is not a SHA-256 of 64 lower-case hex digits")
    index = checks.index_name(request.index, "index")
    source_id = checks.name(request.source_id, "source_id")
    version = request.version if request.HasField("version") else None
    if request.page_token:
        page = read_token(
            request.page_token,
            index=index,
            tenant=scope.tenant,
            source_id=source_id,
            version=version,
            content_sha256=content_sha256,
        )
        content_sha256 = page.content_sha256
        start = max(start, page.start)
        if end is not None and start >= end:
            raise InvalidRequest("page_token", "lies beyond the range")
    return SourceRequest(
        index=index,
        scope=scope,
        source_id=source_id,
        version=version,
        content_sha256=content_sha256,
        start=start,
        end=end,
    )
