"""
The order of passages in the context.
"""

from __future__ import annotations

from collections.abc import Sequence

from assembler.passage import Passage
from assembler.request import Order


def order(passages: Sequence[Passage], how: Order) -> tuple[Passage, ...]:
    """
    Return the passages in the asked order; every tie is decided by source and position.

    RELEVANCE is best first. DOCUMENT is grouped by source, in source order, whatever the scores:
    the stable choice for prompt caches. EDGES puts rank 1 first, rank 2 last and the weakest in the
    middle, for every number of passages (Liu et al., "Lost in the Middle", TACL 2024).
    """
    if how is Order.DOCUMENT:
        return tuple(sorted(passages, key=_place))
    by_rank = sorted(passages, key=lambda passage: (passage.rank, _place(passage)))
    if how is Order.RELEVANCE:
        return tuple(by_rank)
    return (*by_rank[0::2], *reversed(by_rank[1::2]))


def _place(passage: Passage) -> tuple[int, str, str, str, str, str, int]:
    version = passage.version
    return (
        passage.target,
        version.index,
        version.tenant,
        version.source_id,
        version.version,
        version.content_sha256,
        passage.spans[0].start,
    )
