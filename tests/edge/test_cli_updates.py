"""
`indexes` and its steps, in the test's own process: a start of Python for each would take longer.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from server.settings import Settings
from tests.edge.commands import Call, caller


@pytest.fixture
def call(
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Call:
    """
    Return a function that runs a command with an index folder of its own.
    """
    monkeypatch.setenv("CONTEXT_ASSEMBLER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CONTEXT_ASSEMBLER_MODEL_DIR", str(settings.model_dir))
    monkeypatch.setenv("COLUMNS", "200")
    return caller(monkeypatch, capsys)


def test_an_index_is_rolled_back_compared_collected_and_purged(call: Call, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# A\n\nRefunds are paid within a week.\n")
    (docs / "b.md").write_text("# B\n\nFines are never paid.\n")
    words = ("--index", "mine")
    first = json.loads(call("index", str(docs), *words, "--json").stdout)
    (docs / "a.md").write_text("# A\n\nRefunds are paid within a month.\n")
    (docs / "b.md").unlink()
    (docs / "c.md").write_text("# C\n\nTickets are kept for a year.\n")
    call("index", str(docs), *words)

    compared = json.loads(call("indexes", "diff", *words, "--json").stdout)
    shown = call("indexes", "diff", "1", "2", *words).stdout
    back = json.loads(call("indexes", "rollback", *words, "--json").stdout)
    twice = call("indexes", "rollback", "--from", "2", *words)
    (listed,) = json.loads(call("indexes", "list", "--json").stdout)
    wrong = call("indexes", "rollback", *words)
    call("index", str(docs), *words)
    kept = call("indexes", "gc", *words)
    (collected,) = json.loads(
        call("indexes", "gc", *words, "--keep", "1", "--retired-seconds", "0", "--json").stdout
    )
    purged = call("indexes", "purge", "a.md", *words)
    again = json.loads(call("index", str(docs), *words, "--json").stdout)
    lifted = call("indexes", "unpurge", "a.md", *words)
    unknown = call("indexes", "purge", "nope.md", *words)

    changes = {one["source_id"]: one["change"] for one in compared["changes"]}
    assert changes == {"a.md": "CHANGED", "b.md": "ENDED", "c.md": "ADDED"}
    assert "3 of the sources differ between revisions 1 and 2" in shown
    assert back["index_version"] == listed["index_version"] == first["index_version"]
    assert f"index version {listed['index_version']}, was {listed['index_version']}" in twice.stdout
    assert listed["sources"] == 2
    assert wrong.returncode == 1
    assert "kept before it: none" in wrong.stderr
    assert "kept 1, 3" in kept.stdout
    assert (collected["kept"], collected["revisions"], collected["points"]) == ([3], 1, 4)
    assert "2 points" in purged.stdout
    assert again["is_published"] is False
    assert "purged" in again["unreadable"][0]["reason"]
    assert "may be indexed again" in lifted.stdout
    assert (unknown.returncode, "nope.md" in unknown.stderr) == (1, True)


def test_an_index_is_planned_built_verified_and_published(call: Call, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# A\n\nRefunds are paid within a week.\n")
    words = ("--index", "mine")

    planned = json.loads(call("indexes", "plan", str(docs), *words, "--json").stdout)
    shown = call("indexes", "plan", str(docs), *words).stdout
    empty = call("indexes", "list", "--json")
    built = json.loads(call("indexes", "build", str(docs), *words, "--json").stdout)
    still = call("indexes", "list", "--json")
    checked = json.loads(call("indexes", "verify", "--build", *words, "--json").stdout)
    published = json.loads(call("indexes", "publish", *words, "--json").stdout)
    again = call("indexes", "publish", *words)
    head = call("indexes", "verify", *words)
    unchanged = call("indexes", "build", str(docs), *words)

    assert (planned["added"], planned["embedded"], planned["reused"]) == (["a.md"], 1, 0)
    assert 0 < planned["tokens"] < 40
    assert "added    1: a.md" in shown
    assert "1 chunks to write, 1 to embed (0 of sources that are there)" in shown
    assert json.loads(empty.stdout) == json.loads(still.stdout) == []
    assert (built["is_built"], built["is_published"]) == (True, False)
    assert (checked["sources"], checked["chunks"], checked["problems"]) == (1, 1, [])
    assert checked["index_version"] == published["index_version"] == built["index_version"]
    assert again.returncode == 1
    assert "no build that waits" in again.stderr
    assert "0 problems; of 1 chunks 1 found by vector, 1 by text" in head.stdout
    assert f"nothing changed; index version {published['index_version']}" in unchanged.stdout


def test_files_are_shown_as_they_would_be_cut(call: Call, tmp_path: Path) -> None:
    text = "# Fees\n\nFees are due in May.\n\n# Fines\n\n" + "Fines are paid in cash. " * 40
    (tmp_path / "a.md").write_text(text)
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.4 broken")

    shown = call("cut", str(tmp_path / "a.md"), str(tmp_path / "b.pdf"))
    told = call(
        "cut", str(tmp_path / "a.md"), "--strategy", "fixed", "--setting", "size=64", "--json"
    )
    wrong = call("cut", str(tmp_path / "a.md"), "--strategy", "slices")

    assert (shown.returncode, "b.pdf" in shown.stderr) == (0, True)
    assert "a.md: 2 sections" in shown.stdout
    assert "structure: heading" in shown.stdout
    assert "size: sentence" in shown.stdout
    (one,) = json.loads(told.stdout)
    assert "".join(chunk["text"] for chunk in one["chunks"]) == text
    assert max(chunk["tokens"] for chunk in one["chunks"]) == 64
    assert (wrong.returncode, "strategy" in wrong.stderr) == (1, True)
    assert not (tmp_path / "data").exists()
