"""
Pack: choose, grow, merge, deduplicate, order, render, count the whole, and repair.

Part counts only guide. The final string is counted; where it is over, the room shrinks and packing
starts again; where estimates were too high, the room grows once more. Both are bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from assembler.budget import Measure
from assembler.choose import choose
from assembler.dedup import drop_duplicates, followed
from assembler.errors import MustIncludeTooLarge
from assembler.estimate import PartCounts
from assembler.expand import Evidence
from assembler.fill import Filling
from assembler.grow import Growth, Scores, growth
from assembler.merge import merge
from assembler.model import VersionKey
from assembler.order import order
from assembler.parent import Parent
from assembler.passage import Alias, Passage
from assembler.rank import Support
from assembler.render import Rendered, render
from assembler.request import Layout
from assembler.rules import Rules
from assembler.span import Span

MOST_REPAIRS = 8
"""Full counts after the first, per request."""

WASTE_TOKENS = 16
"""Unused room below this, beyond the cheapest skipped step, is not worth another full count."""

WASTE_PARTS = 100
"""Nor is less than the limit divided by this."""


@dataclass(frozen=True, slots=True)
class Pinned:
    """
    A span that the caller demands, in its section.
    """

    parent: Parent
    span: Span


@dataclass(frozen=True, slots=True)
class Packed:
    """
    A rendered context that fits, with the state that it was made from.

    Attributes:
        tokens: The full count.
        corrections: Sum of the absolute differences between estimates and full counts.
    """

    rendered: Rendered
    passages: tuple[Passage, ...]
    aliases: tuple[Alias, ...]
    filling: Filling
    tokens: int
    corrections: int


@dataclass(frozen=True, slots=True)
class Work:
    """
    Everything that packing starts from.

    Attributes:
        evidence: Best first.
        scores: Fused scores by place, of all candidates.
        support: What chunks beside them are worth; None where passages are not to grow.
    """

    evidence: Sequence[Evidence]
    pinned: Sequence[Pinned]
    rules: Rules
    layout: Layout
    scores: Scores = field(default_factory=dict)
    support: Support | None = None

    @property
    def growth(self) -> tuple[Growth, ...]:
        """
        Return what passages can grow by.
        """
        return () if self.support is None else growth(self.evidence, self.scores, self.support)

    @property
    def disputed(self) -> frozenset[VersionKey]:
        """
        Return the source versions of which two sections overlap, as chunks' own texts may.
        """
        parents = {id(one.parent): one.parent for one in self.evidence}
        parents.update({id(one.parent): one.parent for one in self.pinned})
        spans: dict[VersionKey, dict[str, Span]] = {}
        for parent in parents.values():
            spans.setdefault(parent.version, {})[parent.section.key] = parent.section.span
        return frozenset(
            version
            for version, known in spans.items()
            if any(one.overlaps(other) for one, other in pairwise(sorted(known.values())))
        )


def pack(work: Work, measure: Measure) -> Packed:
    """
    Return the best context whose full count is at most the limit.

    Raises:
        MustIncludeTooLarge: The pinned spans alone do not fit.
    """
    parts = PartCounts(measure.counter.count, work.layout)
    beside, disputed = work.growth, work.disputed
    room = measure.limit
    waste = max(WASTE_TOKENS, measure.limit // WASTE_PARTS)
    best: Packed | None = None
    corrections = 0
    for _ in range(MOST_REPAIRS + 1):
        packed = _attempt(work, beside, Filling(parts, work.rules, room, disputed), measure)
        corrections += abs(packed.tokens - packed.filling.tokens)
        over = packed.tokens - measure.limit
        if over > 0:
            if best is not None:
                break
            room = min(room, packed.filling.tokens) - over
            if room < 0:
                break
            continue
        best = packed
        skipped = packed.filling.cheapest_skipped
        unused = measure.limit - packed.tokens
        if skipped is None or unused < skipped + waste:
            break
        room += max(unused - skipped - WASTE_TOKENS // 2, 1)
    if best is None:
        best = _pins_alone(work, parts, measure)
    return Packed(
        best.rendered, best.passages, best.aliases, best.filling, best.tokens, corrections
    )


def _attempt(work: Work, beside: Sequence[Growth], filling: Filling, measure: Measure) -> Packed:
    for pin in work.pinned:
        filling.pin(pin.parent, pin.span)
    choose(filling, work.evidence, beside)
    return _rendered(filling, work, measure)


def _rendered(filling: Filling, work: Work, measure: Measure) -> Packed:
    passages, aliases = drop_duplicates(merge(filling.chosen))
    ordered = order(passages, work.layout.order)
    rendered = render(ordered, work.layout)
    return Packed(
        rendered=rendered,
        passages=ordered,
        aliases=followed((*filling.aliases, *aliases)),
        filling=filling,
        tokens=measure.of(rendered.text),
        corrections=0,
    )


def _pins_alone(work: Work, parts: PartCounts, measure: Measure) -> Packed:
    """
    Return the pinned spans as the whole context; without any, the empty one.
    """
    filling = Filling(parts, work.rules, 0)
    for pin in work.pinned:
        filling.pin(pin.parent, pin.span)
    pinned = _rendered(filling, work, measure)
    if pinned.tokens > measure.limit:
        raise MustIncludeTooLarge(needed=pinned.tokens, limit=measure.limit)
    choose(filling, work.evidence)
    return pinned
