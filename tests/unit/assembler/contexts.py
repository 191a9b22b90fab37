"""
What tests read of a context.
"""

from __future__ import annotations

from assembler.report import AssembledContext, Disposition


def shown(context: AssembledContext) -> set[str]:
    return {source.version.source_id for passage in context.passages for source in passage.sources}


def fates(context: AssembledContext) -> set[Disposition]:
    return {one.disposition for one in context.candidates}
