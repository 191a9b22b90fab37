"""
What the limit is and how the whole is counted against it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from assembler.errors import InvalidRequest, WindowLeavesNothing
from assembler.ports import ChatMessage, TokenCounter
from assembler.request import PLACEHOLDER, Budget, ContextTokens


@dataclass(frozen=True, slots=True)
class Measure:
    """
    Counts a context the way its budget says: as a text of its own, or inside the prompt's messages.

    Attributes:
        limit: Most tokens that the context may add to the frame.
        frame: Tokens of the prompt without the context; 0 for a text of its own.
    """

    counter: TokenCounter
    limit: int
    frame: int
    messages: tuple[ChatMessage, ...] | None

    def of(self, context: str) -> int:
        """
        Return the tokens that the context adds to the frame (exact: the whole is counted).
        """
        if self.messages is None:
            return self.counter.count(context) if context else 0
        return self._prompt(context) - self.frame

    def _prompt(self, context: str) -> int:
        return self.counter.count_messages(_filled(self.messages or (), context))


def measure(budget: Budget, counter: TokenCounter) -> Measure:
    """
    Return how to count for a budget.

    Raises:
        InvalidRequest: The messages do not contain the placeholder exactly once.
        WindowLeavesNothing: Nothing is left for the context.
    """
    room = budget.room
    if isinstance(room, ContextTokens):
        return Measure(counter, int(room.limit / budget.safety_ratio), 0, None)
    frame = room.frame_tokens
    if room.messages is not None:
        _check_placeholder(room.messages)
        frame = counter.count_messages(_filled(room.messages, ""))
    left = int((room.window - room.reserved_output) / budget.safety_ratio) - frame
    if left <= 0:
        raise WindowLeavesNothing(
            "budget.prompt_window",
            window=room.window,
            reserved=room.reserved_output,
            frame=frame,
        )
    return Measure(counter, left, frame, room.messages)


def _check_placeholder(messages: tuple[ChatMessage, ...]) -> None:
    times = sum(message.content.count(PLACEHOLDER) for message in messages)
    if times != 1:
        raise InvalidRequest(
            "budget.prompt_window.messages",
            f"the placeholder {PLACEHOLDER} stands in them {times} times; it must exactly once",
        )


def _filled(messages: tuple[ChatMessage, ...], context: str) -> tuple[ChatMessage, ...]:
    return tuple(
        replace(message, content=message.content.replace(PLACEHOLDER, context))
        for message in messages
    )
