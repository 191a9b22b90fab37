"""
Pieces whose whole embedding input is within the model's limit, counted, not estimated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assembler.span import Span
from indexer.cut import Cutter
from indexer.strategies.pieces import Piece, SourceToCut
from indexer.strategies.prefix import heading_prefix, shortened, with_prefix

PREFIX_SHARE = 4
"""What stands before a text takes at most one part in so many of the model's tokens."""


def fitted(
    source: SourceToCut,
    cutter: Cutter,
    spans: Iterable[Span],
    *,
    prefix: str,
    aim: int,
    most: int,
) -> list[Span]:
    """
    Return the ranges, those cut further whose embedding input has more than `most` tokens.

    Args:
        source: The text.
        cutter: Cuts it.
        spans: Pieces of it.
        prefix: Stands before each in what is embedded.
        aim: Tokens that the pieces were cut to; what does not fit is cut to half as many, and so
            on.
        most: Tokens of an embedding input, special tokens included.
    """
    fitting: list[Span] = []
    for span in spans:
        if source.embedder.count(with_prefix(prefix, span.slice(source.text))) <= most:
            fitting.append(span)
        elif aim > 1 and span.length > 1:
            fitting += fitted(
                source,
                cutter,
                cutter.cut(span, aim // 2),
                prefix=prefix,
                aim=aim // 2,
                most=most,
            )
        else:
            fitting += [Span(offset, offset + 1) for offset in range(span.start, span.end)]
    return fitting


def pieces_of(
    source: SourceToCut, cutter: Cutter, spans: Sequence[Span], *, prefix: str, size: int
) -> tuple[Piece, ...]:
    """
    Return chunks of the ranges, in order, none above the model's maximum or inside another.

    Args:
        source: The text.
        cutter: Cuts what is too long.
        spans: In order; they may overlap.
        prefix: Stands before each in what is embedded.
        size: Tokens that the ranges were cut to.
    """
    most = source.most_tokens
    fitting = fitted(source, cutter, spans, prefix=prefix, aim=size, most=most)
    kept: list[Span] = []
    for span in sorted(set(fitting), key=lambda one: (one.start, -one.end)):
        if not kept or span.end > kept[-1].end:
            kept.append(span)
    return tuple(Piece(span, prefix) for span in kept)


def prefix_of(source: SourceToCut, path: tuple[str, ...], size: int) -> str:
    """
    Return the heading path as far as there is room beside a text of so many tokens.
    """
    room = min(source.room_tokens - size, source.most_tokens // PREFIX_SHARE)
    return heading_prefix(shortened(path, source.embedder, room)) if path and room > 0 else ""
