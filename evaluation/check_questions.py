"""
Check a team's questions line by line, and say of each problem how it is mended.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.json_lines import QuestionSetInvalid, object_of, read_lines
from evaluation.passages import exact_places, near_places
from evaluation.question_set import Question
from evaluation.team_questions import (
    EVIDENCE_FIELDS,
    QUESTION_FIELDS,
    Texts,
    read_question,
)

FEWEST_QUESTIONS = 50
"""Fewer tell little: intervals are wide."""


@dataclass(frozen=True, slots=True)
class Finding:
    """
    What is wrong with a line, or worth knowing of it.

    Attributes:
        place: File and line.
        is_error: Whether the line cannot be used.
    """

    place: str
    said: str
    is_error: bool

    def __str__(self) -> str:
        return f"{self.place}: {self.said}"


@dataclass(frozen=True, slots=True)
class CheckedQuestions:
    """
    A file of questions, checked.
    """

    questions: tuple[Question, ...]
    findings: tuple[Finding, ...]

    @property
    def is_sound(self) -> bool:
        """
        Return whether every line can be used.
        """
        return not any(one.is_error for one in self.findings)

    def as_lines(self) -> str:
        """
        Return the questions that can be used, with versions, positions and texts filled in.
        """
        rows = ({"question": one.text, "evidence": _told(one)} for one in self.questions)
        return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


async def check_questions(
    path: Path, texts: Texts, everything: Mapping[tuple[str, str], str]
) -> CheckedQuestions:
    """
    Return the questions of a file and everything that is wrong or odd with its lines.

    Args:
        path: As `read_team_questions` reads it.
        texts: Where the evidence is looked for.
        everything: All texts by source and version, to tell what stands elsewhere too.

    Raises:
        QuestionSetInvalid: The file cannot be read.
    """
    questions: list[Question] = []
    findings: list[Finding] = []
    first: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        place = f"{path}:{number}"
        try:
            row = object_of(place, line)
            question = await read_question(place, row, texts)
        except QuestionSetInvalid as error:
            problem = str(error).removeprefix(f"{place}: ")
            findings.append(Finding(place, problem + _nearly(line, everything), is_error=True))
            continue
        questions.append(question)
        same = first.setdefault(question.text, place)
        if same != place:
            findings.append(Finding(place, f"asks what {same} asks", is_error=False))
        findings += (
            Finding(place, said, is_error=False)
            for said in (*_unread(row), *_oddities(question, everything))
        )
    if len(questions) < FEWEST_QUESTIONS:
        few = f"{len(questions)} questions can be used; {FEWEST_QUESTIONS} and more tell something"
        findings.append(Finding(str(path), few, is_error=not questions))
    return CheckedQuestions(tuple(questions), tuple(findings))


def _unread(row: Mapping[str, Any]) -> Iterator[str]:
    """
    Tell the fields that nobody reads: one may be another one mistyped.
    """
    places: list[tuple[str, Mapping[str, Any], Sequence[str]]] = [("", row, QUESTION_FIELDS)]
    places += [(f"evidence[{n}].", one, EVIDENCE_FIELDS) for n, one in enumerate(row["evidence"])]
    for inside, fields, known in places:
        for name in fields:
            if name not in known:
                yield f"{inside}{name} is not read; known are {', '.join(known)}"


def _oddities(question: Question, everything: Mapping[tuple[str, str], str]) -> list[str]:
    found: list[str] = []
    seen: list[tuple[str, range]] = []
    for number, one in enumerate(question.evidence):
        own = json.loads(one.doc_id)
        others = [
            source_id
            for (source_id, version), text in everything.items()
            if [source_id, version] != own and one.text in text
        ]
        if others:
            found.append(
                f"evidence[{number}] stands in {_names(others)} too: what is found there counts "
                "as missed"
            )
        inside = range(one.span.start, one.span.end)
        if any(
            name == one.doc_id and inside.start < other.stop and other.start < inside.stop
            for name, other in seen
        ):
            found.append(f"evidence[{number}] overlaps one before it")
        seen.append((one.doc_id, inside))
    return found


def _nearly(line: str, everything: Mapping[tuple[str, str], str]) -> str:
    """
    Return where texts that do not stand as given stand nearly so, as the end of a sentence.
    """
    try:
        texts = [one["text"] for one in json.loads(line)["evidence"] if "text" in one]
        missing = [
            one for one in texts if not any(exact_places(one, t) for t in everything.values())
        ]
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""
    for one in missing:
        for (source_id, version), text in everything.items():
            for span in near_places(one, text)[:1]:
                return (
                    f"; it stands nearly so in {source_id!r}, version {version!r}, at "
                    f"[{span.start}, {span.end}): {span.slice(text)!r}"
                )
    return ""


def _names(sources: Sequence[str]) -> str:
    shown = ", ".join(map(repr, sources[:3]))
    return shown if len(sources) <= 3 else f"{shown} and {len(sources) - 3} more"  # noqa: PLR2004 - as many as are shown


def _told(question: Question) -> list[dict[str, object]]:
    told: list[dict[str, object]] = []
    for one in question.evidence:
        source_id, version = json.loads(one.doc_id)
        told.append(
            {
                "source_id": source_id,
                "version": version,
                "start": one.span.start,
                "end": one.span.end,
                "text": one.text,
            }
        )
    return told
