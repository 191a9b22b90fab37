"""
Vectors of ranges of a text from one pass over the whole: token vectors, pooled per range.

A text that is longer than the model's maximum is read in windows that overlap; a token's vector is
of the window in which it stands further from the edge.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tokenizers import Encoding

Floats = npt.NDArray[np.float32]
WINDOWS_TOGETHER = 8


@dataclass(frozen=True, slots=True)
class Tokens:
    """
    A text as the model reads it.

    Attributes:
        lead: Ids before the text: special ones and the model's prefix.
        ids: Ids of the text.
        tail: Special ids after it.
        range_of: For each id of the text the range that it belongs to, -1 for none.
    """

    lead: list[int]
    ids: list[int]
    tail: list[int]
    range_of: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Reading:
    """
    A window of tokens `[start, end)`, whose vectors count for `[first, last)`.
    """

    start: int
    end: int
    first: int
    last: int


def readings(tokens: int, room: int, overlap: int) -> list[Reading]:
    """
    Return the windows of at most `room` tokens over so many; what they count for partitions them.

    Args:
        tokens: Of the text.
        room: Most of a window.
        overlap: Shared by two windows, half of it read for each; at most half of `room`.
    """
    overlap = min(overlap, room // 2)
    starts = [0]
    while starts[-1] + room < tokens:
        starts.append(starts[-1] + room - overlap)
    edges = [0, *(start + overlap // 2 for start in starts[1:]), tokens]
    return [
        Reading(start, min(start + room, tokens), edges[at], edges[at + 1])
        for at, start in enumerate(starts)
    ]


def tokens_of(
    text: str,
    spans: Sequence[tuple[int, int]],
    prefix: str,
    encode: Callable[[str], Encoding],
) -> Tokens:
    """
    Return the tokens of a text in NFC, each with the range in which it ends.

    Args:
        text: As ranges count in it.
        spans: Half-open ranges of code points, in order, without overlap.
        prefix: Stands before the text.
        encode: The model's tokenizer, special tokens included.
    """
    composed, places = _composed(text, spans)
    encoding = encode(prefix + composed)
    # each of these is made anew whenever it is asked for
    ids, offsets, special = encoding.ids, encoding.offsets, encoding.special_tokens_mask
    inner = [at for at, is_special in enumerate(special) if not is_special]
    of_text = [at for at in inner if offsets[at][1] > len(prefix)]
    first = of_text[0] if of_text else len(special)
    end = of_text[-1] + 1 if of_text else len(special)
    starts = np.array([start for start, _ in places], dtype=np.int64)
    ends = np.array([end for _, end in places], dtype=np.int64)
    letters = np.array([offsets[at][1] for at in of_text], dtype=np.int64)
    letters -= len(prefix) + 1  # the last letter of each token
    range_of = np.searchsorted(starts, letters, side="right").astype(np.int64) - 1
    outside = (range_of < 0) | (letters >= ends[range_of])
    return Tokens(
        lead=ids[:first],
        ids=[ids[at] for at in of_text],
        tail=ids[end:],
        range_of=np.where(outside, -1, range_of),
    )


def pooled_ranges(
    tokens: Tokens,
    count: int,
    *,
    room: int,
    overlap: int,
    hidden: Callable[[Sequence[Sequence[int]]], Floats],
    dimension: int,
) -> Floats:
    """
    Return the mean of the token vectors of each range, in rows, of length 1; zeros for a range
    without a token. The tokens before and after the text count to the ranges at its ends.

    Args:
        tokens: Of the text.
        count: Of ranges.
        room: Most tokens of a window, those before and after the text left out.
        overlap: Tokens that two windows share.
        hidden: Token vectors of batches of windows, by window and place; shorter ones are padded.
        dimension: Of a vector.
    """
    sums = np.zeros((count + 1, dimension), dtype=np.float64)  # the last row takes what is in none
    numbers = np.zeros(count + 1, dtype=np.int64)
    windows = readings(len(tokens.ids), room, overlap)
    lead = len(tokens.lead)
    for batch in _batches(windows):
        rows = [[*tokens.lead, *tokens.ids[one.start : one.end], *tokens.tail] for one in batch]
        for one, row, vectors in zip(batch, rows, hidden(rows), strict=True):
            shift = lead - one.start
            inside = tokens.range_of[one.first : one.last]
            _add(sums, numbers, inside, vectors[one.first + shift : one.last + shift])
            if one.start == 0:
                _add(sums, numbers, np.full(lead, inside[0]), vectors[:lead])
            if one.end == len(tokens.ids):
                after = len(row) - len(tokens.tail)
                _add(
                    sums,
                    numbers,
                    np.full(len(tokens.tail), inside[-1]),
                    vectors[after : len(row)],
                )
    means = sums[:count] / np.maximum(numbers[:count, None], 1)
    lengths = np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
    return np.asarray(means / lengths, dtype=np.float32)


def _add(
    sums: npt.NDArray[np.float64],
    numbers: npt.NDArray[np.int64],
    ranges: npt.NDArray[np.int64],
    vectors: Floats,
) -> None:
    np.add.at(sums, ranges, vectors)
    np.add.at(numbers, ranges, 1)


def _batches(windows: Sequence[Reading]) -> Iterator[Sequence[Reading]]:
    for start in range(0, len(windows), WINDOWS_TOGETHER):
        yield windows[start : start + WINDOWS_TOGETHER]


def _composed(text: str, spans: Sequence[tuple[int, int]]) -> tuple[str, list[tuple[int, int]]]:
    """
    Return the text in NFC, piece by piece, and where the ranges stand in it.
    """
    parts: list[str] = []
    places: list[tuple[int, int]] = []
    done, length = 0, 0
    for start, end in spans:
        before = unicodedata.normalize("NFC", text[done:start])
        inside = unicodedata.normalize("NFC", text[start:end])
        places.append((length + len(before), length + len(before) + len(inside)))
        parts += (before, inside)
        length += len(before) + len(inside)
        done = end
    return "".join((*parts, unicodedata.normalize("NFC", text[done:]))), places
