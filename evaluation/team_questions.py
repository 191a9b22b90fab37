"""
A team's own questions about its own index: evidence by text or by range, found in what is stored.

Each line is ``{"question": …, "evidence": [{"source_id": …, "version": …, "text": …}]}``; ``start``
and ``end`` may stand in place of the text, and the version may be left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from assembler.errors import SourceUnknown, VersionGone, VersionUnknown
from assembler.model import SourceState
from assembler.ports import ChunkIndex, IndexCatalog
from assembler.resolve import is_readable, read_scope
from assembler.scope import Scope, VersionPolicy
from assembler.source_text import SourceRequest, read_source
from assembler.span import Span
from evaluation.json_lines import QuestionSetInvalid, rows_of, text_of
from evaluation.question_set import SHOWN_CHARS, Evidence, Question

QUESTION_FIELDS = ("question", "evidence")
EVIDENCE_FIELDS = ("source_id", "version", "text", "start", "end")


class TextMissing(Exception):
    """
    A source has no text that a scope reads, or several; names the field that decides.
    """

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(problem)
        self.field = field


class Texts(Protocol):
    """
    Where evidence is looked for.
    """

    async def text(self, source_id: str, version: str | None) -> tuple[str, str]:
        """
        Return the version and the text of a source; None takes the one version that there is.

        Raises:
            TextMissing: There is none, or several.
        """
        ...


class GivenTexts:
    """
    Texts at hand, by source id and version.
    """

    def __init__(self, texts: Mapping[tuple[str, str], str]) -> None:
        self._texts = texts

    async def text(self, source_id: str, version: str | None) -> tuple[str, str]:
        """
        Return the version and the text of a source.

        Raises:
            TextMissing: There is none, or several.
        """
        there = [name for name in self._texts if name[0] == source_id]
        found = [name for name in there if version in (None, name[1])]
        if not there:
            raise TextMissing("source_id", "is not among the documents")
        if not found:
            raise TextMissing("version", f"{version!r} is not among the documents")
        if len(found) > 1:
            names = ", ".join(repr(name[1]) for name in found)
            raise TextMissing("version", f"is missing; there are {names}; name one")
        return found[0][1], self._texts[found[0]]


class StoredTexts:
    """
    Reads source texts of an index as a scope allows, each once.
    """

    def __init__(
        self, catalog: IndexCatalog, chunk_index: ChunkIndex, index: str, scope: Scope
    ) -> None:
        self._catalog = catalog
        self._chunk_index = chunk_index
        self._index = index
        self._scope = scope
        self._texts: dict[tuple[str, str | None], tuple[str, str]] = {}

    async def text(self, source_id: str, version: str | None) -> tuple[str, str]:
        """
        Return the version and the text of a source.

        Args:
            source_id: The source.
            version: None takes the one version that the scope reads.

        Raises:
            TextMissing: There is none, or several.
        """
        key = (source_id, version)
        if key not in self._texts:
            self._texts[key] = await self._read(source_id, version)
        return self._texts[key]

    async def _read(self, source_id: str, version: str | None) -> tuple[str, str]:
        reads_all = self._scope.versions is VersionPolicy.ALL
        if version is None and reads_all:
            version = await self._only_version(source_id)
        asked = SourceRequest(self._index, self._scope, source_id, version, None, 0, None)
        try:
            source = await read_source(asked, self._catalog, self._chunk_index)
        except (SourceUnknown, VersionGone, VersionUnknown) as error:
            field = "source_id" if isinstance(error, SourceUnknown) else "version"
            raise TextMissing(field, f"cannot be read in this scope: {error}") from error
        if source.state is SourceState.ENDED:
            raise TextMissing(
                "version", f"has ended in version {source.row.version!r}; leave it out"
            )
        if source.state is SourceState.SUPERSEDED and not reads_all:
            raise TextMissing(
                "version",
                f"is superseded in version {source.row.version!r}; name another version, or ask of "
                "all versions",
            )
        return source.row.version, source.text

    async def _only_version(self, source_id: str) -> str | None:
        state = await self._catalog.resolve(self._index, self._scope.tenant)
        scope = read_scope(state, replace(self._scope, versions=VersionPolicy.ALL), "scope")
        rows = await self._catalog.rows(self._index, self._scope.tenant, source_id)
        revision = scope.version.revision
        there = [
            row.version
            for row in rows
            if row.from_rev <= revision < row.to_rev and is_readable(row, scope)
        ]
        if len(there) > 1:
            names = ", ".join(map(repr, there))
            raise TextMissing("version", f"is missing; there are {names}; name one")
        return there[0] if there else None


async def read_team_questions(
    path: Path, texts: Texts, limit: int | None = None
) -> tuple[Question, ...]:
    """
    Return the questions of a file, their evidence found in the stored texts.

    Args:
        path: The file; see the top of this module.
        texts: Where the evidence is looked for.
        limit: The first so many questions; None takes all.

    Raises:
        QuestionSetInvalid: A line is wrong, or its evidence does not stand in the index once.
        ContextAssemblerError: The index cannot be read.
    """
    questions: list[Question] = []
    for place, row in rows_of(path):
        if len(questions) == limit:
            break
        questions.append(await read_question(place, row, texts))
    if not questions:
        raise QuestionSetInvalid(str(path), "", "has no question")
    return tuple(questions)


async def read_question(place: str, row: Mapping[str, Any], texts: Texts) -> Question:
    """
    Return the question of a line.

    Args:
        place: File and line, for errors; the question's id.
        row: The line.
        texts: Where the evidence is looked for.

    Raises:
        QuestionSetInvalid: The line is wrong, or its evidence does not stand in the index once.
    """
    text = text_of(place, row, "question", is_needed=True)
    given = row.get("evidence")
    if not isinstance(given, list) or not given:
        raise QuestionSetInvalid(place, "evidence", "is not a list with at least one entry")
    found = [
        await _evidence(place, f"evidence[{number}]", one, texts)
        for number, one in enumerate(given)
    ]
    return Question(id=place, text=text, lang="", evidence=tuple(found))


def document_name(source_id: str, version: str) -> str:
    """
    Return the one name of a source version.
    """
    return json.dumps([source_id, version])


async def _evidence(place: str, field: str, row: Any, texts: Texts) -> Evidence:
    if not isinstance(row, dict):
        raise QuestionSetInvalid(place, field, "is not an object")
    inside = f"{field}."
    source_id = text_of(place, row, "source_id", is_needed=True, inside=inside)
    version_given = text_of(place, row, "version", inside=inside)
    asked = None if row.get("version") is None else version_given
    try:
        version, stored = await texts.text(source_id, asked)
    except TextMissing as error:
        at = f"{field}.{error.field}"
        raise QuestionSetInvalid(place, at, f"of {source_id!r} {error}") from error
    span = _span(place, field, row, source_id, stored)
    return Evidence(document_name(source_id, version), span, span.slice(stored))


def _span(place: str, field: str, row: Mapping[str, Any], source_id: str, stored: str) -> Span:
    text = text_of(place, row, "text", inside=f"{field}.")
    if "start" not in row and "end" not in row:
        if not text:
            raise QuestionSetInvalid(place, f"{field}.text", "is missing, and so are start and end")
        return _found(place, field, text, source_id, stored)
    start, end = row.get("start"), row.get("end")
    if not (type(start) is int and type(end) is int and 0 <= start < end <= len(stored)):
        raise QuestionSetInvalid(
            place,
            f"{field}.start",
            f"and end must be 0 <= start < end <= {len(stored)}, got {start!r} and {end!r}",
        )
    span = Span(start, end)
    if text and span.slice(stored) != text:
        raise QuestionSetInvalid(
            place,
            f"{field}.text",
            f"is not what stands at [{start}, {end}) of {source_id!r}: "
            f"{span.slice(stored)[:SHOWN_CHARS]!r}; correct one of them or leave it out",
        )
    return span


def _found(place: str, field: str, text: str, source_id: str, stored: str) -> Span:
    at = stored.find(text)
    if at < 0:
        raise QuestionSetInvalid(
            place,
            f"{field}.text",
            f"does not stand in {source_id!r} as it is stored: {text[:SHOWN_CHARS]!r}; copy it "
            "from what `context-assembler source` prints",
        )
    again = stored.find(text, at + 1)
    if again >= 0:
        raise QuestionSetInvalid(
            place,
            f"{field}.text",
            f"stands in {source_id!r} at {at} and at {again}; give more of it, or start and end",
        )
    return Span(at, at + len(text))
