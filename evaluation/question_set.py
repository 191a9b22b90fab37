"""
Question sets whose evidence is known by position, read from a folder and checked.

``docs/<doc_id>.txt`` and ``docs.jsonl`` are the documents, ``questions.dev.jsonl`` the questions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assembler.span import Span
from evaluation.json_lines import QuestionSetInvalid, read_text, rows_of, text_of

DOCUMENTS = "docs.jsonl"
TEXTS = "docs"
QUESTIONS = "questions.dev.jsonl"
FORMATS = ("markdown", "text", "html", "code")
SHOWN_CHARS = 60


@dataclass(frozen=True, slots=True)
class Document:
    """
    One text of a set.

    Attributes:
        doc_format: One of `FORMATS`.
        source: Where it comes from; versions of one document share it.
        version: "" where the document has no versions.
    """

    doc_id: str
    title: str
    lang: str
    doc_format: str
    source: str
    version: str
    text: str
    path: Path


@dataclass(frozen=True, slots=True)
class Evidence:
    """
    A range of a document that answers a question, or a part of it.
    """

    doc_id: str
    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """
    A question with its evidence.

    Attributes:
        scope_doc_ids: The documents it is asked of; () where it is asked of all.
        version: The version it asks of; "" where it asks of none.
    """

    id: str
    text: str
    lang: str
    evidence: tuple[Evidence, ...]
    scope_doc_ids: tuple[str, ...] = ()
    version: str = ""

    def __post_init__(self) -> None:
        """
        Refuse a question that nothing can answer.
        """
        if not self.evidence:
            msg = f"question {self.id!r} has no evidence"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """
    Documents by id, in the order of the file, and questions about them.
    """

    name: str
    documents: Mapping[str, Document]
    questions: tuple[Question, ...]


def read_set(folder: Path, questions: Path | None = None) -> QuestionSet:
    """
    Return the set of a folder.

    Args:
        folder: Its name is the set's name.
        questions: A file of questions that may lie anywhere; None takes `QUESTIONS` of the folder.

    Raises:
        QuestionSetInvalid: A file is missing or wrong.
    """
    documents = read_documents(folder)
    path = questions or folder / QUESTIONS
    return QuestionSet(folder.name, documents, read_questions(path, documents))


def read_documents(folder: Path) -> dict[str, Document]:
    """
    Return the documents of a folder by id.

    Raises:
        QuestionSetInvalid: A file is missing or wrong.
    """
    documents: dict[str, Document] = {}
    names: dict[tuple[str, str], str] = {}
    for place, row in rows_of(folder / DOCUMENTS):
        doc_id = text_of(place, row, "doc_id", is_needed=True)
        if doc_id in documents:
            raise QuestionSetInvalid(place, "doc_id", f"{doc_id!r} stands there twice")
        kind = text_of(place, row, "format", is_needed=True)
        if kind not in FORMATS:
            raise QuestionSetInvalid(
                place, "format", f"{kind!r} is not one of {', '.join(FORMATS)}"
            )
        version = text_of(place, row, "version")
        source = text_of(place, row, "source", is_needed=bool(version))
        twin = names.setdefault((source, version), doc_id) if version else doc_id
        if twin != doc_id:
            raise QuestionSetInvalid(place, "version", f"{version!r} of {source!r} is {twin!r} too")
        path = folder / TEXTS / f"{doc_id}.txt"
        text = read_text(path)
        digest = hashlib.sha256(text.encode()).hexdigest()
        if row.get("sha256", digest) != digest:
            raise QuestionSetInvalid(place, "sha256", f"is not that of {path}")
        documents[doc_id] = Document(
            doc_id=doc_id,
            title=text_of(place, row, "title"),
            lang=text_of(place, row, "lang", is_needed=True),
            doc_format=kind,
            source=source,
            version=version,
            text=text,
            path=path,
        )
    if not documents:
        raise QuestionSetInvalid(str(folder / DOCUMENTS), "", "has no document")
    return documents


def read_questions(path: Path, documents: Mapping[str, Document]) -> tuple[Question, ...]:
    """
    Return the questions of a file, every evidence text compared with its document.

    Raises:
        QuestionSetInvalid: The file is missing or wrong.
    """
    questions: dict[str, Question] = {}
    for place, row in rows_of(path):
        question_id = text_of(place, row, "id", is_needed=True)
        if question_id in questions:
            raise QuestionSetInvalid(place, "id", f"{question_id!r} stands there twice")
        scope = row.get("scope_doc_ids") or []
        if not isinstance(scope, list) or not all(isinstance(one, str) for one in scope):
            raise QuestionSetInvalid(place, "scope_doc_ids", "is not a list of texts")
        unknown = [one for one in scope if one not in documents]
        if unknown:
            raise QuestionSetInvalid(place, "scope_doc_ids", f"names no document: {unknown[0]!r}")
        questions[question_id] = Question(
            id=question_id,
            text=text_of(place, row, "question", is_needed=True),
            lang=text_of(place, row, "lang"),
            evidence=_evidence(place, row.get("evidence"), documents),
            scope_doc_ids=tuple(scope),
            version=text_of(place, row, "version"),
        )
    if not questions:
        raise QuestionSetInvalid(str(path), "", "has no question")
    return tuple(questions.values())


def _evidence(place: str, rows: Any, documents: Mapping[str, Document]) -> tuple[Evidence, ...]:
    if not isinstance(rows, list) or not rows:
        raise QuestionSetInvalid(place, "evidence", "is not a list with at least one entry")
    found = []
    for number, row in enumerate(rows):
        field = f"evidence[{number}]"
        if not isinstance(row, dict):
            raise QuestionSetInvalid(place, field, "is not an object")
        document = documents.get(row.get("doc_id", ""))
        if document is None:
            raise QuestionSetInvalid(
                place, f"{field}.doc_id", f"names no document: {row.get('doc_id')!r}"
            )
        span, text = _span(place, field, row, len(document.text)), row.get("text")
        if span.slice(document.text) != text:
            raise QuestionSetInvalid(
                place,
                f"{field}.text",
                f"is not what stands at [{span.start}, {span.end}) of {document.doc_id!r}: "
                f"{span.slice(document.text)[:SHOWN_CHARS]!r}",
            )
        found.append(Evidence(document.doc_id, span, span.slice(document.text)))
    return tuple(found)


def _span(place: str, field: str, row: Mapping[str, Any], chars: int) -> Span:
    start, end = row.get("start"), row.get("end")
    if type(start) is int and type(end) is int and 0 <= start < end <= chars:
        return Span(start, end)
    raise QuestionSetInvalid(
        place,
        f"{field}.start",
        f"and end must be 0 <= start < end <= {chars}, got {start!r} and {end!r}",
    )
