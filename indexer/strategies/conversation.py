"""
`conversation`: whole turns, as many together as fit; a long turn's further pieces name its speaker.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assembler.span import Span
from indexer.cut import Cutter
from indexer.sections import Part
from indexer.strategies.fit import PREFIX_SHARE, pieces_of
from indexer.strategies.pieces import Cut, CutPart, Piece, SourceToCut, Values
from indexer.strategies.structure import cut_by_structure
from indexer.strategies.turns import Turn, turns_of


def cut_by_turns(source: SourceToCut, values: Values, fallback: Values) -> Cut:
    """
    Return sections of whole turns, and chunks of whole turns inside them.

    Args:
        source: The text.
        values: Settings.
        fallback: Settings of `structure`, which cuts a text that is no conversation.
    """
    turns = turns_of(source.text)
    if not turns:
        cut = cut_by_structure(source, fallback)
        return Cut(cut.parts, cut.cutter, "structure: no four turns of two speakers")
    size = min(int(values["size"]), source.room_tokens)
    most = max(int(values["section_tokens"]), size)
    cutter = source.cutter(size)
    parts: list[CutPart] = []
    for group in _grouped(source, turns, most, 0):
        for number, span in enumerate(cutter.cut(_span(group), most)):
            pieces = [
                piece
                for together in _grouped(source, _inside(group, span), size, int(values["turns"]))
                for piece in _pieces(source, cutter, together, size, is_begun=number > 0)
            ]
            parts.append(CutPart(Part(span, ()), tuple(pieces)))
    return Cut(tuple(parts), cutter, "conversation: turns of speakers")


def _pieces(
    source: SourceToCut, cutter: Cutter, turns: Sequence[Turn], size: int, *, is_begun: bool
) -> list[Piece]:
    """
    Return the turns as one piece, or as several that name the speaker from the second on.

    Args:
        source: The text.
        cutter: Cuts it.
        turns: Together at most `size` long, or one turn.
        size: Tokens of a piece.
        is_begun: The first turn began in the section before.
    """
    label = _label_prefix(source, turns[0].label, size)
    return [
        piece
        for number, span in enumerate(cutter.cut(_span(turns), size))
        for piece in pieces_of(
            source, cutter, [span], prefix=label if number or is_begun else "", size=size
        )
    ]


def _inside(turns: Sequence[Turn], span: Span) -> list[Turn]:
    """
    Return what of the turns lies in a range.
    """
    shared = ((turn, turn.span.intersection(span)) for turn in turns)
    return [Turn(part, turn.label) for turn, part in shared if part is not None]


def _grouped(
    source: SourceToCut, turns: Sequence[Turn], most_tokens: int, most_turns: int
) -> Iterator[list[Turn]]:
    """
    Yield neighbouring turns together up to so many tokens, and so many turns where that is not 0.
    """
    group: list[Turn] = []
    for turn in turns:
        if group:
            whole = Span(group[0].span.start, turn.span.end)
            is_full = bool(most_turns) and len(group) >= most_turns
            if is_full or source.ruler.tokens(whole) > most_tokens:
                yield group
                group = []
        group.append(turn)
    yield group


def _span(turns: Sequence[Turn]) -> Span:
    return Span(turns[0].span.start, turns[-1].span.end)


def _label_prefix(source: SourceToCut, label: str, size: int) -> str:
    room = min(source.room_tokens - size, source.most_tokens // PREFIX_SHARE)
    fits = source.embedder.count(label) - source.embedder.count("") <= room
    return label if fits else ""
