from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from assembler.errors import InvalidRequest
from assembler.model import FieldType
from indexer.estimate import IndexPlan, plan_index
from indexer.index import run_index
from indexer.request import IndexRequest
from tests.unit.indexer.test_index import Indexed


@pytest.fixture
def docs(tmp_path: Path) -> Indexed:
    indexed = Indexed(tmp_path)
    indexed.write(a="# A\n\nTrains are paid.\n", b="# B\n\nFlights are not.\n")
    return indexed


def planned(docs: Indexed, **asked: Any) -> IndexPlan:
    request = IndexRequest(**{"index": "docs", "paths": (docs.folder,), **asked})
    ticks = itertools.count()
    return plan_index(
        request, docs.store, docs.embedder, lambda *_: None, clock=lambda: float(next(ticks))
    )


def test_a_new_index_is_planned_and_nothing_is_written(docs: Indexed) -> None:
    plan = planned(docs)

    assert (plan.index_version, plan.is_new_generation) == ("", False)
    assert (plan.added, plan.changed, plan.ended) == (("a.md", "b.md"), (), ())
    assert (plan.chunks, plan.embedded, plan.reembedded, plan.reused) == (2, 2, 0, 0)
    # "A", "#", "A", and "Trains are paid." of four, and two special tokens.
    assert plan.tokens == 2 * 9
    assert plan.seconds == 1.0
    assert docs.store.listings() == []


def test_a_plan_tells_added_changed_ended_and_unchanged_apart(docs: Indexed) -> None:
    first = docs.run()
    docs.write(b=None, c="# C\n\nNew.\n", a="# A\n\nTrains are paid in part.\n", d="# D\n\nOld.\n")
    plan = planned(docs)

    assert plan.index_version == first.index_version
    assert (plan.added, plan.changed, plan.ended) == (("c.md", "d.md"), ("a.md",), ("b.md",))
    assert (plan.unchanged, plan.embedded, plan.reembedded) == (0, 3, 1)
    done = docs.run()
    assert (done.written, done.embedded, done.reused) == (3, plan.embedded, plan.reused)

    nothing = planned(docs)
    assert (nothing.unchanged, nothing.chunks, nothing.tokens, nothing.seconds) == (3, 0, 0, 0.0)


def test_a_renamed_file_and_another_schema_embed_nothing(docs: Indexed) -> None:
    docs.run()
    (docs.folder / "a.md").rename(docs.folder / "z.md")
    plan = planned(docs)
    assert (plan.added, plan.ended, plan.embedded, plan.reused) == (("z.md",), ("a.md",), 0, 1)

    again = planned(docs, schema={"year": FieldType.INT64})
    assert again.is_new_generation
    assert (again.chunks, again.embedded) == (2, 0)


def test_an_equal_input_of_two_sources_is_embedded_once(docs: Indexed) -> None:
    docs.write(b="# A\n\nTrains are paid.\n")
    assert (planned(docs).chunks, planned(docs).embedded) == (2, 1)


def test_readers_and_unreadable_files_are_planned_too(docs: Indexed) -> None:
    docs.run()
    sources = docs.folder.parent / "sources.jsonl"
    sources.write_text('{"path": "a.md", "readers": ["ann"]}\n')
    docs.write(b=b"\xff\x00")
    plan = planned(docs, sources_file=sources)

    assert plan.readers == ("a.md",)
    assert [Path(one.path).name for one in plan.unreadable] == ["b.md"]
    assert (plan.ended, plan.chunks) == ((), 0)


def test_what_would_be_refused_is_refused(docs: Indexed) -> None:
    with pytest.raises(InvalidRequest, match="not in the index"):
        planned(docs, remove=("nope.md",))


def test_a_build_waits_for_its_publish(docs: Indexed) -> None:
    request = IndexRequest("docs", (docs.folder,))
    built = run_index(request, docs.store, docs.embedder, lambda *_: None, is_published=False)
    assert (built.is_built, built.is_published, built.written) == (True, False, 2)
    assert docs.store.listings() == []

    assert str(docs.store.publish_build("docs", "")) == built.index_version
    assert docs.states().keys() == {row for row in docs.states() if row[:2] in ("a.", "b.")}
    assert len(docs.states()) == 2
    again = run_index(request, docs.store, docs.embedder, lambda *_: None, is_published=False)
    assert (again.is_built, again.index_version) == (False, built.index_version)
