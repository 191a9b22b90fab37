"""
Which media types are converted, and by what.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from indexer.formats.chats import chats_to_markdown
from indexer.formats.converted import Converted
from indexer.formats.epub import epub_to_markdown
from indexer.formats.excel import xlsx_to_markdown
from indexer.formats.html import html_to_markdown
from indexer.formats.office import docx_to_markdown, pptx_to_markdown
from indexer.formats.pdf import pdf_to_text
from indexer.formats.rows import csv_to_markdown

OFFICE = "application/vnd.openxmlformats-officedocument"
SUFFIXES = {
    ".pdf": "application/pdf",
    ".docx": f"{OFFICE}.wordprocessingml.document",
    ".pptx": f"{OFFICE}.presentationml.presentation",
    ".xlsx": f"{OFFICE}.spreadsheetml.sheet",
    ".epub": "application/epub+zip",
    ".csv": "text/csv",
    ".jsonl": "application/x-ndjson",
}
BINARY: Mapping[str, Callable[[bytes], Converted]] = {
    SUFFIXES[".pdf"]: pdf_to_text,
    SUFFIXES[".docx"]: docx_to_markdown,
    SUFFIXES[".pptx"]: pptx_to_markdown,
    SUFFIXES[".xlsx"]: xlsx_to_markdown,
    SUFFIXES[".epub"]: epub_to_markdown,
}
"""Converters of bytes."""

TEXT: Mapping[str, Callable[[str], Converted]] = {
    "text/html": html_to_markdown,
    SUFFIXES[".csv"]: csv_to_markdown,
    SUFFIXES[".jsonl"]: chats_to_markdown,
}
"""Converters of decoded text."""

AS_MARKDOWN = frozenset({*BINARY, *TEXT} - {SUFFIXES[".pdf"]})
"""Media types whose source text is Markdown."""
