"""
What a peer returns, and how its items are packed into a context under a budget.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from assembler.span import Span
from evaluation.measures import Shown
from evaluation.question_set import Document

CANDIDATES = 50
"""How many items every peer's own search gives it, before it merges or widens them."""

Vector: TypeAlias = Sequence[float]
CountTokens: TypeAlias = Callable[[str], int]


class Embedding(Protocol):
    """
    The model that all peers share, and the tokens of the budget.
    """

    def documents(self, texts: Sequence[str]) -> list[Vector]:
        """
        Return one vector per text.
        """

    def query(self, text: str) -> Vector:
        """
        Return the vector of a question.
        """

    def count_tokens(self, text: str) -> int:
        """
        Return the tokens of a text as the budget counts them.
        """


@dataclass(frozen=True, slots=True)
class Item:
    """
    One text that a peer returns.

    Attributes:
        doc_id: The document it comes from.
        span: Where it stands there; None where the library changed it beyond recognition.
        text: The text as the library gives it.
    """

    doc_id: str
    span: Span | None
    text: str


class Retrieve(Protocol):
    """
    A peer that has indexed its documents.
    """

    def __call__(self, question: str, limit: int = CANDIDATES) -> list[Item]:
        """
        Return items in the peer's own order.

        Args:
            question: What is asked.
            limit: How many candidates its search takes.
        """


Builder: TypeAlias = Callable[[Sequence[Document], Embedding], Retrieve]


def packed(items: Sequence[Item], budget: int, count_tokens: CountTokens) -> Shown:
    """
    Return the context of the first items, until the next one no longer fits.

    A first item that is larger than the budget is cut to it, for an empty context would say
    nothing about its ranking. Only the texts of the items cost tokens: what a peer would write
    between them is not counted.
    """
    taken: list[Item] = []
    tokens = 0
    for item in items:
        price = count_tokens(item.text)
        if tokens + price > budget:
            break
        tokens += price
        taken.append(item)
    if items and not taken:
        first = cut(items[0], budget, count_tokens)
        taken, tokens = [first], count_tokens(first.text)
    ranges = tuple((item.doc_id, item.span) for item in taken if item.span is not None)
    return Shown(ranges, "\n\n".join(item.text for item in taken), tokens)


def cut(item: Item, budget: int, count_tokens: CountTokens) -> Item:
    """
    Return the beginning of an item that fits the budget.

    Where the library's text is not the document's own letter by letter, the end of the range is
    as exact as the white space that it changed.
    """
    fits, too_long = 0, len(item.text) + 1
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if count_tokens(item.text[:middle]) <= budget:
            fits = middle
        else:
            too_long = middle
    span = item.span
    if span is not None:
        span = Span(span.start, min(span.start + fits, span.end)) if fits else None
    return Item(item.doc_id, span, item.text[:fits])
