"""
Budgets, layouts, messages and selectors: proto to domain.
"""

from __future__ import annotations

from collections.abc import Sequence

from contextassembler.v1 import context_pb2 as pb

from assembler.errors import InvalidRequest
from assembler.ports import ChatMessage
from assembler.request import (
    Budget,
    ChunkKey,
    ContextTokens,
    Format,
    Headings,
    Layout,
    Order,
    PromptWindow,
    Selector,
    SourceRange,
)
from server import checks
from server.convert_scope import MOST_NAMES
from server.settings import Settings

MOST_SAFETY_RATIO = 4.0


def to_budget(message: pb.Budget, settings: Settings, *, is_given: bool) -> Budget:
    """
    Return the budget.
    """
    if not is_given:
        raise InvalidRequest("budget", "is missing; name a tokenizer and a room")
    most = settings.max_context_tokens
    safety = 1.0
    if message.HasField("safety_ratio"):
        safety = checks.number(
            message.safety_ratio, "budget.safety_ratio", least=1.0, most=MOST_SAFETY_RATIO
        )
    tokenizer = checks.name(message.tokenizer, "budget.tokenizer")
    kind = message.WhichOneof("room")
    if kind == "context_tokens":
        limit = checks.whole(message.context_tokens, "budget.context_tokens", least=1, most=most)
        return Budget(tokenizer, ContextTokens(limit), safety)
    if kind == "prompt_window":
        return Budget(tokenizer, _window(message.prompt_window, most), safety)
    raise InvalidRequest("budget", "has no room; give context_tokens or prompt_window")


def to_messages(message: pb.ChatMessages, field: str) -> tuple[ChatMessage, ...]:
    """
    Return the messages of a prompt.
    """
    if not message.messages:
        raise InvalidRequest(field, "is empty; give at least one message")
    checks.at_most(message.messages, field, MOST_NAMES)
    return tuple(
        ChatMessage(
            checks.name(one.role, f"{field}[{number}].role"),
            one.content,
            one.name if one.HasField("name") else None,
        )
        for number, one in enumerate(message.messages)
    )


def to_layout(message: pb.Layout) -> Layout:
    """
    Return the look of the context.
    """
    form = checks.choice(
        message.format, pb.Format.DESCRIPTOR, Format, "layout.format", Format.MARKDOWN
    )
    default = Headings.NONE if form is Format.PLAIN else Headings.PATH
    return Layout(
        order=checks.choice(
            message.order, pb.Order.DESCRIPTOR, Order, "layout.order", Order.RELEVANCE
        ),
        format=form,
        headings=checks.choice(
            message.headings, pb.Headings.DESCRIPTOR, Headings, "layout.headings", default
        ),
    )


def _window(message: pb.PromptWindow, most: int) -> PromptWindow:
    field = "budget.prompt_window"
    window = checks.whole(message.window_tokens, f"{field}.window_tokens", least=1, most=most)
    reserved = checks.whole(
        message.reserved_output_tokens, f"{field}.reserved_output_tokens", least=0, most=most
    )
    kind = message.WhichOneof("frame")
    if kind == "messages":
        return PromptWindow(window, reserved, to_messages(message.messages, f"{field}.messages"))
    frame = checks.whole(message.frame_tokens, f"{field}.frame_tokens", least=0, most=most)
    return PromptWindow(window, reserved, None, frame)


def to_selectors(messages: Sequence[pb.Selector], field: str, targets: int) -> tuple[Selector, ...]:
    """
    Return what `must_include` or `exclude` names.
    """
    checks.at_most(messages, field, MOST_NAMES)
    return tuple(
        _selector(one, f"{field}[{number}]", targets) for number, one in enumerate(messages)
    )


def _selector(message: pb.Selector, field: str, targets: int) -> Selector:
    kind = message.WhichOneof("what")
    if kind == "chunk_key":
        return ChunkKey(checks.name(message.chunk_key, f"{field}.chunk_key"))
    if kind is None:
        raise InvalidRequest(field, "is empty; give source_range or chunk_key")
    given, place = message.source_range, f"{field}.source_range"
    return SourceRange(
        target=checks.whole(given.target, f"{place}.target", least=0, most=targets - 1),
        source_id=checks.name(given.source_id, f"{place}.source_id"),
        version=given.version if given.HasField("version") else None,
        span=checks.span(given.range, f"{place}.range") if given.HasField("range") else None,
    )
