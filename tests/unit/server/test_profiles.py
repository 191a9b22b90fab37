"""
Profiles from a file: merged over the built-in ones, and refused with what to do.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assembler.profile import DEFAULT_PROFILE, LIMITS, PROFILES, WEIGHTS, Profile
from server.profiles import ProfilesInvalid, add_profile, as_table, read_profiles


def written(folder: Path, text: str) -> Path:
    path = folder / "profiles.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_file_there_are_the_built_in_ones() -> None:
    assert read_profiles(None) == PROFILES


def test_a_table_says_what_differs_and_whole_numbers_are_numbers(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "[german]\nbm25 = 1\ndense = 0\nsection_limit = 7\nrerank = true\n[default]\nprice = 0.5\n",
    )

    found = read_profiles(path)

    assert found["german"] == replace(
        DEFAULT_PROFILE, name="german", bm25=1.0, dense=0.0, section_limit=7, rerank=True
    )
    assert type(found["german"].bm25) is float
    assert found["default"] == replace(DEFAULT_PROFILE, price=0.5)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[mine]\nbm52 = 0.4\n", ["'mine'", "'bm52'", "there are: dense, bm25"]),
        ("[mine]\nname = 'other'\n", ["'name'", "there are"]),
        ("[mine]\nbm25 = '0.4'\n", ["bm25 must be a number", "'0.4'"]),
        ("[mine]\nbm25 = true\n", ["bm25 must be a number", "True"]),
        ("[mine]\nsection_limit = 1.5\n", ["section_limit must be a whole number"]),
        ("[mine]\nrerank = 1\n", ["rerank must be true or false"]),
        ("[mine]\nbm25 = -0.1\n", ["bm25 must be finite, at least 0", "correct it"]),
        ("[mine]\nprice = inf\n", ["price must be finite, at least 0"]),
        ("[mine]\nneighbour = nan\n", ["neighbour must be finite"]),
        ("[mine]\ndense = 0\nbm25 = 0\n", ["must not both be 0"]),
        ("[mine]\nrerank_weight = 1.5\n", ["rerank_weight must be 0 to 1"]),
        ("[mine]\nrerank_limit = 0\n", ["rerank_limit must be at least 1"]),
        (f"[mine]\nbm25 = {'9' * 400}\n", ["'mine'", "correct it"]),
        ("mine = 0.4\n", ["'mine'", "not a table", "[mine]"]),
        ("['My profile']\nbm25 = 0.4\n", ["'My profile'", "must be named"]),
        ("[mine\n", ["is not TOML"]),
    ],
)
def test_what_is_wrong_is_said_with_file_profile_and_key(
    tmp_path: Path, text: str, parts: list[str]
) -> None:
    path = written(tmp_path, text)

    with pytest.raises(ProfilesInvalid) as caught:
        read_profiles(path)

    for part in (str(path), *parts):
        assert part in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProfilesInvalid, match=r"nope\.toml: cannot be read"):
        read_profiles(tmp_path / "nope.toml")


AMOUNTS = st.floats(0.0, 1e6)


@given(
    weights=st.fixed_dictionaries(dict.fromkeys((*WEIGHTS, "price"), AMOUNTS)),
    limits=st.fixed_dictionaries({name: st.integers(1, 10**9) for name in LIMITS}),
    rerank=st.booleans(),
    rerank_weight=st.floats(0.0, 1.0),
)
def test_every_profile_that_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    weights: dict[str, float],
    limits: dict[str, int],
    rerank: bool,
    rerank_weight: float,
) -> None:
    if not weights["dense"] and not weights["bm25"]:
        weights["dense"] = 1.0
    profile = Profile("mine", **weights, **limits, rerank=rerank, rerank_weight=rerank_weight)

    path = written(tmp_path_factory.getbasetemp(), as_table(profile))

    assert read_profiles(path)["mine"] == profile


@given(name=st.sampled_from((*WEIGHTS, "price")), value=st.floats())
def test_a_weight_is_taken_exactly_when_it_is_finite_and_not_negative(
    name: str, value: float
) -> None:
    if math.isfinite(value) and value >= 0.0:
        assert getattr(Profile("mine", **{name: value}), name) == value
    else:
        with pytest.raises(ValueError, match=f"{name} must be"):
            Profile("mine", **{name: value})


def test_a_profile_is_added_behind_what_is_there_and_never_replaced(tmp_path: Path) -> None:
    path = written(tmp_path, "# our own\n[first]\nbm25 = 0.5")
    mine = replace(DEFAULT_PROFILE, name="mine", bm25=0.2, dense=0.8)

    add_profile(path, mine)
    add_profile(tmp_path / "new" / "profiles.toml", mine)

    assert path.read_text().startswith("# our own\n[first]\nbm25 = 0.5\n\n[mine]\n")
    assert set(read_profiles(path)) == {*PROFILES, "first", "mine"}
    assert read_profiles(tmp_path / "new" / "profiles.toml")["mine"] == mine
    with pytest.raises(ProfilesInvalid, match="is there already"):
        add_profile(path, mine)
    with pytest.raises(ProfilesInvalid, match="must be named"):
        add_profile(path, replace(mine, name="a b"))
