"""
Payloads of one source version share a provenance, and only what holds what was written is decoded.
"""

from __future__ import annotations

import pytest

from adapters.decoded import KEPT, Decoder
from adapters.payload import decode_chunk
from assembler.model import FOREVER, PointKind

PAYLOAD: dict[str, object] = {
    "kind": "chunk",
    "key": "k",
    "tenant": "acme",
    "source_id": "a.md",
    "version": "1",
    "content_sha256": "0",
    "readers": ["staff"],
    "from_rev": 1,
    "active_to_rev": 3,
    "to_rev": FOREVER,
    "fields": {"year": 1},
    "section_key": "s",
    "start": 0,
    "end": 4,
    "ordinal": 0,
    "text_sha256": "1",
}


def test_equal_provenances_are_one() -> None:
    decoder = Decoder(2)

    first = decoder.hit(PAYLOAD, PointKind.CHUNK)
    second = decoder.hit({**PAYLOAD, "key": "l", "start": 2}, PointKind.CHUNK)
    section = decoder.hit({**PAYLOAD, "kind": "section"}, PointKind.SECTION)

    assert first is not None
    assert second is not None
    assert section is not None
    assert first.provenance is second.provenance is section.provenance
    assert first.item == decode_chunk(PAYLOAD, 2)
    assert (second.key, section.item) == ("l", None)


@pytest.mark.parametrize(
    "changed",
    [
        {"from_rev": True},
        {"from_rev": 1.0},
        {"fields": {"year": 1.0}},
        {"readers": "staff"},
        {"tenant": ["acme"]},
        {"kind": "section"},
        {"key": 7},
        {"end": 0},
    ],
    ids=str,
)
def test_what_only_looks_alike_does_not_hold(changed: dict[str, object]) -> None:
    decoder = Decoder(2)
    assert decoder.hit(PAYLOAD, PointKind.CHUNK) is not None

    assert decoder.hit({**PAYLOAD, **changed}, PointKind.CHUNK) is None


def test_values_of_different_types_are_different_provenances() -> None:
    decoder = Decoder(2)

    found = [
        decoder.hit({**PAYLOAD, "fields": {"year": value}}, PointKind.CHUNK)
        for value in (1, True, "1", None)
    ]

    assert [repr(one.provenance.fields["year"]) for one in found if one] == [
        "1",
        "True",
        "'1'",
        "None",
    ]


def test_only_so_many_provenances_are_known() -> None:
    decoder = Decoder(2)
    first = decoder.hit(PAYLOAD, PointKind.CHUNK)

    for number in range(KEPT):
        decoder.hit({**PAYLOAD, "source_id": str(number)}, PointKind.CHUNK)
    again = decoder.hit(PAYLOAD, PointKind.CHUNK)

    assert first == again
    assert first is not None
    assert again is not None
    assert first.provenance is not again.provenance
