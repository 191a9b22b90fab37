"""
Choose evidence and growth under a limit of estimated tokens.

Nothing here stops at the first misfit: what does not fit is stepped down and else skipped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from assembler.dedup import visible
from assembler.estimate import PartCounts
from assembler.expand import Evidence, Parent
from assembler.merge import Chosen, carried
from assembler.model import VersionKey
from assembler.passage import Alias
from assembler.profile import Profile
from assembler.report import Disposition, Note
from assembler.request import Fill, Target
from assembler.span import Span, covers

PRICED_TOKENS = 100
"""A profile's price is the part of the best score that so many tokens must buy."""

NO_LIMIT = 2**62
"""Estimates may pass the limit where they are known to be too high; only full counts may not."""

LEAST_TOKENS = 16
"""No step is expected to cost less; below what so many tokens must buy nothing is tried."""


def no_spans(version: VersionKey) -> tuple[Span, ...]:  # noqa: ARG001 - the shape of `Rules.forbidden`
    """
    Return that nothing of a source version stays out.
    """
    return ()


def share_of(limit: int, share: float) -> int:
    """
    Return the tokens that are a share of the limit; the whole of it is no limit of its own.
    """
    return int(limit * share) if share < 1.0 else NO_LIMIT


@dataclass(frozen=True, slots=True)
class Rules:
    """
    What packing obeys, as absolute numbers of tokens.

    Attributes:
        limit: The request's own limit for the context.
        source_limit: Most tokens of one source.
        forbidden: Returns the ranges of a source version that stay out.
        is_priced_by_token: Whether long units have to be worth more; else each has one price.
    """

    limit: int
    source_limit: int
    targets: Sequence[Target]
    fill: Fill
    profile: Profile
    forbidden: Callable[[VersionKey], tuple[Span, ...]] = no_spans
    is_priced_by_token: bool = True


@dataclass(slots=True)
class Filling:
    """
    What is chosen so far, with its estimated tokens, and why the rest is not.

    Attributes:
        room: Most estimated tokens; differs from the limit by what estimates are known to be off.
        cheapest_skipped: Least estimated tokens of a step that did not fit.
    """

    parts: PartCounts
    rules: Rules
    room: int
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

    def pin(self, parent: Parent, span: Span) -> None:
        """
        Choose a span that the caller demands, whatever it costs.
        """
        home = self.home(parent)
        if home is None or not covers(home.joined, span):
            self.take(parent, span, self.parts.cost(parent, span, home))

    def choose(self, evidence: Sequence[Evidence]) -> None:
        """
        Choose from evidence, best first; what every target is promised at least goes first.
        """
        self.best_score = max((item.candidate.score for item in evidence), default=0.0)
        for number, target in enumerate(self.rules.targets):
            if target.min_context_tokens:
                for item in evidence:
                    if self._by_target.get(number, 0) >= target.min_context_tokens:
                        break
                    if item.candidate.target == number:
                        self._consider(item)
        for item in evidence:
            if not self._is_in(item):
                self._consider(item)

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
        shown = visible(parent, span)
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
        shown = visible(parent, span)
        if shown is None:
            return None
        version, kept = self._texts.get(shown[1], (parent.version, shown[0]))
        return None if version == parent.version else Alias(version, kept, parent, shown[0])

    def is_barred(self, parent: Parent, span: Span) -> bool:
        """
        Return whether a span, with what it carries, shares text with what the caller excluded.
        """
        barred = self.rules.forbidden(parent.version)
        shown = (span, *carried(parent, (span,)))
        return any(one.overlaps(other) for one in shown for other in barred)

    def conflicts(self, parent: Parent, span: Span) -> bool:
        """
        Return whether another text is chosen for a part of the same range of the same version.
        """
        shown = (span, *carried(parent, (span,)))
        return any(
            one.overlaps(other)
            for home in self._by_version.get(parent.version, ())
            if home.parent.section.key != parent.section.key
            for one in shown
            for other in home.joined
        )

    def is_worth(self, score: float, cost: int) -> bool:
        """
        Return whether a score pays for so many tokens under the profile's price.
        """
        if self.rules.fill is Fill.FULL or self.best_score <= 0.0:
            return True
        if not self.rules.is_priced_by_token:
            cost = PRICED_TOKENS
        return score * PRICED_TOKENS >= self.rules.profile.price * self.best_score * cost

    def has_room(self, score: float) -> bool:
        """
        Return whether a further candidate of this score could still be taken.
        """
        return self.tokens + LEAST_TOKENS <= self.room and self.is_worth(score, LEAST_TOKENS)

    def _consider(self, item: Evidence) -> None:
        key = item.candidate.identity
        reason = self._attempt(item, key)
        if reason is None:
            self.reasons.pop(key, None)
        else:
            self.reasons[key] = reason

    def _attempt(self, item: Evidence, key: tuple[str, str]) -> Disposition | None:
        parent = item.parent
        home = self.home(parent)
        if home is not None and covers(home.joined, item.chunk_span):
            home.evidence.append(item)
            return None
        if not self.is_worth(item.candidate.score, LEAST_TOKENS):
            return Disposition.UNDER_PRICE
        chunk_cost = self.parts.cost(parent, item.chunk_span, home)
        if not self.is_worth(item.candidate.score, chunk_cost):
            return Disposition.UNDER_PRICE
        first: Disposition | None = None
        for rung, span in enumerate(self._rungs(item)):
            reason = self._step(item, span, home, key, rung)
            if reason is None or reason is Disposition.DUPLICATE:
                return reason
            first = first or reason
        return first

    def _rungs(self, item: Evidence) -> tuple[Span, ...]:
        """
        Return the ladder, with the forced piece last where its sentence exceeds the whole limit.
        """
        if item.forced is None or item.forced == item.chunk_span:
            return item.ladder
        alone = self.parts.cost(item.parent, item.chunk_span, None)
        return (*item.ladder, item.forced) if alone > self.rules.limit else item.ladder

    def _step(
        self, item: Evidence, span: Span, home: Chosen | None, key: tuple[str, str], rung: int
    ) -> Disposition | None:
        parent = item.parent
        reason = self._hindrance(parent, span)
        if reason is not None:
            return reason
        cost = self.parts.cost(parent, span, home)
        reason = self.refusal(parent, cost)
        # a part of a chunk is worth less than all of it, though its best sentence is worth more
        # than its length: no scraps of weak candidates
        part = min(math.sqrt(span.length / item.chunk_span.length), 1.0)
        if reason is None and not self.is_worth(item.candidate.score * part, cost):
            reason = Disposition.UNDER_PRICE
        if reason is not None:
            return reason
        taken = self.take(parent, span, cost)
        taken.evidence.append(item)
        notes = [Note.STEPPED_DOWN] if rung else []
        if parent.is_cut(span):
            notes.append(Note.CUT)
        if notes:
            self.stepped_down[key] = tuple(notes)
        taken.notes.update(dict.fromkeys((*item.notes, *notes)))
        return None

    def _hindrance(self, parent: Parent, span: Span) -> Disposition | None:
        """
        Return why a span cannot be shown, whatever it costs; an equal text is noted as an alias.
        """
        if self.is_barred(parent, span):
            return Disposition.EXCLUDED
        if self.conflicts(parent, span) or visible(parent, span) is None:
            return Disposition.INVALID
        alias = self.twin(parent, span)
        if alias is None:
            return None
        self.aliases.append(alias)
        return Disposition.DUPLICATE

    def _is_in(self, item: Evidence) -> bool:
        home = self.home(item.parent)
        return home is not None and any(one is item for one in home.evidence)


def _source(parent: Parent) -> tuple[str, str, str]:
    version = parent.version
    return (version.index, version.tenant, version.source_id)
