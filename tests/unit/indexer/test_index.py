from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from adapters.records import LedgerRow
from assembler.errors import InvalidRequest
from assembler.model import FOREVER, FieldType
from assembler.ports import Vector
from indexer.index import run_index
from indexer.request import IndexRequest, Summary
from tests.fake_index import FakeIndex
from tests.fakes import FakeEmbedder


class CountingEmbedder(FakeEmbedder):
    """
    Remembers what it was given.
    """

    def __init__(self) -> None:
        super().__init__()
        self.given: list[str] = []

    def embed_documents(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> list[Vector]:
        self.given += texts
        return super().embed_documents(texts, progress)


class Indexed:
    """
    A folder and the index made of it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "docs"
        self.folder.mkdir()
        self.store = FakeIndex()
        self.embedder = CountingEmbedder()

    def write(self, **files: str | bytes | None) -> None:
        for name, text in files.items():
            path = self.folder / f"{name}.md"
            if text is None:
                path.unlink()
            else:
                path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def run(self, *facts: dict[str, Any], **asked: Any) -> Summary:
        if facts:
            sources = self.folder.parent / "sources.jsonl"
            sources.write_text("".join(json.dumps(fact) + "\n" for fact in facts))
            asked["sources_file"] = sources
        request = {"index": "docs", "paths": (self.folder,), **asked}
        return run_index(IndexRequest(**request), self.store, self.embedder, lambda *_: None)

    @property
    def rows(self) -> list[LedgerRow]:
        (listing,) = self.store.listings("")
        return list(listing.ledger.rows)

    def states(self) -> dict[str, str]:
        """
        Return source@version and how it stands now.
        """
        found = {}
        for row in self.rows:
            readable = "kept" if row.active_to_rev < FOREVER else "active"
            state = "ended" if row.to_rev < FOREVER else readable
            found[f"{row.source_id}@{row.version}"] = state
        return found


@pytest.fixture
def docs(tmp_path: Path) -> Indexed:
    indexed = Indexed(tmp_path)
    indexed.write(a="# A\n\nTrains are paid.\n", b="# B\n\nFlights are not.\n")
    return indexed


def test_a_first_run_writes_everything(docs: Indexed) -> None:
    summary = docs.run()
    assert summary.is_published
    assert summary.index_version.endswith(".1")
    assert (summary.documents, summary.written, summary.unchanged) == (2, 2, 0)
    assert (summary.sections, summary.chunks, summary.embedded) == (2, 2, 2)
    assert docs.embedder.given == ["A\n# A\n\nTrains are paid.\n", "B\n# B\n\nFlights are not.\n"]


def test_no_change_publishes_nothing(docs: Indexed) -> None:
    first = docs.run()
    second = docs.run()
    assert not second.is_published
    assert (second.index_version, second.unchanged) == (first.index_version, 2)
    assert len(docs.embedder.given) == 2


def test_what_changed_is_embedded_and_what_is_gone_ends(docs: Indexed) -> None:
    docs.run(version="1")
    docs.embedder.given.clear()
    docs.write(a="# A\n\nTrains are paid in part.\n", b=None, c="# C\n\nNew.\n")
    summary = docs.run(version="2")
    assert (summary.written, summary.ended, summary.embedded) == (2, 2, 2)
    assert docs.states() == {
        "a.md@1": "ended",
        "b.md@1": "ended",
        "a.md@2": "active",
        "c.md@2": "active",
    }


def test_vectors_of_equal_input_are_reused(docs: Indexed) -> None:
    long = "".join(f"Sentence {number} says a little. " * 12 + "\n\n" for number in range(9))
    docs.write(a=long)
    docs.run()
    docs.embedder.given.clear()
    docs.write(a=long + "One more paragraph.\n")
    summary = docs.run()
    assert summary.reused > 0
    assert summary.embedded == len(docs.embedder.given) < summary.chunks


def test_a_changed_title_writes_again_and_embeds_nothing(docs: Indexed) -> None:
    docs.run()
    summary = docs.run({"path": "a.md", "title": "Travel"})
    assert (summary.written, summary.embedded, summary.reused, summary.unchanged) == (1, 0, 1, 1)


def test_changed_readers_alone_are_set_in_place(docs: Indexed) -> None:
    docs.run()
    summary = docs.run({"path": "a.md", "readers": ["group:hr"]})
    assert summary.is_published
    assert (summary.written, summary.embedded, summary.ended) == (0, 0, 0)
    assert {row.source_id: row.readers for row in docs.rows} == {
        "a.md": ("group:hr",),
        "b.md": None,
    }


def test_readers_are_required_once_a_source_has_some(docs: Indexed) -> None:
    docs.run()
    assert not docs.store.listings("")[0].ledger.readers_required
    summary = docs.run({"path": "a.md", "readers": []})
    assert docs.store.listings("")[0].ledger.readers_required
    (warning,) = summary.warnings
    assert warning == (
        "b.md: no readers are named, and readers are required: nobody sees what has none; name "
        "them, or run with --readers optional"
    )
    assert docs.run().warnings == []  # it was said when it began
    assert docs.store.listings("")[0].ledger.readers_required
    docs.write(c="# C\n\nNew.\n")
    (warning,) = docs.run().warnings
    assert warning.startswith("c.md: no readers")


def test_one_bad_file_stops_nothing_and_its_source_stays_as_it_was(docs: Indexed) -> None:
    docs.run(version="1")
    docs.write(a=b"\xff\x00broken", c="# C\n\nNew.\n")
    summary = docs.run(version="1")
    (bad,) = summary.unreadable
    assert "not utf-8" in bad.reason
    assert docs.states() == {"a.md@1": "active", "b.md@1": "active", "c.md@1": "active"}


def test_a_value_of_another_type_is_a_finding_of_its_source(docs: Indexed) -> None:
    facts = {"path": "a.md", "metadata": {"year": "soon", "page": 3}}
    summary = docs.run(facts, schema={"year": FieldType.INT64})
    assert [one.reason for one in summary.unreadable] == [
        "metadata 'year' is 'soon', the schema says int64"
    ]
    assert docs.states().keys() == {row for row in docs.states() if row.startswith("b.md")}


def test_upsert_leaves_the_others_and_remove_ends_one(docs: Indexed) -> None:
    docs.run(version="1")
    docs.write(a=None, b=None, c="# C\n\nNew.\n")
    docs.run(version="1", upsert=True)
    assert set(docs.states().values()) == {"active"}
    docs.run(paths=(), remove=("b.md",))
    assert docs.states() == {"a.md@1": "active", "b.md@1": "ended", "c.md@1": "active"}
    with pytest.raises(InvalidRequest, match=r"'b.md' is not in the index"):
        docs.run(paths=(), remove=("b.md",))


def test_another_set_and_another_tenant_are_not_touched(docs: Indexed) -> None:
    docs.run(version="1")
    docs.write(a=None, b=None, c="# C\n\nNew.\n")
    docs.run(version="1", source_set="more")
    docs.run(version="1", tenant="acme")
    assert docs.states() == {"a.md@1": "active", "b.md@1": "active", "c.md@1": "active"}
    with pytest.raises(InvalidRequest, match="belongs to set 'more'"):
        docs.run(version="1")


def test_an_emptied_folder_does_not_empty_the_index(docs: Indexed) -> None:
    docs.run()
    docs.write(a=None, b=None)
    with pytest.raises(InvalidRequest, match="hold no readable file"):
        docs.run()


def test_earlier_versions_stay_readable_as_many_as_are_kept(docs: Indexed) -> None:
    for number in ("1", "2", "3"):
        docs.write(a=f"# A\n\nVersion {number}.\n")
        docs.run(version=number, keep_versions=1)
    states = docs.states()
    assert [states[f"a.md@{n}"] for n in ("1", "2", "3")] == ["ended", "kept", "active"]


def test_the_marked_version_is_active_else_the_last_given(docs: Indexed) -> None:
    facts = [
        {"path": "a.md", "source_id": "rules", "version": "1"},
        {"path": "b.md", "source_id": "rules", "version": "2"},
    ]
    docs.run(*facts)
    assert docs.states() == {"rules@1": "kept", "rules@2": "active"}
    docs.run({**facts[0], "active": True}, facts[1])
    live = {row.version: row.active_to_rev == FOREVER for row in docs.rows if row.to_rev == FOREVER}
    assert live == {"1": True, "2": False}


def test_one_label_on_two_texts_names_both_files(docs: Indexed) -> None:
    facts = [{"path": f"{name}.md", "source_id": "rules", "version": "1"} for name in "ab"]
    with pytest.raises(InvalidRequest, match=r"a\.md and .*b\.md are both version '1'"):
        docs.run(*facts)
    assert not docs.store.listings("")


def test_another_schema_writes_everything_again_and_reuses_the_vectors(docs: Indexed) -> None:
    docs.run()
    summary = docs.run(schema={"year": FieldType.INT64})
    assert (summary.written, summary.embedded, summary.reused) == (2, 0, 2)
    docs.write(a=None)
    with pytest.raises(InvalidRequest, match="would be lost"):
        docs.run(schema={}, upsert=True)


def test_a_language_that_the_model_does_not_know_is_warned_of(docs: Indexed) -> None:
    class Foreign(CountingEmbedder):
        def count(self, text: str) -> int:
            return 3 * len(text.split()) + 2

    docs.embedder = Foreign()
    (warning,) = docs.run(language="de").warnings
    assert "2 documents have 3.0 tokens" in warning


def test_a_renamed_file_is_not_embedded_again(docs: Indexed) -> None:
    docs.run()
    (docs.folder / "a.md").rename(docs.folder / "z.md")
    summary = docs.run()
    assert (summary.written, summary.ended, summary.embedded, summary.reused) == (1, 1, 0, 1)


def test_a_purged_source_is_left_out_until_the_purge_is_lifted(docs: Indexed) -> None:
    docs.run(version="1")
    with docs.store.upkeep("docs", "") as upkeep:
        upkeep.purge("a.md", at=0.0)

    for _ in range(2):
        summary = docs.run(version="1")
        (left_out,) = summary.unreadable
        assert "'a.md' was purged at 1970-01-01T00:00:00+00:00" in left_out.reason
        assert "unpurge" in left_out.reason
        assert docs.states() == {"b.md@1": "active"}

    with docs.store.upkeep("docs", "") as upkeep:
        upkeep.lift_purge("a.md")
    assert docs.run(version="1").written == 1
    assert docs.states() == {"a.md@1": "active", "b.md@1": "active"}


@pytest.mark.parametrize("name", ['say "no"', ""])
def test_a_field_that_no_filter_could_name_is_refused(docs: Indexed, name: str) -> None:
    docs.write(a="# A\n\nText.\n")

    with pytest.raises(InvalidRequest, match="schema: a field name cannot be empty or hold"):
        docs.run(schema={name: FieldType.KEYWORD})
