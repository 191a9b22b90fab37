"""
Token counters whose counts can be worked out by hand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from assembler.ports import ChatMessage


class CharCounter:
    """
    Counts a token per three code points or part of it: joined text counts less than its parts.
    """

    name = "chars"
    sha256 = "chars"

    def count(self, text: str) -> int:
        return (len(text) + 2) // 3

    def count_messages(self, messages: Sequence[ChatMessage]) -> int:
        return sum(3 + self.count(message.content) for message in messages)


class JoinCounter(CharCounter):
    """
    Counts words, and one more for every two line ends that meet: joined text counts more.
    """

    name = "joins"
    sha256 = "joins"

    def count(self, text: str) -> int:
        return len(re.findall(r"\S+", text)) + 3 * len(re.findall(r"\n\n", text))
