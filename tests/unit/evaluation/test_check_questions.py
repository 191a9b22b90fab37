"""
A file of questions is checked line by line, and every problem says how it is mended.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assembler.span import Span
from evaluation.check_questions import CheckedQuestions, check_questions
from evaluation.json_lines import QuestionSetInvalid
from evaluation.passages import exact_places, near_places
from evaluation.team_questions import GivenTexts, read_team_questions

TEXTS = {
    ("a.md", "1"): "Trains are slow. Nobody likes them.\n\nMeals are paid. Meals are paid.\n",
    ("b.md", "1"): "Nobody likes them. The “Ku\u0308ndigung” is\nwritten.\n",
    ("c.md", "1"): "Old.\n",
    ("c.md", "2"): "New.\n",
}


async def checked(tmp_path: Path, *rows: Any) -> CheckedQuestions:
    path = tmp_path / "q.jsonl"
    lines = (one if isinstance(one, str) else json.dumps(one) for one in rows)
    path.write_text("\n".join(lines), encoding="utf-8")
    return await check_questions(path, GivenTexts(TEXTS), TEXTS)


def row(text: str | None = None, source: str = "a.md", ask: str = "?", **more: Any) -> Any:
    given = {} if text is None else {"text": text}
    return {"question": ask, "evidence": [{"source_id": source, **given, **more}]}


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a JSON object"),
        ({"question": "?"}, "evidence is not a list with at least one entry"),
        (row("x", source="z.md"), "of 'z.md' is not among the documents"),
        (row("New.", source="c.md"), "of 'c.md' is missing; there are '1', '2'; name one"),
        (row("New.", source="c.md", version="3"), "'3' is not among the documents"),
        (row("Planes."), "does not stand in 'a.md' as it is stored: 'Planes.'"),
        (row("Meals are paid."), "stands in 'a.md' at 37 and at 53; give more of it"),
        (row("Meals", start=0, end=5), "is not what stands at [0, 5) of 'a.md': 'Train'"),
        (row(start=5, end=999), "and end must be 0 <= start < end <= 69"),
        (
            row("trains  ARE slow."),
            "; it stands nearly so in 'a.md', version '1', at [0, 16): 'Trains are slow.'",
        ),
        (
            row('The "K\u00fcndigung" is written.', source="b.md"),
            "in 'b.md', version '1', at [19, 47): 'The “Ku\u0308ndigung” is\\nwritten.'",
        ),
    ],
)
async def test_a_wrong_line_says_how_it_is_mended_and_hides_no_other(
    tmp_path: Path, wrong: Any, problem: str
) -> None:
    found = await checked(tmp_path, wrong, "", row("Trains are slow."))

    assert [one.text for one in found.questions] == ["?"]
    assert not found.is_sound
    first, few = found.findings
    assert first.place == f"{tmp_path / 'q.jsonl'}:1"
    assert problem in first.said
    assert first.is_error
    assert "1 questions can be used; 50 and more" in str(few)


async def test_what_can_be_used_is_written_with_its_positions(tmp_path: Path) -> None:
    found = await checked(tmp_path, row("Trains are slow.", ask="Whiçh?"), row("x"))
    path = tmp_path / "again.jsonl"
    path.write_text(found.as_lines(), encoding="utf-8")

    again = await read_team_questions(path, GivenTexts(TEXTS))

    assert json.loads(path.read_text(encoding="utf-8"))["evidence"] == [
        {"source_id": "a.md", "version": "1", "start": 0, "end": 16, "text": "Trains are slow."}
    ]
    assert [(one.text, one.evidence) for one in again] == [
        (one.text, one.evidence) for one in found.questions
    ]


async def test_what_is_ambiguous_or_asked_twice_is_told(tmp_path: Path) -> None:
    overlapping = row("Trains are slow.")
    overlapping["evidence"].append({"source_id": "a.md", "start": 10, "end": 20})
    found = await checked(
        tmp_path,
        row("Nobody likes them.", ask="Who?"),
        overlapping,
        row("Old.", "c.md", "?", version="1"),
    )

    assert found.is_sound
    assert [one.said for one in found.findings[:-1]] == [
        "evidence[0] stands in 'b.md' too: what is found there counts as missed",
        "evidence[1] overlaps one before it",
        f"asks what {tmp_path / 'q.jsonl'}:2 asks",
    ]


async def test_many_other_places_are_counted(tmp_path: Path) -> None:
    texts = {(f"{n}.md", "1"): "The same." for n in range(6)}
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps(row("The same.", source="0.md")))

    found = await check_questions(path, GivenTexts(texts), texts)

    assert "stands in '1.md', '2.md', '3.md' and 2 more too" in found.findings[0].said


async def test_a_file_without_a_usable_line_is_not_sound(tmp_path: Path) -> None:
    found = await checked(tmp_path, "")
    assert not found.is_sound
    with pytest.raises(QuestionSetInvalid, match="cannot be read"):
        await check_questions(tmp_path / "none", GivenTexts(TEXTS), TEXTS)


def test_places_of_a_passage() -> None:
    assert exact_places("aa", "aaa a") == [Span(0, 2), Span(1, 3)]
    assert exact_places("", "abc") == []
    assert near_places(" \n", "abc") == []
    assert near_places("it's - (so)", "IT\u2019S \u2013\n(so) it's—(so)") == [Span(0, 11)]


async def test_fields_that_nobody_reads_are_told(tmp_path: Path) -> None:
    asked = row("Trains are slow.", prose="9") | {"note": "mine"}

    found = await checked(tmp_path, asked)

    assert found.is_sound
    assert [one.said for one in found.findings[:-1]] == [
        "note is not read; known are question, evidence",
        "evidence[0].prose is not read; known are source_id, version, text, start, end",
    ]


async def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    found = await checked(tmp_path, "\ufeff" + json.dumps(row("Trains are slow.")))

    assert [one.evidence[0].text for one in found.questions] == ["Trains are slow."]


async def test_a_file_of_another_encoding_is_told_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps(row("Trains are slow.")), encoding="utf-16")

    with pytest.raises(QuestionSetInvalid, match="is not UTF-8 at byte 0; save it as UTF-8"):
        await check_questions(path, GivenTexts(TEXTS), TEXTS)
