"""
Choose evidence and growth, best first, each by what its tokens buy.

Nothing here stops at the first misfit: what does not fit is stepped down and else skipped.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence

from assembler.expand import Evidence
from assembler.fill import Filling
from assembler.grow import Growth
from assembler.merge import Chosen
from assembler.rank import SCORE_DIGITS
from assembler.report import Disposition, Note
from assembler.span import Span, covers

REPEAT_WORTH = 0.5
"""A text that stands in the context already, in the same version, is worth so much of its score."""


def choose(filling: Filling, evidence: Sequence[Evidence], growth: Sequence[Growth] = ()) -> None:
    """
    Choose evidence, best first, and then let passages grow with what room is left.

    What every target is promised at least goes before all. Equal scores: what stands first.
    """
    filling.best_score = round(
        max((item.candidate.score for item in evidence), default=0.0), SCORE_DIGITS
    )
    first = _promised(filling, evidence)
    steps = [
        (-round(item.candidate.score, SCORE_DIGITS), number)
        for number, item in enumerate(evidence)
        if number not in first
    ]
    heapq.heapify(steps)
    put_off: set[int] = set()
    while steps:
        worth, number = heapq.heappop(steps)
        item = evidence[number]
        if number not in put_off and filling.repeats(item.parent, item.chunk_span):
            put_off.add(number)
            heapq.heappush(steps, (worth * REPEAT_WORTH, number))
        else:
            _consider(filling, item, -worth)
    for one in growth:
        _grow(filling, one)


def _promised(filling: Filling, evidence: Sequence[Evidence]) -> frozenset[int]:
    """
    Choose what targets are promised at least, and return the places of what was chosen.
    """
    chosen: set[int] = set()
    for target in range(len(filling.rules.targets)):
        for place, item in enumerate(evidence):
            if not filling.promised(target):
                break
            if item.candidate.target == target:
                _consider(filling, item, item.candidate.score)
                if item.candidate.identity not in filling.reasons:
                    chosen.add(place)
    return frozenset(chosen)


def _consider(filling: Filling, item: Evidence, worth: float) -> None:
    reason = _attempt(filling, item, worth)
    if reason is None:
        filling.reasons.pop(item.candidate.identity, None)
    else:
        filling.reasons[item.candidate.identity] = reason


def _attempt(filling: Filling, item: Evidence, worth: float) -> Disposition | None:
    """
    Show evidence as the first rung of its ladder that may be shown, pays and fits.
    """
    home = filling.home(item.parent)
    if home is not None and covers(home.joined, item.chunk_span):
        home.evidence.append(item)
        return None
    if filling.is_hopeless(worth):
        return Disposition.UNDER_PRICE
    # the price is that of the chunk alone: what its unit or its sentence adds is not its fault
    if not filling.pays_for(worth, item.parent, item.candidate.chunk.span):
        return Disposition.UNDER_PRICE
    first: Disposition | None = None
    for rung, span in enumerate(_rungs(filling, item)):
        if span != item.chunk_span and filling.repeats_others(item.parent, span):
            continue
        reason = _step(filling, item, span, home, rung, worth)
        if reason is None or reason is Disposition.DUPLICATE:
            return reason
        if first is None or reason is Disposition.UNDER_PRICE:  # then it fits, at least
            first = reason
    return first


def _rungs(filling: Filling, item: Evidence) -> Iterator[Span]:
    """
    Yield the ladder, and last the forced piece where its sentence exceeds the whole limit.
    """
    yield from item.ladder
    if filling.is_nearly_full:
        return
    yield from item.last_rungs
    forced, limit = item.forced, filling.rules.limit
    if forced is not None and filling.parts.exceeds(item.parent, item.chunk_span, limit):
        yield forced


def _step(
    filling: Filling, item: Evidence, span: Span, home: Chosen | None, rung: int, worth: float
) -> Disposition | None:
    parent = item.parent
    reason = _hindrance(filling, item, span)
    if reason is not None:
        return reason
    if filling.is_too_long(span):
        return Disposition.OVER_BUDGET
    cost = filling.parts.cost(parent, span, home)
    reason = filling.refusal(parent, cost)
    # a part of a chunk is worth less than all of it, though its best sentence is worth more than
    # its length: no scraps of weak candidates, but rather one of the best than none at all
    is_part = bool(filling.chosen) and span.length < item.candidate.chunk.span.length
    part = math.sqrt(span.length / item.candidate.chunk.span.length)
    if reason is None and is_part and not filling.is_worth(worth * part, cost):
        reason = Disposition.UNDER_PRICE
    if reason is not None:
        return reason
    taken = filling.take(parent, span, cost)
    taken.evidence.append(item)
    notes = [Note.STEPPED_DOWN] if rung else []
    if parent.is_cut(span):
        notes.append(Note.CUT)
    if notes:
        filling.stepped_down[item.candidate.identity] = tuple(notes)
    taken.notes.update(dict.fromkeys((*item.notes, *notes)))
    return None


def _hindrance(filling: Filling, item: Evidence, span: Span) -> Disposition | None:
    """
    Return why a span cannot be shown, whatever it costs; an equal text is noted as an alias.
    """
    parent = item.parent
    if filling.is_barred(parent, span):
        return Disposition.EXCLUDED
    if filling.conflicts(parent, span) or parent.visible(span) is None:
        return Disposition.INVALID
    alias = filling.twin(parent, span)
    if alias is None:
        return None
    filling.aliases.append(alias)
    return Disposition.DUPLICATE


def _grow(filling: Filling, one: Growth) -> None:
    """
    Show one more chunk of a section that evidence is shown of, where it pays and fits.
    """
    parent, span = one.parent, one.span
    worth = one.score * (REPEAT_WORTH if filling.repeats(parent, span) else 1.0)
    home = filling.home(parent)
    if home is None or not home.evidence or covers(home.joined, span):
        return
    if filling.is_hopeless(worth) or filling.is_too_long(span):
        return
    if filling.is_barred(parent, span) or filling.conflicts(parent, span):
        return
    if parent.visible(span) is None or filling.twin(parent, span) is not None:
        return
    if not filling.pays_for(worth, parent, one.own):
        return
    cost = filling.parts.cost(parent, span, home)
    if filling.refusal(parent, cost) is None:
        grown = {Note.GROWN: None, **({Note.CUT: None} if parent.is_cut(span) else {})}
        filling.take(parent, span, cost).notes.update(grown)
