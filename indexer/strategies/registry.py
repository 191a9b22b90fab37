"""
Every strategy by name, with its settings and what it does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from adapters.store import ChunkerSpec
from assembler.errors import InvalidRequest
from indexer import borders
from indexer.strategies import title
from indexer.strategies.adaptive import cut_adaptively
from indexer.strategies.auto import cut_automatically
from indexer.strategies.by_model import PROMPT_VERSION as BORDERS_VERSION
from indexer.strategies.by_model import cut_by_model
from indexer.strategies.cluster import cut_by_clusters
from indexer.strategies.code import cut_by_syntax
from indexer.strategies.context_sentence import PROMPT_VERSION as CONTEXT_VERSION
from indexer.strategies.conversation import cut_by_turns
from indexer.strategies.late import NAME as LATE
from indexer.strategies.late import OVERLAP, cut_for_late
from indexer.strategies.late import VERSION as LATE_VERSION
from indexer.strategies.pieces import Cut, SourceToCut, Value, Values
from indexer.strategies.recursive import cut_recursively
from indexer.strategies.semantic import cut_by_distance
from indexer.strategies.setting import Setting
from indexer.strategies.structure import (
    CHUNK_AIM_TOKENS,
    CHUNK_TOKENS,
    HEADING_SHARE,
    SECTION_TOKENS,
    cut_by_structure,
)
from indexer.strategies.token_windows import cut_by_windows

Cutting: TypeAlias = Callable[[SourceToCut, Values], Cut]

SIZE = 112
LONGEST_SECTION = 100_000


@dataclass(frozen=True, slots=True)
class Strategy:
    """
    A way to cut.

    Attributes:
        version: Changes when equal text with equal settings is cut otherwise.
        cut: Cuts one text.
        means: What it does, in a sentence.
    """

    version: str
    cut: Cutting
    settings: Mapping[str, Setting]
    means: str

    @property
    def defaults(self) -> dict[str, Value]:
        """
        Return the settings that nobody names.
        """
        return {name: one.default for name, one in self.settings.items()}


_SECTION = {
    "section_tokens": Setting(
        SECTION_TOKENS, "most tokens of a section", least=16, most=LONGEST_SECTION
    )
}
_SIZE = {"size": Setting(SIZE, "most tokens of a chunk's text", least=1), **_SECTION}
_HEADINGS = {
    "headings": Setting(
        default=True,
        means="sections begin at headings, which stand before the text in what is embedded",
    )
}
_TEXT = {**_SIZE, **_HEADINGS}

CONTEXT = "context"
FOR_ALL = {
    CONTEXT: Setting(
        "",
        "model at the chat endpoint that writes a sentence of context before each chunk, in what "
        "is embedded alone",
    ),
    title.SETTING: Setting(
        default=False,
        means="a document's title stands before each chunk, in what is embedded alone",
    ),
}
"""Settings that every strategy takes; one that is not named is no part of the configuration."""

_STRUCTURE = Strategy(
    "2",
    cut_by_structure,
    {
        **_SECTION,
        "chunk_tokens": Setting(
            CHUNK_TOKENS, "most tokens of what is embedded, headings included", least=8
        ),
        "chunk_aim_tokens": Setting(CHUNK_AIM_TOKENS, "tokens that a chunk's text aims at", 1),
        "heading_share": Setting(
            HEADING_SHARE, "headings take one part in so many of a chunk's tokens", least=1
        ),
    },
    "headed parts, inside them pieces that end at paragraphs and sentences",
)


_LEAVES_TO_STRUCTURE = f"1+structure{_STRUCTURE.version}"
"""The version of what leaves some texts to `structure`: it changes with that too."""


def _with_structure(cut: Callable[[SourceToCut, Values, Values], Cut]) -> Cutting:
    """
    Return a way to cut that leaves what it cannot cut to `structure`.
    """

    def both(source: SourceToCut, values: Values) -> Cut:
        own = {**_STRUCTURE.defaults, "section_tokens": values["section_tokens"]}
        return cut(source, values, own)

    return both


STRATEGIES: Mapping[str, Strategy] = {
    "structure": _STRUCTURE,
    "fixed": Strategy("1", cut_by_windows, _TEXT, "windows of exactly so many tokens"),
    "sliding": Strategy(
        "1",
        cut_by_windows,
        {**_TEXT, "overlap": Setting(28, "tokens shared with the window before")},
        "windows of exactly so many tokens that overlap",
    ),
    "recursive": Strategy(
        "1",
        cut_recursively,
        {**_TEXT, "overlap": Setting(0, "most tokens repeated of the chunk before")},
        "paragraphs; what is too long at lines, sentences, words, letters",
    ),
    "code": Strategy(
        _LEAVES_TO_STRUCTURE,
        _with_structure(cut_by_syntax),
        _SIZE,
        "functions and classes whole; their signatures and imports are embedded with them",
    ),
    "conversation": Strategy(
        _LEAVES_TO_STRUCTURE,
        _with_structure(cut_by_turns),
        {**_SIZE, "turns": Setting(0, "most turns of a chunk; 0 for as many as fit")},
        "whole turns, as many together as fit",
    ),
    "semantic": Strategy(
        "1",
        cut_by_distance,
        {
            **_TEXT,
            "percentile": Setting(
                95.0, "cut where sentences are further apart than so many % are", most=100
            ),
            "around": Setting(1, "sentences before and after that are embedded with each", most=8),
        },
        "cut where the meaning of neighbouring sentences differs most",
    ),
    "cluster": Strategy(
        "1",
        cut_by_clusters,
        {**_TEXT, "piece": Setting(28, "tokens of the pieces that are grouped", least=1)},
        "small pieces grouped so that what stands together is most alike",
    ),
    "adaptive": Strategy(
        "1",
        cut_adaptively,
        {**_SIZE, "least": Setting(32, "shorter pieces are joined with a neighbour")},
        "headed parts, split where they change and joined where they are short",
    ),
    LATE: Strategy(
        LATE_VERSION,
        cut_for_late,
        {
            **_TEXT,
            OVERLAP: Setting(
                64, "tokens that windows share where a document is longer than the model takes"
            ),
        },
        "as `structure`; vectors are of a chunk's tokens in the whole document",
    ),
    "llm": Strategy(
        f"1+prompt{BORDERS_VERSION}",
        cut_by_model,
        {
            **_TEXT,
            "model": Setting("", "model at the chat endpoint that proposes borders"),
            "least": Setting(16, "borders that leave shorter pieces are refused"),
        },
        "where a model that writes proposes; what does not hold is cut by `recursive`",
    ),
    "auto": Strategy(
        _LEAVES_TO_STRUCTURE,
        _with_structure(cut_automatically),
        _SIZE,
        "code by syntax, conversations by turns, all else by structure",
    ),
}


def strategy_of(spec: ChunkerSpec) -> Strategy:
    """
    Return the strategy that a configuration names.

    Raises:
        InvalidRequest: There is none of this name.
    """
    found = STRATEGIES.get(spec.name)
    if found is None:
        known = ", ".join(STRATEGIES)
        raise InvalidRequest("strategy", f"{spec.name!r} is not one of {known}")
    return found


def chunker_of(name: str, given: Mapping[str, Value] | None = None) -> ChunkerSpec:
    """
    Return the configuration of a strategy with these settings and its defaults for the others.

    Raises:
        InvalidRequest: An unknown strategy or setting, or a value that does not go.
    """
    strategy = strategy_of(ChunkerSpec(name, ""))
    settings = {**strategy.settings, **FOR_ALL}
    values = strategy.defaults
    for key, value in (given or {}).items():
        if key not in settings:
            known = ", ".join(settings)
            raise InvalidRequest("setting", f"{key!r} of {name} is not one of {known}")
        values[key] = settings[key].value_of(key, value)
    for key in FOR_ALL:
        if not values.get(key):
            values.pop(key, None)
    _check_together(name, values)
    version = f"{strategy.version}+borders{borders.VERSION}"
    if CONTEXT in values:
        version += f"+context{CONTEXT_VERSION}"
    return ChunkerSpec(name, version, values)


def kept_chunker(stored: ChunkerSpec, given: Mapping[str, Value] | None = None) -> ChunkerSpec:
    """
    Return the configuration that an index has, as this release cuts it, with changed settings.

    Raises:
        InvalidRequest: This release does not know the strategy, or a given setting does not go.
    """
    known = {**strategy_of(stored).settings, **FOR_ALL}
    values = {key: value for key, value in stored.settings.items() if key in known}
    return chunker_of(stored.name, {**values, **(given or {})})


def check_limit(chunker: ChunkerSpec, most_tokens: int, room_tokens: int) -> None:
    """
    Refuse a chunker whose chunks are longer than the embedding model takes, or whose windows share
    more than half of what it takes: so many are read that an index would take days.

    Args:
        chunker: With what was asked for.
        most_tokens: Of the model, its prefix and special tokens included.
        room_tokens: Of these, what is left for a text.

    Raises:
        InvalidRequest: Names the setting and the most it can be.
    """
    defaults = strategy_of(chunker).defaults
    limits = (("chunk_tokens", most_tokens), ("size", room_tokens), (OVERLAP, room_tokens // 2))
    for key, most in limits:
        value = chunker.settings.get(key, 0)
        if value != defaults.get(key) and int(value) > most:
            raise InvalidRequest(
                "setting",
                f"{key}={value} is more than goes with the embedding model; at most {most} here",
            )


def _check_together(name: str, values: Mapping[str, Value]) -> None:
    if values.get("model") == "":
        raise InvalidRequest("setting", f"{name} needs model=NAME, a model at the chat endpoint")
    for key in FOR_ALL:
        if name == LATE and key in values:
            raise InvalidRequest(
                "setting", f"{key} changes no vector of late; leave one of them out"
            )
    size = int(values.get("size", 0))
    if int(values.get("overlap", 0)) >= max(size, 1):
        raise InvalidRequest("setting", f"overlap={values['overlap']} must be below size={size}")
    for key in ("piece", "least"):
        if int(values.get(key, 0)) > size:
            raise InvalidRequest("setting", f"{key}={values[key]} must be at most size={size}")
