"""
`auto`: takes the strategy that suits the kind of text, and says which and why.
"""

from __future__ import annotations

from indexer.sources import is_code
from indexer.strategies.code import cut_by_syntax
from indexer.strategies.conversation import cut_by_turns
from indexer.strategies.grammars import grammar_of
from indexer.strategies.pieces import STRUCTURED, Cut, SourceToCut, Values
from indexer.strategies.structure import cut_by_structure
from indexer.strategies.turns import turns_of


def cut_automatically(source: SourceToCut, values: Values, fallback: Values) -> Cut:
    """
    Return the text cut as its media type and structure ask for.

    Args:
        source: The text.
        values: Settings of `code` and `conversation`.
        fallback: Settings of `structure`.
    """
    if is_code(source.media_type) and grammar_of(source.name) is not None:
        return cut_by_syntax(source, values, fallback)
    if not is_code(source.media_type) and turns_of(source.text):
        return cut_by_turns(source, {**values, "turns": 0}, fallback)
    cut = cut_by_structure(source, fallback)
    return Cut(cut.parts, cut.cutter, f"structure: {_kind(source)}")


def _kind(source: SourceToCut) -> str:
    if is_code(source.media_type):
        return "code without a grammar for its suffix"
    if source.media_type not in STRUCTURED:
        return "text without markup"
    return "headings" if source.structure.headings else "markup without headings"
