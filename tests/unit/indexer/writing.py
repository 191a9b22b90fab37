"""
Texts that are cut with the help of a model that writes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from adapters.chat import ChatEndpoint
from adapters.kept_answers import KeptAnswers
from indexer.cut_source import CutSource
from indexer.ports import ChatModel
from tests.chat_server import ChatServer
from tests.unit.indexer import cutting

PLACES = ("Oslo", "Bergen", "Trondheim", "Bodo")
PARTS = [f"In {one} trains are slow. " + f"Nobody likes {one} at all. " * 4 for one in PLACES]
TEXT = "".join(PARTS)
BORDERS = [f"In {one} trains" for one in PLACES]


def endpoint(server: ChatServer, folder: Path, **more: Any) -> ChatEndpoint:
    answers = KeptAnswers(folder / "answers.sqlite")
    return ChatEndpoint(server.url, answers, sleep=lambda _: None, **more)


def cut(text: str, chat: ChatModel | None, strategy: str = "llm", **settings: Any) -> CutSource:
    return cutting.cut(text, strategy=strategy, chat=chat, **settings)
