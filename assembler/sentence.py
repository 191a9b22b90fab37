"""
The best sentence of a chunk, by the words of the queries.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from assembler.parent import Parent
from assembler.span import Span

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Wanted:
    """
    What the queries ask for, and the places that searches found, by which a word's weight is told.
    """

    queries: Sequence[str]
    places: Sequence[tuple[Parent, Span]]

    @cached_property
    def weights(self) -> dict[str, float]:
        """
        Return the queries' words with what each says of a text: little where most have it.

        The weight is the inverse document frequency (Spaerck Jones, 1972) over the texts
        that were found; a word also counts as the beginning or a part of a longer one.
        """
        folded = [parent.section.slice(span).casefold() for parent, span in self.places]
        words = sorted({word for query in self.queries for word in _WORD.findall(query.casefold())})
        return {
            word: math.log(1.0 + (len(folded) + 1) / (1 + sum([word in text for text in folded])))
            for word in words
        }

    def best_sentence(self, parent: Parent, within: Span) -> Span | None:
        """
        Return the whole sentence of a span that has most of what is asked for, the first of equals.

        None where the span holds no whole sentence with text in it, or nothing was asked.
        """
        if not self.queries:
            return None
        best: Span | None = None
        most = -1.0
        for span in parent.sentences(within):
            text = parent.section.slice(span).casefold()
            value = round(sum(weight for word, weight in self.weights.items() if word in text), 9)
            if value > most and not text.isspace():
                best, most = span, value
        return best


NOTHING_WANTED = Wanted((), ())
"""For evidence that is never shown as a sentence."""
