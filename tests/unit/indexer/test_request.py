"""
Names and languages that a run is asked for.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assembler.errors import InvalidRequest
from assembler.model import FieldType
from indexer.request import IndexRequest
from indexer.sources import find_sources

LONG = "x" * 1025


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("tenant", LONG),
        ("version", LONG),
        ("version", ""),
        ("source_set", LONG),
        ("source_set", ""),
        ("remove", ("a", LONG)),
        ("remove", ("",)),
        ("schema", {LONG: FieldType.BOOL}),
        ("language", ""),
        ("language", "klingonish"),
        ("language", "pt_BR"),
    ],
)
def test_what_no_request_could_name_is_refused(field: str, given: Any) -> None:
    with pytest.raises(InvalidRequest) as refused:
        IndexRequest("docs", **{field: given})

    assert refused.value.field == field


@pytest.mark.parametrize("language", ["de", "pt-BR", "Portuguese", "tlh"])
def test_tags_and_english_names_are_languages(language: str) -> None:
    assert IndexRequest("docs", language=language).language == language


def test_a_name_of_the_longest_length_is_taken() -> None:
    assert IndexRequest("docs", tenant=LONG[1:], version=LONG[1:]).tenant == LONG[1:]


def test_a_sources_file_names_languages_too(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("text")
    sources = tmp_path / "sources.jsonl"
    sources.write_text(json.dumps({"path": "a.md", "language": "klingonish"}))

    with pytest.raises(InvalidRequest, match=r"sources\.jsonl:1: language 'klingonish' is not"):
        find_sources([tmp_path], sources_file=sources)


def test_a_path_that_is_too_long_for_a_source_id_is_said(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["f" * 200] * 6)
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("text")

    found, skipped = find_sources([tmp_path])

    assert found == ()
    assert [one.reason for one in skipped] == [
        "has a path of over 1024 characters; name a source_id for it"
    ]
