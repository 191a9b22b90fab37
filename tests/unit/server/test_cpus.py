"""
CPUs: request before quota before affinity.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from server.cpus import usable_cpus

BOUND = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("requested", "quota", "expected"),
    [
        (None, "max 100000", BOUND),
        (None, "100000 100000", 1),
        (None, "50000 100000", 1),
        (None, "150000 100000", min(2, BOUND)),
        (None, "6400000 100000", min(64, BOUND)),
        (None, "no numbers", BOUND),
        (None, "100000 0", BOUND),
        (1, "max 100000", 1),
        (0, "max 100000", 1),
        (10_000, "100000 100000", BOUND),
    ],
)
def test_the_request_goes_before_the_quota_before_the_binding(
    tmp_path: Path, requested: int | None, quota: str, expected: int
) -> None:
    path = tmp_path / "cpu.max"
    path.write_text(quota + "\n", encoding="ascii")

    assert usable_cpus(requested, path) == expected


def test_without_control_groups_it_is_the_binding(tmp_path: Path) -> None:
    assert usable_cpus(None, tmp_path / "none") == BOUND
