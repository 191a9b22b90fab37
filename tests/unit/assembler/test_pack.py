"""
Estimates that are wrong: room given back, repairs, and pins alone.
"""

from __future__ import annotations

from assembler.budget import Measure
from assembler.pack import Packed, Pinned, Work, pack
from assembler.span import Span
from tests.counters import CharCounter
from tests.unit.assembler.evidence import LAYOUT, evidence_of, parent_of, rules


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
