"""
The endpoint of models that write, as the settings name it.
"""

from __future__ import annotations

from adapters.chat import ChatEndpoint, KeptAnswersAlone
from adapters.kept_answers import KeptAnswers
from indexer.ports import ChatModel
from server.settings import Settings


def chat_of(settings: Settings, *, asks: bool = True) -> ChatModel | None:
    """
    Return what is asked, or None where no endpoint is named.

    Args:
        settings: Of the endpoint.
        asks: False takes what was answered before alone, and costs nothing.
    """
    if settings.chat_url is None:
        return None
    answers = KeptAnswers(settings.chat_answers_file)
    if not asks:
        return KeptAnswersAlone(answers)
    key = settings.chat_api_key
    return ChatEndpoint(
        settings.chat_url,
        answers,
        api_key=key.get_secret_value() if key else None,
        timeout_seconds=settings.chat_timeout_seconds,
        at_once=settings.chat_at_once,
        leaves_out=settings.chat_failures == "leave_out",
    )


def forget_answers(settings: Settings, source_id: str) -> None:
    """
    Remove what was answered about a source, in whatever index it is.
    """
    if settings.chat_answers_file.exists():
        answers = KeptAnswers(settings.chat_answers_file)
        answers.forget(source_id)
        answers.close()
