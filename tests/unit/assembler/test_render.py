"""
Headings, markers and white space of a context: small texts, worked out by hand.
"""

from __future__ import annotations

from dataclasses import replace

from assembler.parent import Parent
from assembler.passage import Passage
from assembler.render import render
from assembler.request import (
    Format,
    Headings,
    Layout,
)
from assembler.span import Span, trimmed
from tests.unit.assembler.evidence import LAYOUT, evidence_of, packed, parent_of


def test_headings_are_as_short_as_is_unambiguous() -> None:
    def headed(source: str, *path: str) -> Passage:
        parent = parent_of("Text of it.", source=source)
        parent = Parent(replace(parent.section, heading_path=path), parent.version, 0)
        return Passage(parent.version, 0, (parent,), (Span(0, 4),), None, (), ())

    text = render(
        [
            headed("a", "Travel", "Exceptions"),
            headed("b", "Refunds", "Exceptions"),
            headed("c", "Refunds", "Rules"),
            headed("d", "Refunds"),
        ],
        LAYOUT,
    ).text

    lines = [line for line in text.split("\n") if line.startswith("[")]
    assert lines == [
        "[1] Travel > Exceptions",
        "[2] Refunds > Exceptions",
        "[3] Rules",
        "[4] Refunds",
    ]


def test_a_heading_path_is_printed_once_per_section() -> None:
    parent = parent_of("One. .... Two.", 5, 10)
    parent = Parent(replace(parent.section, heading_path=("Rules",)), parent.version, 0)
    halves = [
        Passage(parent.version, 0, (parent,), (span,), None, (), ())
        for span in (Span(0, 4), Span(10, 14))
    ]

    assert render(halves, LAYOUT).text == "[1] Rules\nOne.\n\n[2]\nTwo."
    plain = Layout(format=Format.PLAIN, headings=Headings.PATH)
    assert render(halves, plain).text == "[1] (Rules) One.\n\n[2] Two."
    xml = Layout(format=Format.XML)
    assert render(halves[:1], xml).text == '<passage id="1" heading="Rules">\nOne.\n</passage>'


def test_a_long_heading_is_a_label_and_leaves_room_for_the_evidence() -> None:
    parent = parent_of("The walrus eats clams.")
    heading = "Bom " * 1200
    parent = Parent(replace(parent.section, heading_path=(heading,)), parent.version, 0)
    item = evidence_of(parent, 0, 0)._replace(parent=parent)

    text = packed(item, limit=60).rendered.text

    assert "The walrus eats clams." in text
    assert text.startswith("[1] Bom Bom")
    assert "…" in text.split("\n")[0]


def test_blanks_inside_a_line_are_not_shown_as_indentation() -> None:
    text = "One.  Two.\n    indented"

    assert trimmed(Span(4, 10), text) == Span(6, 10)
    assert trimmed(Span(11, 23), text) == Span(11, 23)
