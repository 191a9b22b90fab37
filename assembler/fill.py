"""
What is chosen so far under a limit of estimated tokens, and what may still be.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from assembler.estimate import PartCounts
from assembler.merge import Chosen, carried
from assembler.model import VersionKey
from assembler.parent import Parent
from assembler.passage import Alias
from assembler.report import Disposition, Note
from assembler.request import Fill
from assembler.rules import Rules, no_spans
from assembler.span import Span, covers

LEAST_TOKENS = 16
"""No step is expected to cost less; below what so many tokens must buy nothing is tried."""

LEAST_PARTS = 256
"""What is left is not filled up where it is less than the limit divided by this, and less than any
step is expected to cost."""

MOST_CHARS_PER_TOKEN = 16
"""What has more characters per token of the room left is not counted: it cannot fit."""


@dataclass(slots=True)
class Filling:
    """
    What is chosen so far, with its estimated tokens, and why the rest is not.

    Attributes:
        room: Most estimated tokens; differs from the limit by what estimates are known to be off.
        disputed: Source versions of which two sections overlap; None where any may.
        cheapest_skipped: Least estimated tokens of a step that did not fit.
        crumbs: Where less than so many tokens are left, nothing is looked for that fits.
    """

    parts: PartCounts
    rules: Rules
    room: int
    disputed: AbstractSet[VersionKey] | None = None
    tokens: int = 0
    chosen: dict[tuple[VersionKey, str], Chosen] = field(default_factory=dict)
    aliases: list[Alias] = field(default_factory=list)
    reasons: dict[tuple[str, str], Disposition] = field(default_factory=dict)
    stepped_down: dict[tuple[str, str], tuple[Note, ...]] = field(default_factory=dict)
    cheapest_skipped: int | None = None
    best_score: float = 0.0
    _texts: dict[str, tuple[VersionKey, Span]] = field(default_factory=dict)
    _by_version: dict[VersionKey, list[Chosen]] = field(default_factory=dict)
    _by_source: dict[tuple[str, str, str], int] = field(default_factory=dict)
    _by_target: dict[int, int] = field(default_factory=dict)
    _barred: dict[VersionKey, tuple[Span, ...]] = field(default_factory=dict)
    crumbs: int = field(init=False)

    def __post_init__(self) -> None:
        self.crumbs = min(self.rules.limit // LEAST_PARTS, LEAST_TOKENS)

    def pin(self, parent: Parent, span: Span) -> None:
        """
        Choose a span that the caller demands, whatever it costs.
        """
        home = self.home(parent)
        if home is None or not covers(home.joined, span):
            self.take(parent, span, self.parts.cost(parent, span, home))

    def home(self, parent: Parent) -> Chosen | None:
        """
        Return what is chosen in a section.
        """
        return self.chosen.get((parent.version, parent.section.key))

    def take(self, parent: Parent, span: Span, cost: int) -> Chosen:
        """
        Add a span to what is chosen.
        """
        home = self.home(parent)
        if home is None:
            home = Chosen(parent)
            self.chosen[parent.version, parent.section.key] = home
            self._by_version.setdefault(parent.version, []).append(home)
        home.add(span)
        self.tokens += cost
        source = _source(parent)
        self._by_source[source] = self._by_source.get(source, 0) + cost
        self._by_target[parent.target] = self._by_target.get(parent.target, 0) + cost
        for one in (span, *(inner for inner in parent.section.chunk_spans if span.contains(inner))):
            shown = parent.visible(one)
            if shown is not None:
                self._texts.setdefault(shown[1], (parent.version, shown[0]))
        return home

    def refusal(self, parent: Parent, cost: int) -> Disposition | None:
        """
        Return why a step of this cost may not be taken, or None where it may.
        """
        if self.tokens + cost > self.room:
            self.cheapest_skipped = min(cost, self.cheapest_skipped or cost)
            return Disposition.OVER_BUDGET
        cap = self.rules.targets[parent.target].max_context_tokens
        if cap is not None and self._by_target.get(parent.target, 0) + cost > cap:
            return Disposition.OVER_BUDGET
        if self._by_source.get(_source(parent), 0) + cost > self.rules.source_limit:
            return Disposition.SOURCE_SHARE
        return None

    def twin(self, parent: Parent, span: Span) -> Alias | None:
        """
        Return the equal text of another source version that is chosen already, or None.
        """
        shown = parent.visible(span)
        if shown is None:
            return None
        first = self._texts.get(shown[1])
        if first is None or first[0] == parent.version:
            return None
        return Alias(*first, parent, shown[0])

    def repeats_others(self, parent: Parent, span: Span) -> bool:
        """
        Return whether a chunk inside a span has the text of another version that is chosen already.
        """
        chunks = parent.section.chunk_spans
        return any(span.contains(one) and self.twin(parent, one) is not None for one in chunks)

    def is_barred(self, parent: Parent, span: Span) -> bool:
        """
        Return whether a span, with what it carries, shares text with what the caller excluded.
        """
        if self.rules.forbidden is no_spans:
            return False
        version = parent.version
        if version not in self._barred:
            self._barred[version] = self.rules.forbidden(version)
        barred = self._barred[version]
        if not barred:
            return False
        shown = (span, *carried(parent, (span,)))
        return any(one.overlaps(other) for one in shown for other in barred)

    def conflicts(self, parent: Parent, span: Span) -> bool:
        """
        Return whether another text is chosen for a part of the same range of the same version.

        Sections partition a text; only parents made of chunks' own texts can overlap another.
        """
        disputed = self.disputed
        if disputed is not None and not (disputed and parent.version in disputed):
            return False
        others = [
            home
            for home in self._by_version.get(parent.version, ())
            if home.parent is not parent
            and home.parent.section.span.overlaps(parent.section.span)
            and home.parent.section.key != parent.section.key
        ]
        if not others:
            return False
        shown = (span, *carried(parent, (span,)))
        return any(one.overlaps(other) for home in others for one in shown for other in home.joined)

    def is_worth(self, score: float, cost: int) -> bool:
        """
        Return whether a score pays for so many tokens.
        """
        return self.rules.pays(score, cost, self.best_score)

    def pays_for(self, score: float, parent: Parent, span: Span) -> bool:
        """
        Return whether a score pays for the tokens of a span; under `fill` FULL nothing is counted.
        """
        if self.rules.fill is Fill.FULL:
            return True
        return self.is_worth(score, self.parts.cost(parent, span, self.home(parent)))

    def has_room(self, score: float) -> bool:
        """
        Return whether a further candidate of this score could still be taken.
        """
        return self.tokens + LEAST_TOKENS <= self.room and self.is_worth(score, LEAST_TOKENS)

    def repeats(self, parent: Parent, span: Span) -> bool:
        """
        Return whether the same text of another place of the same version is chosen already.
        """
        shown = parent.visible(span)
        if shown is None:
            return False
        first = self._texts.get(shown[1])
        return first is not None and first[0] == parent.version and first[1] != shown[0]

    def is_too_long(self, span: Span) -> bool:
        """
        Return whether a span is far too long for the room, or the room too small for any search:
        neither needs a count.
        """
        least = max(span.length // MOST_CHARS_PER_TOKEN, self.crumbs)
        if least <= self.room - self.tokens:
            return False
        self.cheapest_skipped = min(least, self.cheapest_skipped or least)
        return True

    @property
    def is_nearly_full(self) -> bool:
        """
        Return whether less is left than any step is expected to cost.
        """
        return self.room - self.tokens < LEAST_TOKENS

    def is_hopeless(self, score: float) -> bool:
        """
        Return whether a score buys not even the least that a step can cost.
        """
        return not self.is_worth(score, LEAST_TOKENS)

    def promised(self, target: int) -> int:
        """
        Return the tokens that a target is still owed.
        """
        least = self.rules.targets[target].min_context_tokens or 0
        return max(least - self._by_target.get(target, 0), 0)


def _source(parent: Parent) -> tuple[str, str, str]:
    version = parent.version
    return (version.index, version.tenant, version.source_id)
