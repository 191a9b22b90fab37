"""
Sections of no more than a text and its chunks.
"""

from __future__ import annotations

from typing import Any

from assembler.model import Provenance, Section
from assembler.span import Span
from tests.strategies import sha256


def plain_section(
    text: str, chunk_spans: tuple[Span, ...], provenance: Provenance, **more: Any
) -> Section:
    """
    Return a section that begins its source and has no headings, title or borders.

    Args:
        text: The section's own.
        chunk_spans: Where its chunks stand.
        provenance: The source that it belongs to.
        more: Other values of its fields.
    """
    values: dict[str, Any] = {
        "key": "s",
        "span": Span(0, len(text)),
        "ordinal": 0,
        "text_sha256": sha256(text),
        "heading_path": (),
        "title": "",
        "uri": "",
        "media_type": "",
        "language": "",
        "first_chunk_ordinal": 0,
        "borders": (),
    }
    return Section(text=text, chunk_spans=chunk_spans, provenance=provenance, **(values | more))
