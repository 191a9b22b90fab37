"""
Windows by arithmetic are the windows that one gets by walking over the tokens.
"""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from assembler.errors import InvalidRequest
from cli.commands import app
from indexer.windows import Windows

KNOWN = [
    # tokens, size, overlap, windows, occurrences
    (200_000, 512, 0, 391, 200_000),
    (200_000, 512, 64, 447, 228_544),
    (200_000, 512, 128, 521, 266_560),
    (200_000, 512, 256, 781, 399_680),
    (10_000, 512, 50, 22, 11_050),
    (0, 512, 50, 0, 0),
    (1, 512, 50, 1, 1),
    (512, 512, 511, 1, 512),
    (513, 512, 511, 2, 1024),
]


@st.composite
def windows(draw: st.DrawFn) -> Windows:
    size = draw(st.integers(1, 40))
    return Windows(draw(st.integers(0, 300)), size, draw(st.integers(0, size - 1)))


def walked(tokens: int, size: int, overlap: int) -> list[tuple[int, int]]:
    """
    Return the windows as a person lists them: on by what is not shared, until the end is reached.
    """
    found: list[tuple[int, int]] = []
    start = 0
    while tokens and (not found or found[-1][1] < tokens):
        found.append((start, min(start + size, tokens)))
        start += size - overlap
    return found


@pytest.mark.parametrize(("tokens", "size", "overlap", "count", "occurrences"), KNOWN)
def test_known_windows(tokens: int, size: int, overlap: int, count: int, occurrences: int) -> None:
    found = Windows(tokens, size, overlap)
    assert (found.count, found.occurrences) == (count, occurrences)


def test_both_ratios_of_a_known_case() -> None:
    found = Windows(200_000, 512, 64)
    assert round(found.duplication_ratio, 3) == 0.875
    assert round(found.multiplication, 4) == 1.1427
    assert (Windows(0, 8, 2).duplication_ratio, Windows(0, 8, 2).multiplication) == (1.0, 1.0)


@given(windows())
def test_the_arithmetic_is_the_list(one: Windows) -> None:
    listed = walked(one.tokens, one.size, one.overlap)
    assert list(one.ranges()) == listed
    assert one.count == len(listed)
    assert one.occurrences == sum(end - start for start, end in listed)


@given(windows())
def test_every_token_is_covered_and_neighbours_share_the_overlap(one: Windows) -> None:
    listed = list(one.ranges())
    assert {at for start, end in listed for at in range(start, end)} == set(range(one.tokens))
    assert all(before[1] - after[0] == one.overlap for before, after in itertools.pairwise(listed))


def test_bytes_by_number_format() -> None:
    assert Windows(1000, 100, 0).vector_bytes(386) == {
        "float32": 15_440,
        "float16": 7_720,
        "int8": 3_860,
        "binary": 490,
    }


@pytest.mark.parametrize(
    ("wrong", "field"),
    [((-1, 8, 0), "tokens"), ((9, 0, 0), "size"), ((9, 8, 8), "overlap"), ((9, 8, -1), "overlap")],
)
def test_what_cannot_be_windows_is_refused_by_name(wrong: tuple[int, int, int], field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        Windows(*wrong)
    assert refused.value.field == field


def test_a_vector_has_at_least_one_value() -> None:
    with pytest.raises(InvalidRequest, match="dimension"):
        Windows(9, 8).vector_bytes(0)


def test_the_command_prints_the_figures() -> None:
    words = ["windows", "--tokens", "200000", "--size", "512", "--overlap", "64"]
    found = CliRunner().invoke(app, [*words, "--dimension", "384", "--json"])
    assert json.loads(found.stdout) == {
        "windows": 447,
        "token_occurrences": 228_544,
        "duplication_ratio": 200_000 / 228_544,
        "multiplication": 228_544 / 200_000,
        "vector_bytes": {
            "float32": 686_592,
            "float16": 343_296,
            "int8": 171_648,
            "binary": 21_456,
        },
    }
    table = CliRunner().invoke(app, words).stdout
    assert "228,544" in table
    assert "0.8751" in table
