"""
What strategies that cut by meaning ask of the embedding model.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from assembler.span import Span
from indexer.cut import Cutter
from indexer.strategies.pieces import SourceToCut

Floats: TypeAlias = npt.NDArray[np.float64]

DIGITS = 6
"""Decimal places that similarities are compared by: what a batch changes is smaller."""


def sentences_of(source: SourceToCut, cutter: Cutter, span: Span) -> list[Span]:
    """
    Return the sentences of a range, overlong ones in pieces; together they are the range.
    """
    inside = (border.offset for border in cutter.within(span))
    cuts = [span.start, *inside, span.end]
    spans = [Span(start, end) for start, end in itertools.pairwise(cuts)]
    return _without_blank(source.text, spans)


def vectors_of(source: SourceToCut, spans: Sequence[Span]) -> Floats:
    """
    Return one vector of length 1 per range, in rows; of an overlong one, of what the model takes.
    """
    texts = [_within_limit(source, span.slice(source.text)) for span in spans]
    return np.asarray(source.embedder.embed_documents(texts), dtype=np.float64)


def neighbour_similarities(vectors: Floats) -> Floats:
    """
    Return the cosine of each row with the next.
    """
    cosines: Floats = np.round(np.sum(vectors[:-1] * vectors[1:], axis=1), DIGITS)
    return cosines


def _without_blank(text: str, spans: Sequence[Span]) -> list[Span]:
    """
    Return the ranges with those of white space alone joined to the one before, or to the next.
    """
    joined: list[Span] = []
    for span in spans:
        if joined and (not span.slice(text).strip() or not joined[-1].slice(text).strip()):
            joined[-1] = joined[-1].union(span)
        else:
            joined.append(span)
    return joined


def _within_limit(source: SourceToCut, text: str) -> str:
    """
    Return as much of the text's beginning as the model takes whole.
    """
    while len(text) > 1 and source.embedder.count(text) > source.most_tokens:
        text = text[: len(text) // 2]
    return text
