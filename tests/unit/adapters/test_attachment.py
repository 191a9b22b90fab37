"""
Attached collections as files say them, and payloads as mappings read them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from adapters.attached_points import read_point
from adapters.attachment import (
    AttachedInvalid,
    Attachment,
    PayloadMapping,
    add_attached,
    mapping_of,
    read_attached,
)
from adapters.payload_values import PayloadDamaged
from assembler.span import Span
from tests import payloads_of_makers
from tests.attached import Piece, langchain_payload, llamaindex_payload

LANGCHAIN = mapping_of("langchain")
LLAMAINDEX = mapping_of("llamaindex")
WHOLE = "[docs]\ncollection = 'c'\nmodel = 'm'\ndimension = 3\n[docs.mapping]\ntext = 't'\n"
ONE = Attachment(collection="c", mapping=LANGCHAIN, model="m", dimension=3)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "attached.toml"
    other = Attachment(
        collection='with "quotes" and \\ and ü',
        mapping=LLAMAINDEX,
        model="m",
        model_sha256="ab",
        dimension=5,
        vector="text-dense",
        profile="mine",
    )

    add_attached(path, "docs", ONE)
    add_attached(path, "other", other)
    add_attached(path, "docs", other)

    assert read_attached(path) == {"docs": other, "other": other}
    assert read_attached(None) == {}


def test_another_mapping_is_another_version() -> None:
    changed = Attachment(collection="c", mapping=LLAMAINDEX, model="m", dimension=3)

    assert ONE.version == Attachment(**{n: getattr(ONE, n) for n in ONE.__slots__}).version
    assert ONE.version != changed.version
    assert ONE.identity.sha256 == "attached:m"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[", "is not TOML"),
        ("docs = 3", r"docs: is not a table; write \[docs\]"),
        ("[Docs]", "no name of an index"),
        ("[docs]\nnope = 3", "'nope' is not a key; there are: collection"),
        ("[docs]\n[docs.mapping]\nnope = 3", "'nope' is not a key; there are: content"),
        ("[docs]\nmapping = 3", "collection: Field required"),
        ("[docs]\ncollection = 'c'\nmodel = 'm'\ndimension = 3", "mapping: Field required"),
        (WHOLE, "mapping.source: Field required"),
        (f"{WHOLE}source = 's'\nend = 'e'", "end has no use without start"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_wrong(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "attached.toml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(AttachedInvalid, match=says):
        read_attached(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(AttachedInvalid, match=r"nope\.toml: cannot be read: No such file"):
        read_attached(tmp_path / "nope.toml")


@pytest.mark.parametrize(
    ("paths", "says"),
    [
        ({"ordinal": "n", "start": "s"}, "ordinal has no use beside start"),
        ({"section": "s"}, "section has no use without start or ordinal"),
        ({"source": "json.source", "json_keys": ("json",)}, "lies in a text that holds JSON"),
        ({"tenant": 'a"b'}, "should match pattern"),
        ({"tenant": "a..b"}, "should match pattern"),
    ],
)
def test_a_mapping_that_cannot_be_read_by_is_refused(paths: dict[str, str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        PayloadMapping(**{"text": "t", "source": "s", **paths})


def test_presets_are_known_by_name_and_changed_by_path() -> None:
    assert mapping_of("langchain", tenant="metadata.tenant").tenant == "metadata.tenant"
    assert mapping_of(None, text="t", source="s").paths == {"text": "t", "source": "s"}
    with pytest.raises(ValueError, match="there are: langchain, llamaindex"):
        mapping_of("nope")


@pytest.mark.parametrize(
    ("mapping", "payloads"),
    [(LANGCHAIN, payloads_of_makers.LANGCHAIN), (LLAMAINDEX, payloads_of_makers.LLAMAINDEX)],
    ids=["langchain", "llamaindex"],
)
def test_what_a_library_wrote_is_read_where_it_stands_in_the_text(
    mapping: PayloadMapping, payloads: Sequence[dict[str, Any]]
) -> None:
    points = [read_point(mapping, "k", payload) for payload in payloads]

    assert {point.source_id for point in points} == {"refunds.md"}
    assert len({point.content for point in points}) == 1
    spans = [point.span for point in points]
    assert [payloads_of_makers.TEXT[span.start : span.end] for span in spans if span] == [
        point.text for point in points
    ]


def test_what_a_library_wrote_without_a_source_is_damaged_or_called_none() -> None:
    with pytest.raises(PayloadDamaged, match=r"metadata\.source"):
        read_point(LANGCHAIN, "k", payloads_of_makers.LANGCHAIN_BARE)

    whole = read_point(LLAMAINDEX, "k", payloads_of_makers.LLAMAINDEX_WHOLE)
    named = read_point(
        mapping_of("llamaindex", source="file_name"), "k", payloads_of_makers.LLAMAINDEX_WHOLE
    )

    assert (whole.source_id, whole.text, whole.span) == ("None", "Whole document.", None)
    assert named.source_id == "b.md"


def test_the_payloads_of_other_tests_have_the_form_of_what_libraries_wrote() -> None:
    piece = Piece(0, "Goods can be returned within 30 days.")
    written = payloads_of_makers.LLAMAINDEX[0]
    made = llamaindex_payload(piece, "refunds.md", "71273f26-4732-4826-8400-682ff25d74ce")

    assert keys_of(langchain_payload(piece, "a.md")) == keys_of(payloads_of_makers.LANGCHAIN[0])
    assert keys_of(made) == keys_of(written)
    mine, theirs = (json.loads(one["_node_content"]) for one in (made, written))
    theirs["relationships"].pop("3")  # the next node
    mine["relationships"]["1"]["hash"] = theirs["relationships"]["1"]["hash"]
    assert mine == theirs


def keys_of(payload: dict[str, Any]) -> dict[str, Any]:
    return {key: set(value) if isinstance(value, dict) else None for key, value in payload.items()}


def test_an_end_that_is_not_where_the_text_ends_is_not_believed() -> None:
    payload = payloads_of_makers.LLAMAINDEX[0]
    node = json.loads(payload["_node_content"])
    wrong = {**payload, "_node_content": json.dumps({**node, "end_char_idx": 36})}

    assert read_point(LLAMAINDEX, "k", payload).span == Span(0, 37)
    assert read_point(LLAMAINDEX, "k", wrong).span is None


@pytest.mark.parametrize("content", ["{", "[" * 100_000, "3", None, '{"text": "\\ud800"}'])
def test_a_text_that_holds_no_json_is_damaged(content: object) -> None:
    with pytest.raises(PayloadDamaged):
        read_point(LLAMAINDEX, "k", {"_node_content": content, "doc_id": "doc"})


def test_labels_are_texts_or_numbers() -> None:
    mapping = PayloadMapping("t", "s", version="v")
    labels = [
        read_point(mapping, "k", {"t": "text", "s": "source", "v": label}).version
        for label in ("v1", 3, True, 1.5, None, ["x"], "\ud800")
    ]

    assert labels == ["v1", "3", "", "", "", "", ""]
