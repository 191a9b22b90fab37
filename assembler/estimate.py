"""
Part counts: what a step is expected to cost. They guide the search; a count of the whole decides.
"""

from __future__ import annotations

from collections.abc import Callable

from assembler.merge import Chosen, carried
from assembler.parent import Parent
from assembler.render import frame_of, printed_heading
from assembler.request import Layout
from assembler.span import Span, union_of
from assembler.style import Style


class PartCounts:
    """
    Counts parts of a context with the caller's tokenizer, each text once.
    """

    def __init__(self, count: Callable[[str], int], layout: Layout) -> None:
        self._count = count
        self._layout = layout
        self._known: dict[str, int] = {}
        self._overheads: dict[str, int] = {}
        self._gap = self.of(Style().gap_in_line)

    def of(self, text: str) -> int:
        """
        Return the tokens of a text counted alone.
        """
        tokens = self._known.get(text)
        if tokens is None:
            tokens = self._known[text] = self._count(text) if text else 0
        return tokens

    def overhead(self, parent: Parent, span: Span) -> int:
        """
        Return the tokens of the marker, heading and separator of a block that begins with a span.
        """
        shown = parent.visible(span)
        heading = printed_heading(parent.section, shown[1] if shown else "", self._layout)
        tokens = self._overheads.get(heading)
        if tokens is None:
            opening, closing = frame_of(heading, self._layout)
            tokens = self._overheads[heading] = self.of(opening) + self.of(closing)
        return tokens

    def cost(self, parent: Parent, span: Span, home: Chosen | None) -> int:
        """
        Return the tokens that showing one more span of a section is expected to add.
        """
        if home is None or not home.joined:
            spans = union_of((span, *carried(parent, (span,))))
            return (
                self.overhead(parent, spans[0])
                + sum(self._text(parent, one) for one in spans)
                + self._gap * (len(spans) - 1)
            )
        after_spans = union_of((*home.spans, span))
        after = union_of((*after_spans, *carried(parent, after_spans)))
        fresh = sum(self._text(parent, one) for one in _minus(after, home.joined))
        return max(fresh + self._gap * (len(after) - len(home.joined)), 0)

    def exceeds(self, parent: Parent, span: Span, limit: int) -> bool:
        """
        Return whether a span alone costs more than a limit; it is counted only where it can.
        """
        spans = union_of((span, *carried(parent, (span,))))
        frame = self.overhead(parent, spans[0]) + self._gap * (len(spans) - 1)
        texts = (parent.section.slice(one).encode("utf-8", "surrogatepass") for one in spans)
        if frame + sum(map(len, texts)) <= limit:  # no token is less than a byte
            return False
        return self.cost(parent, span, None) > limit

    def _text(self, parent: Parent, span: Span) -> int:
        shown = parent.visible(span)
        return 0 if shown is None else self.of(shown[1])


def _minus(spans: tuple[Span, ...], taken: tuple[Span, ...]) -> list[Span]:
    """
    Return what of the joined spans is not taken, in order.
    """
    left: list[Span] = []
    for span in spans:
        start = span.start
        for other in taken:
            if other.end <= start or other.start >= span.end:
                continue
            if other.start > start:
                left.append(Span(start, other.start))
            start = max(start, other.end)
        if start < span.end:
            left.append(Span(start, span.end))
    return left
