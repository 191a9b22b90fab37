"""
What strategies ask of a model that writes.
"""

from __future__ import annotations

from collections.abc import Sequence

from adapters.chat import Asked
from assembler.errors import InvalidRequest
from indexer.strategies.pieces import SourceToCut


def answers_of(source: SourceToCut, model: str, asked: Sequence[Asked]) -> list[str | None]:
    """
    Return one answer per question, in order; None for one that is left out.

    Raises:
        InvalidRequest: There is no endpoint to ask.
    """
    if source.chat is None:
        raise InvalidRequest(
            "setting",
            f"model {model!r} needs an endpoint: set CONTEXT_ASSEMBLER_CHAT_URL to one that speaks "
            "/v1/chat/completions",
        )
    return source.chat.answers(model, asked)
