"""
`context-assembler model export` gives the exporter what it was given.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli import model


@pytest.mark.parametrize(
    ("words", "prefixes"),
    [
        ((), (None, None)),
        (("--prefix", "passage: ", "--query-prefix", "query: "), ("passage: ", "query: ")),
        (("--prefix", ""), ("", None)),
    ],
)
def test_prefixes_reach_the_exporter(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    words: tuple[str, ...],
    prefixes: tuple[str | None, str | None],
) -> None:
    asked: list[Any] = []

    def export_model(source: str | None, folder: Path, **more: str | None) -> None:
        asked.append((source, folder, more["prefix"], more["query_prefix"]))

    monkeypatch.setattr(model, "export_model", export_model)

    done = CliRunner().invoke(model.app, ["export", "e5", "--out", str(tmp_path), *words])

    assert done.exit_code == 0, done.output
    assert asked == [("e5", tmp_path, *prefixes)]
