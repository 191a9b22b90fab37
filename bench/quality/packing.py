"""
How baselines fill a budget: in the given order, a marker line each, the whole counted at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from assembler.span import Span, trimmed
from bench.quality.stored import StoredDocument
from evaluation.measures import Shown, ShownPassage

JOINT = "\n\n"


@dataclass(frozen=True, slots=True)
class Item:
    """
    What a baseline would show next.

    Attributes:
        span: What is shown of the document, less what stands in the context already.
        core: The part for which it is shown; an item whose core is there already is left out.
    """

    document: StoredDocument
    span: Span
    core: Span


class Packer:
    """
    Packs items; remembers what pieces count.
    """

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._counts: dict[tuple[str, Span], int] = {}

    def pack(self, items: Iterable[Item], budget: int, *, stops: bool = False) -> Shown:
        """
        Return the context of what fits, in the order of the items.

        Args:
            items: Best first.
            budget: Most tokens of the whole.
            stops: Whether the first misfit ends it; else misfits are skipped.
        """
        taken: list[tuple[StoredDocument, Span]] = []
        room = budget
        for item in items:
            is_whole = item.core == item.span
            if is_whole and not stops and self._cost(item.document, item.span) > room:
                continue
            span = _uncovered(item, [one for doc, one in taken if doc is item.document])
            if span is None:
                continue
            cost = self._cost(item.document, span)
            if cost <= room:
                taken.append((item.document, span))
                room -= cost
            elif stops:
                break
        shown = self._rendered(taken)
        while shown.tokens > budget:
            taken.pop()
            shown = self._rendered(taken)
        return shown

    def _cost(self, document: StoredDocument, span: Span) -> int:
        key = (document.doc_id, span)
        if key not in self._counts:
            kept = trimmed(span, document.text) or span
            self._counts[key] = self._count(f"{_block(1, document, kept)}{JOINT}")
        return self._counts[key]

    def _rendered(self, taken: Sequence[tuple[StoredDocument, Span]]) -> Shown:
        passages: list[ShownPassage] = []
        text = ""
        for number, (document, span) in enumerate(taken, start=1):
            text += JOINT if text else ""
            block = _block(number, document, span)
            place = Span(len(text), len(text) + len(block))
            passages.append(ShownPassage(place, ((document.doc_id, span),)))
            text += block
        return Shown.of(passages, text, self._count(text) if text else 0)


def _block(number: int, document: StoredDocument, span: Span) -> str:
    return f"[{number}]\n{span.slice(document.text)}"


def _uncovered(item: Item, shown: Sequence[Span]) -> Span | None:
    """
    Return the item without what is shown on either side of its core; None where the core is shown.
    """
    if any(one.overlaps(item.core) for one in shown):
        return None
    start = max((one.end for one in shown if one.end <= item.core.start), default=0)
    end = min((one.start for one in shown if one.start >= item.core.end), default=item.span.end)
    span = Span(max(start, item.span.start), min(end, item.span.end))
    return trimmed(span, item.document.text)
