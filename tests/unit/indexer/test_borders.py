import pytest

from assembler.model import BorderKind
from indexer.borders import find_borders
from indexer.ruler import Ruler
from indexer.structure import markdown_structure


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


TABLE = "| item | rule |\n| --- | --- |\n| hotel | Pay it. Keep the bill. |\n| bike | No. Walk.12 The end. |\n"
BARE = "item | rule\n--- | ---\nhotel | Pay it. Keep the bill.\nbike | No. Walk.\n"


@pytest.mark.parametrize("text", [TABLE, BARE])
def test_a_row_of_a_table_is_never_parted(text: str) -> None:
    whole = f"Before it. This.\n\n{text}\nAfter it. That.\n"
    ruler = Ruler([(at, at + 1) for at in range(len(whole))], len(whole))

    borders = find_borders(
        whole, "en", ruler, 10_000, is_code=False, tables=markdown_structure(whole).tables
    )

    lines = [at + 1 for at, letter in enumerate(whole[:-1]) if letter == "\n"]
    inside = [one.offset for one in borders if whole[one.offset - 1] != "\n"]
    assert [whole[at:].split(".", maxsplit=1)[0] for at in inside] == ["This", "That"]
    assert {one.offset for one in borders} - set(inside) == {
        at for at in lines if whole[at] != "\n"
    }


def test_a_line_that_begins_like_a_row_is_one_in_any_text() -> None:
    assert sentences("See it.\n| a | Pay it. Keep it. |\n| b | No. |") == [
        "See it.\n",
        "| a | Pay it. Keep it. |\n",
        "| b | No. |",
    ]
