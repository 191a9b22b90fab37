"""
PDF to the text of its pages, without the running heads and feet.
"""

from __future__ import annotations

import io
import logging

from assembler.model import MetadataValue
from indexer.formats.converted import Converted, NotConverted, library
from indexer.formats.running_lines import without_running_lines

MOST_PAGES = 2000
"""Of longer files no page starts are kept: each section carries them."""

PAGE_JOINT = "\n\n"
SHOWN_CHARS = 60


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
    kept = without_running_lines([_clean(page) for page in pages])
    texts = kept.pages
    if not any(text.strip() for text in texts):
        raise NotConverted("has no text; pages that are pictures have to be recognised (OCR) first")
    starts: list[int] = []
    length = 0
    for text in texts:
        starts.append(length)
        length += len(text) + len(PAGE_JOINT)
    metadata: dict[str, MetadataValue] = {"pages": len(texts)}
    if len(texts) <= MOST_PAGES:
        metadata["page_starts"] = tuple(starts)
    return Converted(PAGE_JOINT.join(texts), metadata, _told(kept.left_out))


def _told(lines: tuple[str, ...]) -> tuple[str, ...]:
    if not lines:
        return ()
    line = lines[0][:SHOWN_CHARS]
    return (f"has {len(lines)} lines left out that repeat at the edges of its pages, as {line!r}",)


def _clean(page: str) -> str:
    page = page.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    return page.encode("utf-8", "replace").decode("utf-8")
