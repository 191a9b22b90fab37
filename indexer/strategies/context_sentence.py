"""
A sentence of context before each chunk, written by a model, in what is embedded alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from adapters.chat import Asked
from assembler.span import Span
from indexer.strategies.asking import answers_of
from indexer.strategies.pieces import Cut, Piece, SourceToCut
from indexer.strategies.prefix import with_prefix

PROMPT_VERSION = "1"
"""Changes with the prompt: its answers are then asked for anew."""

AROUND_CHARS = 8_000
"""Of the document before and after a chunk that the model reads."""

SYSTEM = (
    "You help a search engine. You get a part of a document and one passage of it. Write one short "
    "sentence, in the language of the document, that says where in the document the passage stands "
    "and what its pronouns and abbreviations refer to, as far as the document says so. Add nothing "
    "that the document does not say. Answer with that sentence alone."
)
WRITTEN = "chunks embedded with a sentence of context"
SHORTENED = "sentences of context shortened to the model's maximum"
MISSING = "chunks embedded without a sentence of context, for want of an answer or of room"


def with_sentences(source: SourceToCut, cut: Cut, model: str) -> Cut:
    """
    Return the text cut alike, each chunk with a model's sentence before what is embedded of it.

    Args:
        source: The text.
        cut: As a strategy cut it.
        model: Name of the model at the endpoint.

    Raises:
        InvalidRequest: There is no endpoint to ask.
        ChatUnavailable: It does not answer, and nothing may be left out.
    """
    pieces = [piece for part in cut.parts for piece in part.pieces]
    said = answers_of(source, model, [_asked(source, piece.span) for piece in pieces])
    counts: Counter[str] = Counter(cut.counts)
    told = iter([_told(source, *pair, counts) for pair in zip(pieces, said, strict=True)])
    parts = tuple(
        replace(part, pieces=tuple(next(told) for _ in part.pieces)) for part in cut.parts
    )
    return replace(cut, parts=parts, counts=+counts)


def _asked(source: SourceToCut, span: Span) -> Asked:
    around = Span(max(span.start - AROUND_CHARS, 0), min(span.end + AROUND_CHARS, len(source.text)))
    return Asked(
        key=f"context/{PROMPT_VERSION}/{source.content_sha256}/{span.start}-{span.end}",
        source_id=source.source_id,
        system=SYSTEM,
        prompt=f"<document>\n{around.slice(source.text)}\n</document>\n"
        f"<passage>\n{span.slice(source.text)}\n</passage>",
    )


def _told(source: SourceToCut, piece: Piece, said: str | None, counts: Counter[str]) -> Piece:
    """
    Return the piece with as many of the sentence's words as there is room for.
    """
    words = (said or "").split()
    text = with_prefix(piece.prefix, piece.span.slice(source.text))
    total = len(words)
    while words and source.embedder.count(with_prefix(" ".join(words), text)) > source.most_tokens:
        words.pop()
    if not words:
        counts[MISSING] += 1
        return piece
    counts[WRITTEN] += 1
    counts[SHORTENED] += len(words) < total
    sentence = " ".join(words)
    return replace(piece, prefix=f"{sentence}\n{piece.prefix}" if piece.prefix else sentence)
