"""
Single steps of the core where a case is rare: small texts, worked out by hand.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from assembler.budget import Measure
from assembler.choose import choose
from assembler.cite import account
from assembler.dedup import drop_duplicates
from assembler.errors import InvalidRequest, MustIncludeTooLarge
from assembler.estimate import PartCounts
from assembler.expand import Evidence, expand, mismatch
from assembler.fill import Filling
from assembler.grow import growth
from assembler.merge import merge
from assembler.model import Border, BorderKind, Chunk, Provenance, Section, VersionKey
from assembler.order import order
from assembler.pack import Packed, Pinned, Work, pack
from assembler.parent import Parent
from assembler.passage import Passage
from assembler.pinned import pin_chunk, pin_range
from assembler.ports import SourceRow
from assembler.rank import Candidate, Support, version_key
from assembler.render import render
from assembler.report import Disposition, Note
from assembler.request import (
    Expansion,
    Fill,
    Format,
    Headings,
    Layout,
    Order,
    Target,
)
from assembler.rules import PRICED_TOKENS, Rules, share_of
from assembler.scope import IndexVersion, ReadScope, Scope
from assembler.span import Span, trimmed
from tests.counters import CharCounter
from tests.strategies import sha256

LAYOUT = Layout()
SCOPE = ReadScope("docs", IndexVersion("g", 1), readers_required=False, asked=Scope())


NO_SUPPORT = Support({}, {}, 0.25)


def parent_of(text: str, *cuts: int, source: str = "a", borders: tuple[Border, ...] = ()) -> Parent:
    """
    Return a section that is a whole text, with chunks between the cuts.
    """
    edges = (0, *cuts, len(text))
    origin = Provenance("", source, "1", sha256(text), None, 1)
    section = Section(
        key=f"{source}-section",
        provenance=origin,
        span=Span(0, len(text)),
        ordinal=0,
        text=text,
        text_sha256=sha256(text),
        heading_path=(),
        title="",
        uri="",
        media_type="",
        language="",
        first_chunk_ordinal=0,
        chunk_spans=tuple(Span(a, b) for a, b in itertools.pairwise(edges)),
        borders=borders,
    )
    return Parent(section, VersionKey("docs", "", source, "1", sha256(text)), 0)


def evidence_of(parent: Parent, number: int, rank: int, score: float = 1.0) -> Evidence:
    """
    Return a chunk of the section as evidence.
    """
    span = parent.section.chunk_spans[number]
    text = parent.section.slice(span)
    origin = parent.section.provenance
    chunk = Chunk(
        f"{origin.source_id}-{number}", origin, parent.section.key, span, number, sha256(text)
    )
    candidate = Candidate(rank, 0, "docs", version_key("docs", chunk), chunk, score, (), (0,), None)
    found, lost = expand(
        [candidate], {("docs", parent.section.key): parent.section}, {}, Expansion(), []
    )
    assert not lost
    return found[0]._replace(parent=parent)


def rules(limit: int = 1000) -> Rules:
    return Rules(
        limit,
        share_of(limit, 1.0),
        (Target("docs"),),
        Fill.FULL,
        0.0,
    )


def packed(*evidence: Evidence, limit: int = 1000, pins: tuple[Pinned, ...] = ()) -> Packed:
    work = Work(evidence, pins, rules(limit), LAYOUT, support=NO_SUPPORT)
    return pack(work, Measure(CharCounter(), limit, 0, None))


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


def test_a_sentence_is_cut_where_it_alone_exceeds_the_limit() -> None:
    borders = (Border(40, BorderKind.FORCED), Border(80, BorderKind.FORCED))
    parent = parent_of("word " * 24, 40, 80, borders=borders)

    result = packed(evidence_of(parent, 1, 0), limit=20)

    assert result.rendered.text == "[1]\n" + ("word " * 8).strip()
    assert Note.CUT in result.passages[0].notes


def test_a_passage_keeps_the_spans_that_are_no_duplicates() -> None:
    one = parent_of("Same. Own.", 6)
    other = parent_of("Same. .... Else.", 6, 11, source="b")
    first = Passage(one.version, 0, (one,), (Span(0, 5),), evidence_of(one, 0, 0), (), ())
    second = Passage(
        other.version, 0, (other,), (Span(0, 5), Span(11, 16)), evidence_of(other, 0, 1), (), ()
    )

    kept, aliases = drop_duplicates([second, first])

    assert [passage.spans for passage in kept] == [(Span(0, 5),), (Span(11, 16),)]
    assert [(alias.kept, alias.span) for alias in aliases] == [(one.version, Span(0, 5))]


def test_growth_takes_no_text_that_is_shown_already() -> None:
    one = parent_of("Alpha. Same text here. ", 7)
    other = parent_of("Beta. Same text here. ", 6, source="b")

    result = packed(evidence_of(one, 0, 0), evidence_of(one, 1, 1), evidence_of(other, 0, 2))

    assert result.rendered.text.count("Same text here.") == 1
    assert "Beta." in result.rendered.text


def test_growth_takes_a_neighbour_of_white_space_without_showing_it() -> None:
    parent = parent_of("Alpha.   \n \n", 6)

    assert packed(evidence_of(parent, 0, 0)).rendered.text == "[1]\nAlpha."


def test_pinned_white_space_shows_nothing() -> None:
    parent = parent_of("Alpha.   \n \n", 6)

    result = packed(pins=(Pinned(parent, Span(7, 11)), Pinned(parent, Span(7, 11))))

    assert result.rendered.text == ""


def test_a_candidate_of_white_space_is_invalid() -> None:
    parent = parent_of("Alpha.   \n \n", 6)
    item = evidence_of(parent, 1, 0)

    result = packed(item)

    fates = account(result, [item.candidate], [item], {})
    assert [one.disposition for one in fates] == [Disposition.INVALID]


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


def test_two_texts_for_one_range_are_never_both_shown() -> None:
    one = parent_of("Alpha. Beta. Gamma.", 7, 13)
    rival = Parent(replace(one.section, key="rival", text="OTHER. TEXT. HERE!!"), one.version, 0)
    good, bad = evidence_of(one, 0, 0), evidence_of(one, 0, 1)
    chunk = bad.candidate.chunk._replace(key="rival")
    bad = bad._replace(
        parent=rival,
        candidate=bad.candidate._replace(chunk=chunk),
        chunk_span=Span(0, 9),
        ladder=(Span(0, 9),),
    )

    result = packed(good, bad)

    assert "OTHER" not in result.rendered.text
    assert result.filling.reasons["docs", "rival"] is Disposition.INVALID


def test_no_target_takes_more_than_its_part() -> None:
    parent = parent_of("Alpha beta gamma. Delta epsilon.", 18)
    filling = Filling(
        PartCounts(CharCounter().count, LAYOUT),
        replace(rules(), targets=(Target("docs", max_context_tokens=9),)),
        1000,
    )

    evidence = [evidence_of(parent, 0, 0), evidence_of(parent, 1, 1)]
    choose(filling, evidence, growth(evidence, {}, NO_SUPPORT))

    assert filling.tokens <= 9
    assert set(filling.reasons.values()) == {Disposition.OVER_BUDGET}


def test_orders_place_ranks_as_they_say() -> None:
    parents = [parent_of(f"Text {n}.", source=f"s{9 - n}") for n in range(5)]
    passages = [
        Passage(p.version, 0, (p,), (Span(0, 7),), evidence_of(p, 0, rank), (), ())
        for rank, p in enumerate(parents)
    ]

    def ranks(how: Order) -> list[int]:
        return [passage.rank for passage in order(passages, how)]

    assert ranks(Order.RELEVANCE) == [0, 1, 2, 3, 4]
    assert ranks(Order.EDGES) == [0, 2, 4, 3, 1]
    assert ranks(Order.DOCUMENT) == [4, 3, 2, 1, 0]


def test_sections_that_touch_share_a_passage_only_within_one_version() -> None:
    whole = "First part. Second part."
    left, right = parent_of(whole), parent_of(whole)
    first = Parent(
        replace(left.section, key="l", span=Span(0, 12), text=whole[:12]), left.version, 0
    )
    second = Parent(
        replace(right.section, key="r", span=Span(12, 24), text=whole[12:]), right.version, 0
    )
    filling = Filling(PartCounts(CharCounter().count, LAYOUT), rules(), 1000)
    filling.pin(first, Span(0, 12))
    filling.pin(second, Span(12, 24))

    passages = merge(filling.chosen)

    assert [passage.spans for passage in passages] == [(Span(0, 24),)]
    assert passages[0].slice(Span(6, 18)) == whole[6:18]


def row(chars: int) -> SourceRow:
    return SourceRow("a", "1", "", chars, None, 1, 99, 99)


def test_a_pinned_range_needs_readable_text_without_a_hole() -> None:
    parent = parent_of("Alpha. Beta.")
    text = parent.section
    outside = replace(text, provenance=replace(text.provenance, tenant="other"))
    later = replace(text, span=Span(6, 18))

    assert pin_range([text], row(12), Span(2, 9), SCOPE, 0, "f")[0].span == Span(2, 9)
    for sections in ([], [outside], [later]):
        with pytest.raises(InvalidRequest, match="not readable"):
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


def test_growth_stops_at_what_is_barred_or_shown_elsewhere() -> None:
    one = parent_of("Alpha. Beta. Gamma. ", 7, 13)
    twin = parent_of("Zeta. Beta. ", 6, source="b")
    barred = replace(rules(), forbidden=lambda _: (Span(14, 16),))
    filling = Filling(PartCounts(CharCounter().count, LAYOUT), barred, 1000)
    evidence = [evidence_of(one, 1, 0), evidence_of(twin, 0, 1)]

    choose(filling, evidence, growth(evidence, {}, NO_SUPPORT))

    assert merge(filling.chosen)[0].spans == (Span(0, 12),)
    assert merge(filling.chosen)[1].spans == (Span(0, 5),)


def test_a_repeat_inside_one_version_is_content() -> None:
    parent = parent_of("Same. .... Same.", 6, 11)
    passage = Passage(parent.version, 0, (parent,), (Span(0, 5), Span(11, 16)), None, (), ())

    kept, aliases = drop_duplicates([passage])

    assert kept == (passage,)
    assert aliases == ()


def test_a_passage_of_duplicates_alone_is_dropped() -> None:
    one, other = parent_of("Same."), parent_of("Same.", source="b")
    first = Passage(one.version, 0, (one,), (Span(0, 5),), evidence_of(one, 0, 0), (), ())
    second = Passage(other.version, 0, (other,), (Span(0, 5),), evidence_of(other, 0, 1), (), ())

    kept, aliases = drop_duplicates([second, first])

    assert kept == (first,)
    assert len(aliases) == 1


def test_too_much_room_is_given_back() -> None:
    texts = ("aaaa bbbb cccc. ", "dddd eeee ffff. ")
    parent = parent_of("".join(texts), len(texts[0]))

    class Generous(CharCounter):
        """
        Counts parts of the text as more than they add to the whole, until both are in it.
        """

        def count(self, text: str) -> int:
            if text.startswith("[1]\n"):
                return 60 if "dddd" in text else 10
            return len(text)

    work = Work(
        (evidence_of(parent, 0, 0), evidence_of(parent, 1, 1)),
        (),
        rules(50),
        LAYOUT,
    )
    result = pack(work, Measure(Generous(), 36, 0, None))

    assert result.tokens == 10
    assert "dddd" not in result.rendered.text


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


def test_barred_evidence_is_excluded() -> None:
    parent = parent_of("Alpha. Beta.", 7)
    barred = replace(rules(), forbidden=lambda _: (Span(0, 3),))
    filling = Filling(PartCounts(CharCounter().count, LAYOUT), barred, 1000)

    choose(filling, [evidence_of(parent, 0, 0)])

    assert set(filling.reasons.values()) == {Disposition.EXCLUDED}


def test_blanks_inside_a_line_are_not_shown_as_indentation() -> None:
    text = "One.  Two.\n    indented"

    assert trimmed(Span(4, 10), text) == Span(6, 10)
    assert trimmed(Span(11, 23), text) == Span(11, 23)


class Told(CharCounter):
    """
    Counts whole contexts and parts as it is told, whatever they hold.
    """

    def __init__(self, *, one: int, both: int, part: int) -> None:
        self._one, self._both, self._part = one, both, part

    def count(self, text: str) -> int:
        if text.startswith("[1]\n"):
            return self._both if "dddd" in text else self._one
        return self._part if "aaaa" in text or "dddd" in text else 1


def told(counter: Told, limit: int, *, is_pinned: bool = False) -> Packed:
    """
    Pack two sentences, the first of them pinned or not.
    """
    parent = parent_of("aaaa bbbb cccc. dddd eeee ffff. ", 16)
    first, second = evidence_of(parent, 0, 0), evidence_of(parent, 1, 1)
    pins = (Pinned(parent, Span(0, 16)),) if is_pinned else ()
    work = Work(
        (second,) if is_pinned else (first, second),
        pins,
        rules(limit),
        LAYOUT,
    )
    return pack(work, Measure(counter, limit, 0, None))


def test_what_fitted_is_kept_when_more_room_was_too_much() -> None:
    result = told(Told(one=2, both=100, part=38), 60)

    assert result.rendered.text == "[1]\naaaa bbbb cccc."
    assert result.tokens == 2


def test_repairs_end_after_their_number() -> None:
    result = told(Told(one=34, both=500, part=198), 250)

    assert result.rendered.text == "[1]\naaaa bbbb cccc."


def test_pins_alone_are_packed_when_every_estimate_was_far_too_low() -> None:
    result = told(Told(one=5, both=1000, part=1), 50, is_pinned=True)

    assert result.rendered.text == "[1]\naaaa bbbb cccc."
    assert result.filling.reasons


def test_a_part_that_costs_more_than_it_is_worth_is_not_shown() -> None:
    good = parent_of("Best.", source="b")
    weak = parent_of("Short. " + "A long second sentence of many words goes on and on. " * 9)
    section = replace(weak.section, heading_path=("A heading of many words " * 5,))
    weak = Parent(replace(section, borders=(Border(7, BorderKind.SENTENCE),)), weak.version, 0)
    first, second = evidence_of(good, 0, 0, 1.0), evidence_of(weak, 0, 1, 0.5)
    second = second._replace(parent=weak, ladder=(second.chunk_span, Span(0, 7)))
    parts = PartCounts(CharCounter().count, LAYOUT)
    whole, part = (parts.cost(weak, span, None) for span in second.ladder)
    price = 0.5 * PRICED_TOKENS / whole
    priced = replace(rules(), fill=Fill.AUTO, price=price)
    room = parts.cost(good, first.chunk_span, None) + part
    filling = Filling(parts, priced, room)

    choose(filling, [first, second])

    assert filling.reasons["docs", "a-0"] is Disposition.OVER_BUDGET
    assert [home.parent.version.source_id for home in filling.chosen.values()] == ["b"]


def test_a_candidate_that_two_blocks_show_together_is_packed_in_the_first() -> None:
    parent = parent_of("alphabeta")
    item = evidence_of(parent, 0, 0)
    halves = [
        Passage(parent.version, 0, (parent,), (span,), None, (), ())
        for span in (Span(0, 5), Span(5, 9))
    ]
    result = replace(packed(item), rendered=render(halves, LAYOUT))

    fates = account(result, [item.candidate], [item], {})

    assert [one.disposition for one in fates] == [Disposition.PACKED]
