import pytest

from assembler.model import BorderKind
from indexer.borders import find_borders
from indexer.ruler import Ruler


def sentences(text: str, language: str = "en") -> list[str]:
    """
    Return the sentences of a text that is counted in characters.
    """
    ruler = Ruler([(at, at + 1) for at in range(len(text))], len(text))
    borders = find_borders(text, language, ruler, 10_000, is_code=False)
    starts = [0, *(one.offset for one in borders if one.kind is not BorderKind.FORCED)]
    return [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "Die Klage wird abgewiesen.17 Um den Schaden geht es nicht.18Der Kläger trägt die Kosten.",
            [
                "Die Klage wird abgewiesen.",
                "17 Um den Schaden geht es nicht.",
                "18Der Kläger trägt die Kosten.",
            ],
        ),
        (
            "It is due (see above).12 The fee is low.",
            ["It is due (see above).", "12 The fee is low."],
        ),
        ("See Fig.3 Results for more.", ["See Fig.3 Results for more."]),
        ("Node v1.12 Beta is out.", ["Node v1.12 Beta is out."]),
    ],
)
def test_a_number_that_stuck_to_a_sentence_begins_the_next(text: str, parts: list[str]) -> None:
    assert sentences(text, "de") == parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("**Never over.** It is counted.", ["**Never over.** ", "It is counted."]),
        ("**Once.** **Twice.** Thrice.", ["**Once.** ", "**Twice.** ", "Thrice."]),
        ("_It is due._ Pay it now.", ["_It is due._ ", "Pay it now."]),
        ("„Es ist fällig.“ Wer zahlt?", ["„Es ist fällig.“ ", "Wer zahlt?"]),
        ("It is due. **Pay** it now.", ["It is due. ", "**Pay** it now."]),
        ("It ends here. **Bold.**", ["It ends here. ", "**Bold.**"]),
        ("It is due. `pay` does it.", ["It is due. ", "`pay` does it."]),
    ],
)
def test_marks_that_close_a_sentence_belong_to_it(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts
