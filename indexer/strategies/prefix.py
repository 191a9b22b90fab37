"""
What stands before a chunk in its embedding input: headings, as far as there is room.
"""

from __future__ import annotations

from collections.abc import Sequence

from adapters.document_embedder import DocumentEmbedder

HEADING_JOINT = " > "


def with_prefix(prefix: str, text: str) -> str:
    """
    Return the embedding input of a text.
    """
    return f"{prefix}\n{text}" if prefix else text


def heading_prefix(path: Sequence[str]) -> str:
    """
    Return a heading path on one line.
    """
    return HEADING_JOINT.join(path)


def shortened(path: tuple[str, ...], embedder: DocumentEmbedder, most: int) -> tuple[str, ...]:
    """
    Return the innermost headings that fit; a single one that does not fit is cut at a word.
    """
    room = most + embedder.count("")
    while len(path) > 1 and embedder.count(_input(path)) > room:
        path = path[1:]
    if path and embedder.count(_input(path)) > room:
        words = path[0][: most * 8].split(" ")
        while len(words) > 1 and embedder.count(_input((" ".join(words),))) > room:
            words = words[: max(len(words) * 3 // 4, 1)]
        path = (" ".join(words),) if embedder.count(_input((" ".join(words),))) <= room else ()
    return path


def _input(path: Sequence[str]) -> str:
    return with_prefix(heading_prefix(path), "")
