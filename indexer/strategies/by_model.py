"""
`llm`: a model that writes proposes borders; those that do not hold are refused and counted.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Sequence

from adapters.chat import Asked
from assembler.span import Span
from indexer.borders import letter_start
from indexer.strategies.asking import answers_of
from indexer.strategies.fit import pieces_of, prefix_of
from indexer.strategies.pieces import Cut, CutPart, SourceToCut, Values
from indexer.strategies.recursive import levels_of, split_recursively

PROMPT_VERSION = "1"
"""Changes with the prompt: its answers are then asked for anew."""

SYSTEM = (
    "You cut a text into passages for a search engine. Every passage should be about one thing and "
    "be understood alone. Answer with a JSON array of strings and nothing else: for every passage "
    "but the first, in order, its first eight words, copied exactly as they stand in the text. "
    "Answer [] where the text is about one thing."
)
TAKEN = "borders as the model proposed them"
NO_LIST = "answers of the model refused: no JSON array"
MISSING = "sections cut by `recursive`, for want of an answer"
NO_WORDS = "borders of the model refused: no words"
NOT_THERE = "borders of the model refused: not in the text"
OUT_OF_ORDER = "borders of the model refused: out of order"
TOO_SHORT = "borders of the model refused: too short a chunk"
TOO_LONG = "chunks of the model cut further: longer than `size`"


def cut_by_model(source: SourceToCut, values: Values) -> Cut:
    """
    Return sections by headings and paragraphs; one that is longer than `size` is cut where the
    model says, and where it says nothing that holds, recursively.

    Raises:
        InvalidRequest: There is no endpoint to ask.
        ChatUnavailable: It does not answer, and nothing may be left out.
    """
    size = min(int(values["size"]), source.room_tokens)
    least = min(int(values["least"]), size)
    by_headings = bool(values["headings"])
    cutter = source.cutter(size)
    parts = source.sections(cutter, int(values["section_tokens"]), by_headings=by_headings)
    length = source.ruler.tokens
    long = [part.span for part in parts if length(part.span) > size]
    asked = [_asked(source, span, size) for span in long]
    said = dict(zip(long, answers_of(source, str(values["model"]), asked), strict=True))
    counts: Counter[str] = Counter()
    levels = levels_of(source.text, cutter)
    cut: list[CutPart] = []
    for part in parts:
        spans: list[Span] = []
        for span in _proposed(source, part.span, said, least, counts):
            if length(span) <= size:
                spans.append(span)
                continue
            counts[TOO_LONG] += part.span != span
            spans += split_recursively(span, levels, size=size, overlap=0, length=length)
        prefix = prefix_of(source, part.heading_path, size)
        cut.append(CutPart(part, pieces_of(source, cutter, spans, prefix=prefix, size=size)))
    return Cut(tuple(cut), cutter, counts=+counts)


def _asked(source: SourceToCut, span: Span, size: int) -> Asked:
    return Asked(
        key=f"borders/{PROMPT_VERSION}/{source.content_sha256}/{span.start}-{span.end}/{size}",
        source_id=source.source_id,
        system=SYSTEM,
        prompt=f"A passage has at most {size} tokens.\n<text>\n{span.slice(source.text)}\n</text>",
    )


def _proposed(
    source: SourceToCut,
    span: Span,
    said: dict[Span, str | None],
    least: int,
    counts: Counter[str],
) -> list[Span]:
    """
    Return a section in the pieces that the model proposes; whole where it was not asked.
    """
    if span not in said:
        return [span]
    answer = said[span]
    if answer is None:
        counts[MISSING] += 1
        return [span]
    beginnings = _beginnings(answer)
    if beginnings is None:
        counts[NO_LIST] += 1
        return [span]
    cuts = [span.start]
    for words in beginnings:
        problem, place = _placed(source, span, cuts[-1], words, least)
        counts[problem] += 1
        if problem == TAKEN:
            cuts.append(place)
    return [Span(start, end) for start, end in itertools.pairwise((*cuts, span.end))]


def _placed(
    source: SourceToCut, span: Span, last: int, words: object, least: int
) -> tuple[str, int]:
    """
    Return what became of a proposed border, and where it is.
    """
    if not isinstance(words, str) or not words.strip():
        return NO_WORDS, last
    inside = words.strip()
    place = source.text.find(inside, last + 1, span.end)
    if place < 0 or letter_start(source.text, place) <= last:
        is_before = source.text.find(inside, span.start, span.end) >= 0
        return (OUT_OF_ORDER if is_before else NOT_THERE), last
    place = letter_start(source.text, place)
    sides = (Span(last, place), Span(place, span.end))
    if min(source.ruler.tokens(side) for side in sides) < least:
        return TOO_SHORT, last
    return TAKEN, place


def _beginnings(answer: str) -> Sequence[object] | None:
    """
    Return the array that an answer has, also between fences or sentences; None where it has none.
    """
    start, end = answer.find("["), answer.rfind("]")
    try:
        found = json.loads(answer[start : end + 1]) if 0 <= start < end else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None
