"""
The exact arithmetic of token windows: how many there are, where they lie, what they repeat.

Windows of C tokens that share O with the one before start every C - O tokens; the last one ends
with the text and is not padded, and none begins after a window that reached the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assembler.errors import InvalidRequest

BITS = {"float32": 32, "float16": 16, "int8": 8, "binary": 1}
"""Bits of one value of a vector, by number format."""


@dataclass(frozen=True, slots=True)
class Windows:
    """
    The windows over a text of so many tokens.

    Attributes:
        tokens: Tokens of the text.
        size: Tokens of a window; the last may have fewer.
        overlap: Tokens that a window shares with the one before.

    Raises:
        InvalidRequest: Not 0 <= overlap < size, or a number of tokens below 0.
    """

    tokens: int
    size: int
    overlap: int = 0

    def __post_init__(self) -> None:
        """
        Refuse windows that are not there.
        """
        if self.tokens < 0:
            raise InvalidRequest("tokens", f"must be at least 0, got {self.tokens}")
        if self.size < 1:
            raise InvalidRequest("size", f"must be at least 1, got {self.size}")
        if not 0 <= self.overlap < self.size:
            raise InvalidRequest(
                "overlap",
                f"must be at least 0 and below the size of {self.size}, got {self.overlap}; a "
                "window that shares all its tokens never comes further",
            )

    @property
    def step(self) -> int:
        """
        Return the tokens between the starts of two windows.
        """
        return self.size - self.overlap

    @property
    def count(self) -> int:
        """
        Return the number of windows.
        """
        if not self.tokens:
            return 0
        return 1 - (-max(0, self.tokens - self.size) // self.step)

    @property
    def occurrences(self) -> int:
        """
        Return the tokens of all windows together.
        """
        return self.tokens + self.overlap * max(0, self.count - 1)

    @property
    def duplication_ratio(self) -> float:
        """
        Return the distinct tokens over all: 1 where nothing stands twice.
        """
        return self.tokens / self.occurrences if self.tokens else 1.0

    @property
    def multiplication(self) -> float:
        """
        Return all tokens over the distinct ones: what embedding costs against no overlap.
        """
        return self.occurrences / self.tokens if self.tokens else 1.0

    def ranges(self) -> Iterator[tuple[int, int]]:
        """
        Yield the half-open range of tokens of each window, in order.
        """
        for number in range(self.count):
            start = number * self.step
            yield start, min(start + self.size, self.tokens)

    def vector_bytes(self, dimension: int) -> dict[str, int]:
        """
        Return the bytes of one vector of so many values per window, by number format.

        Raises:
            InvalidRequest: A dimension below 1.
        """
        if dimension < 1:
            raise InvalidRequest("dimension", f"must be at least 1, got {dimension}")
        return {name: self.count * -(-dimension * bits // 8) for name, bits in BITS.items()}
