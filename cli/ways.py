"""
Ways to cut as the command line names them: strategies with settings, sizes and overlaps.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from adapters.store import ChunkerSpec
from assembler.errors import InvalidRequest
from cli.strategies import settings_of
from indexer.strategies.registry import STRATEGIES, chunker_of, strategy_of
from indexer.strategies.structure import CHUNK_AIM_TOKENS, CHUNK_TOKENS

DEFAULT = ("structure", "fixed", "sliding", "recursive", "semantic", "cluster", "adaptive", "auto")


@dataclass(frozen=True, slots=True)
class Way:
    """
    A strategy with settings, and what it is called in the report.
    """

    name: str
    chunker: ChunkerSpec


def ways_of(
    words: Sequence[str], sizes: Sequence[int] = (), overlaps: Sequence[int] = ()
) -> tuple[Way, ...]:
    """
    Return every way once: each strategy with each size and overlap that it has a setting for.

    Args:
        words: ``NAME`` or ``NAME:key=value,key=value``.
        sizes: Of chunks; () for the strategy's own.
        overlaps: Of chunks; () for the strategy's own.

    Raises:
        InvalidRequest: An unknown strategy or setting, or a value that does not go.
    """
    found: dict[ChunkerSpec | str, Way] = {}
    for word in words:
        name, _, rest = word.partition(":")
        given = dict(settings_of(rest.split(",") if rest else ()))
        known = strategy_of(ChunkerSpec(name, "")).settings
        for size, overlap in itertools.product(sizes or (None,), overlaps or (None,)):
            settings: dict[str, str | int] = {}
            if size is not None and "size" in known:
                settings["size"] = size
            elif size is not None and "chunk_aim_tokens" in known:
                settings["chunk_aim_tokens"] = size
                settings["chunk_tokens"] = size * CHUNK_TOKENS // CHUNK_AIM_TOKENS
            if overlap is not None and "overlap" in known:
                settings["overlap"] = overlap
            for key in ("piece", "least"):
                if size is not None and key in known:
                    settings[key] = max(size // 4, 1)
            chunker = chunker_of(name, {**settings, **given})
            found.setdefault(chunker.fingerprint, Way(_label(chunker), chunker))
    return tuple(found.values())


def numbers_of(field: str, text: str, least: int) -> tuple[int, ...]:
    """
    Return whole numbers that stand with commas between.

    Raises:
        InvalidRequest: They are none, or too small.
    """
    try:
        found = tuple(dict.fromkeys(int(one) for one in text.split(",") if text))
    except ValueError:
        raise InvalidRequest(field, f"must be whole numbers with commas, got {text!r}") from None
    if any(one < least for one in found):
        raise InvalidRequest(field, f"must be at least {least}, got {text!r}")
    return found


def _label(chunker: ChunkerSpec) -> str:
    defaults = STRATEGIES[chunker.name].defaults
    changed = [
        f"{key}={value}" for key, value in chunker.settings.items() if value != defaults.get(key)
    ]
    return " ".join((chunker.name, *changed))
