"""
Evidence and its section, where a case is rare: small texts, worked out by hand.
"""

from __future__ import annotations

from dataclasses import replace

from assembler.expand import mismatch
from assembler.model import Border, BorderKind
from assembler.parent import Parent
from assembler.report import Note
from assembler.span import Span
from tests.unit.assembler.evidence import evidence_of, packed, parent_of


def test_a_section_that_is_not_the_chunks_is_told_apart() -> None:
    parent = parent_of("One two. Three.", 9)
    chunk = evidence_of(parent, 1, 0).candidate.chunk
    section = parent.section

    assert mismatch(chunk, section) is None
    assert mismatch(chunk, None) is Note.PARENT_MISSING
    other_version = replace(section, provenance=replace(section.provenance, version="2"))
    other_text = replace(section, provenance=replace(section.provenance, content_sha256="x"))
    for wrong in (
        other_version,
        other_text,
        replace(section, text="short"),
        replace(section, text="x" * len(section.text)),
        replace(section, span=Span(100, 115)),
    ):
        assert mismatch(chunk, wrong) is Note.PARENT_MISMATCH


def test_a_window_of_a_section_without_chunks_is_the_span_itself() -> None:
    parent = parent_of("One two. Three.")
    bare = Parent(replace(parent.section, chunk_spans=()), parent.version, 0)

    assert bare.window(Span(0, 3), 2) == Span(0, 3)


def test_a_chunk_inside_a_long_sentence_is_widened_to_all_of_it() -> None:
    borders = (Border(4, BorderKind.FORCED), Border(8, BorderKind.FORCED))
    parent = parent_of("aaa bbb ccc.", 4, 8, borders=borders)

    assert evidence_of(parent, 1, 0).chunk_span == Span(0, 12)
    assert packed(evidence_of(parent, 1, 0)).rendered.text == "[1]\naaa bbb ccc."
