"""
What a context of the product shows, in the terms that every system is measured in.
"""

from __future__ import annotations

from collections.abc import Callable

from assembler.ports import TokenCounter
from assembler.report import AssembledContext, CitedSource
from evaluation.measures import Place, Shown, ShownPassage

DocumentName = Callable[[str, str], str]
"""Names a document by its source id and version."""


def shown_of(context: AssembledContext, name: DocumentName, counter: TokenCounter) -> Shown:
    """
    Return what a context shows, its tokens counted again.
    """
    passages = [
        ShownPassage(
            block=one.block,
            ranges=_places(one.sources[0], name),
            echoes=tuple(place for source in one.sources[1:] for place in _places(source, name)),
        )
        for one in context.passages
    ]
    recounted = counter.count(context.context) if context.context else 0
    return Shown.of(passages, context.context, recounted)


def _places(source: CitedSource, name: DocumentName) -> tuple[Place, ...]:
    doc_id = name(source.version.source_id, source.version.version)
    return tuple((doc_id, placed.source) for placed in source.spans)
