"""
PDF to the text of its pages, without the lines that repeat on them.
"""

from __future__ import annotations

import io
import logging
import re
from collections import Counter
from collections.abc import Sequence

from indexer.formats.converted import Converted, NotConverted, library

EDGE_LINES = 2
"""Lines at the top and bottom of a page that may be a running head or foot."""

LEAST_LINES = 6
"""Shorter pages are left as they are: their few lines may be alike and still be content."""

LEAST_REPEATS = 3
REPEATED_SHARE = 0.5
MOST_PAGES = 2000
"""Of longer files no page starts are kept: each section carries them."""

PAGE_JOINT = "\n\n"
_NUMBER = re.compile(r"\d+")


def pdf_to_text(content: bytes) -> Converted:
    """
    Return the pages' text; `page_starts` says at which offset each page begins.

    Raises:
        NotConverted: It is protected or damaged, or has no text.
    """
    pypdf = library("pypdf")
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what it cannot read is said here
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        is_open = not reader.is_encrypted or bool(reader.decrypt(""))
        pages = [page.extract_text() for page in reader.pages] if is_open else []
    except Exception as error:  # a damaged file raises whatever the parser stumbles over
        raise NotConverted(f"is damaged or no PDF: {error or type(error).__name__}") from error
    if not is_open:
        raise NotConverted("is protected by a password; save it without")
    texts = without_repeated_lines([_clean(page) for page in pages])
    if not any(text.strip() for text in texts):
        raise NotConverted("has no text; pages that are pictures have to be recognised (OCR) first")
    starts: list[int] = []
    length = 0
    for text in texts:
        starts.append(length)
        length += len(text) + len(PAGE_JOINT)
    metadata = {"pages": len(texts)}
    if len(texts) > MOST_PAGES:
        return Converted(PAGE_JOINT.join(texts), metadata)
    return Converted(PAGE_JOINT.join(texts), {**metadata, "page_starts": tuple(starts)})


def without_repeated_lines(pages: Sequence[str]) -> list[str]:
    """
    Return the pages without head and foot lines that at least half of them have; numbers in them
    may differ.
    """
    counts = Counter(shape for page in pages for shape in {_shape(one) for one in _edges(page)})
    least = max(LEAST_REPEATS, REPEATED_SHARE * len(pages))
    repeated = {shape for shape, count in counts.items() if count >= least}
    return [_without(page, repeated) for page in pages]


def _edges(page: str) -> list[str]:
    lines = page.split("\n")
    return [lines[number] for number in _edge_numbers(lines)]


def _edge_numbers(lines: Sequence[str]) -> set[int]:
    filled = [number for number, line in enumerate(lines) if line.strip()]
    if len(filled) < LEAST_LINES:
        return set()
    return {*filled[:EDGE_LINES], *filled[-EDGE_LINES:]}


def _shape(line: str) -> str:
    return _NUMBER.sub("#", " ".join(line.split()))


def _without(page: str, repeated: set[str]) -> str:
    lines = page.split("\n")
    edges = _edge_numbers(lines)
    kept = [
        line
        for number, line in enumerate(lines)
        if number not in edges or _shape(line) not in repeated
    ]
    return "\n".join(kept).strip("\n")


def _clean(page: str) -> str:
    page = page.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    return page.encode("utf-8", "replace").decode("utf-8")
