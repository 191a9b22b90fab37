"""
The turns of a conversation: where somebody else begins to speak.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from assembler.span import Span

_LABEL = re.compile(
    r"^(?:\[[^\]\n]{1,40}\][ \t]*)?"  # [10:32]
    r"(?:#{1,6}[ \t]+)?(?:\*\*|__)?"
    r"(?P<speaker>[^\W\d_][\w .'-]{0,39}?)"
    r"[ \t]?(?:\([^)\n]{1,40}\)[ \t]?)?"  # (10:32)
    r"(?:\*\*|__)?:(?:\*\*|__)?(?=\s)",
    re.MULTILINE,
)
_PARAGRAPH = re.compile(r"\n[ \t]*\n|\n(?=\S)")
ROLES = frozenset(("user", "assistant", "system", "human", "ai", "bot", "tool", "agent"))
LEAST_TURNS = 4
LEAST_SPEAKERS = 2
LEAST_SHARE = 0.3
"""Where no speaker has a known role, so many of the lines begin a turn: not every note does."""


@dataclass(frozen=True, slots=True)
class Turn:
    """
    What one speaker says; `label` ends where the words begin.
    """

    span: Span
    label: str


def turns_of(text: str) -> tuple[Turn, ...]:
    """
    Return the turns of a text, the first with what stands before it; () for no conversation.

    A line that begins with a name and a colon begins a turn where the name is a known role, or is
    capitalised and stands so again. A conversation has two speakers and four turns at least.
    """
    found = list(_LABEL.finditer(text))
    counts = Counter(_speaker(one) for one in found)
    spoken = [
        one
        for one in found
        if (name := _speaker(one)) in ROLES or (counts[name] > 1 and one["speaker"][0].isupper())
    ]
    speakers = {_speaker(one) for one in spoken}
    if len(spoken) < LEAST_TURNS or len(speakers) < LEAST_SPEAKERS:
        return ()
    lines = sum(1 for line in _PARAGRAPH.split(text) if line.strip())
    if not speakers & ROLES and len(spoken) < LEAST_SHARE * lines:
        return ()
    starts = [0, *(one.start() for one in spoken[1:]), len(text)]
    return tuple(
        Turn(Span(starts[number], starts[number + 1]), " ".join(one[0].split()))
        for number, one in enumerate(spoken)
    )


def _speaker(label: re.Match[str]) -> str:
    return label["speaker"].strip().lower()
