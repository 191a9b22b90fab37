"""
Whatever runs follow one another: ledger and points agree, and a source has one active version.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from assembler.errors import InvalidRequest
from indexer.index import run_index
from indexer.request import IndexRequest, Summary
from tests.fake_index import FakeIndex
from tests.fakes import FakeEmbedder

facts = st.fixed_dictionaries(
    {
        "source_id": st.sampled_from("xy"),
        "version": st.sampled_from("123"),
        "text": st.sampled_from(["# T\n\nOne one.\n", "# T\n\nTwo two.\n"]),
    },
    optional={
        "active": st.just(value=True),
        "readers": st.sampled_from([["p"], ["q"]]),
        "title": st.just("Another"),
    },
)
runs = st.fixed_dictionaries(
    {
        "files": st.lists(facts, max_size=3),
        "keep_versions": st.sampled_from([0, 1, 5]),
        "upsert": st.booleans(),
        "source_set": st.sampled_from(["default", "default", "other"]),
    },
    optional={"remove": st.sampled_from([("x",), ("y",)])},
)


def run(store: FakeIndex, files: list[dict[str, Any]], asked: dict[str, Any]) -> Summary:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "docs"
        folder.mkdir()
        lines = []
        for number, fact in enumerate(files):
            (folder / f"{number}.md").write_text(fact["text"])
            lines.append({"path": f"{number}.md"} | {k: v for k, v in fact.items() if k != "text"})
        sources = Path(name) / "sources.jsonl"
        sources.write_text("".join(json.dumps(line) + "\n" for line in lines))
        request = IndexRequest("docs", (folder,), sources_file=sources, **asked)
        return run_index(request, store, FakeEmbedder(), lambda *_: None)


def check(store: FakeIndex) -> None:
    ledger = store.listings("")[0].ledger
    rows = {(row.source_id, row.version, row.from_rev): row for row in ledger.rows}
    assert len(rows) == len(ledger.rows)
    chunks: Counter[tuple[str, str, int]] = Counter()
    for point in store._indexes["docs"].parts[""].history[ledger.revision].points:
        origin = point.provenance
        name = (origin.source_id, origin.version, origin.from_rev)
        row = rows[name]
        assert (origin.active_to_rev, origin.to_rev) == (row.active_to_rev, row.to_rev)
        assert origin.readers == row.readers
        chunks[name] += point.chunk is not None
    assert chunks == {name: row.chunks for name, row in rows.items()}
    live = [row for row in ledger.rows if ledger.revision < row.to_rev]
    assert len({(row.source_id, row.version) for row in live}) == len(live)
    active = Counter(row.source_id for row in live if ledger.revision < row.active_to_rev)
    assert active == dict.fromkeys((row.source_id for row in live), 1)


@settings(max_examples=300, deadline=None)
@given(st.lists(runs, min_size=1, max_size=5))
def test_ledger_and_points_agree_after_any_runs_and_a_refused_run_changes_nothing(
    wanted: list[dict[str, Any]],
) -> None:
    store = FakeIndex()
    for one in wanted:
        asked = {key: value for key, value in one.items() if key != "files"}
        before = store.listings("")
        try:
            run(store, one["files"], asked)
        except InvalidRequest:
            assert store.listings("") == before
            continue
        if store.listings(""):
            check(store)
        if "remove" not in asked:
            assert not run(store, one["files"], asked).is_published
