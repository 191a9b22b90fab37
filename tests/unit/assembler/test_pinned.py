"""
Text that must be included, where a case is rare: small texts, worked out by hand.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from assembler.budget import Measure
from assembler.errors import InvalidRequest, MustIncludeTooLarge
from assembler.pack import Pinned, Work, pack
from assembler.pinned import pin_chunk, pin_range
from assembler.ports import SourceRow
from assembler.scope import IndexVersion, ReadScope, Scope
from assembler.span import Span
from tests.counters import CharCounter
from tests.unit.assembler.evidence import LAYOUT, evidence_of, packed, parent_of, rules

SCOPE = ReadScope("docs", IndexVersion("g", 1), readers_required=False, asked=Scope())


def test_pinned_white_space_shows_nothing() -> None:
    parent = parent_of("Alpha.   \n \n", 6)

    result = packed(pins=(Pinned(parent, Span(7, 11)), Pinned(parent, Span(7, 11))))

    assert result.rendered.text == ""


def test_pins_alone_are_the_context_when_nothing_fits_beside_them() -> None:
    parent = parent_of("Alpha beta. Gamma delta.", 12)
    pin = Pinned(parent, Span(0, 11))

    class Jumping(CharCounter):
        """
        Counts everything but the pin alone as far too much.
        """

        def count(self, text: str) -> int:
            return 5 if text == "[1]\nAlpha beta." else len(text) + 50

    work = Work((evidence_of(parent, 1, 0),), (pin,), rules(6), LAYOUT)
    result = pack(work, Measure(Jumping(), 6, 0, None))

    assert result.rendered.text == "[1]\nAlpha beta."
    with pytest.raises(MustIncludeTooLarge):
        pack(work, Measure(Jumping(), 4, 0, None))


def row(chars: int) -> SourceRow:
    return SourceRow("a", "1", "", chars, None, 1, 99, 99)


def test_a_pinned_range_needs_readable_text_without_a_hole() -> None:
    parent = parent_of("Alpha. Beta.")
    text = parent.section
    outside = replace(text, provenance=replace(text.provenance, tenant="other"))
    later = replace(text, span=Span(6, 18))

    assert pin_range([text], row(12), Span(2, 9), SCOPE, 0, "f")[0].span == Span(2, 9)
    for sections, problem in (
        ([], "not in what the target's scope reads"),
        ([outside], "not in what the target's scope reads"),
        ([later], "not in what the target's scope reads"),
        ([replace(text, span=Span(0, 6), text="Alpha.")], "from 6 on is not readable"),
    ):
        with pytest.raises(InvalidRequest, match=problem):
            pin_range(sections, row(18), Span(0, 9), SCOPE, 0, "f")


def test_a_pinned_chunk_falls_back_to_its_own_text() -> None:
    parent = parent_of("Alpha. Beta.", 7)
    chunk = evidence_of(parent, 1, 0).candidate.chunk

    own = pin_chunk(chunk, [], {chunk.key: "Beta."}, SCOPE, 0, "f")
    assert own.parent.section.text == "Beta."
    wrong = replace(parent.section, text="x" * 12)
    assert pin_chunk(chunk, [wrong], {chunk.key: "Beta."}, SCOPE, 0, "f").span == Span(7, 12)
    with pytest.raises(InvalidRequest, match="not readable"):
        pin_chunk(chunk, [], {chunk.key: "Bet4."}, SCOPE, 0, "f")
    assert pin_chunk(chunk, [parent.section], {}, SCOPE, 0, "f").span == Span(7, 12)
    with pytest.raises(InvalidRequest, match="not readable"):
        pin_chunk(chunk, [], {}, SCOPE, 0, "f")
