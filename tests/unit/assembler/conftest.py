"""
An index of two documents, which many tests of the core ask.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.small_index import EXPENSES, SCHEMA, TRAVEL, SmallIndex


@pytest.fixture
def small(tmp_path: Path) -> SmallIndex:
    folder = tmp_path / "docs"
    folder.mkdir()
    index = SmallIndex(folder)
    index.write(travel__md=TRAVEL, expenses__md=EXPENSES)
    index.index(
        {"path": "travel.md", "metadata": {"team": "office", "year": 2026, "page": 3}},
        {"path": "expenses.md", "metadata": {"team": "finance", "year": 2025}},
        schema=SCHEMA,
    )
    return index
