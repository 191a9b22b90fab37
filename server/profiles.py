"""
Profiles as data: a TOML file of them, merged over the built-in ones, and tables to add to it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from assembler.profile import DEFAULT_PROFILE, PROFILES, Profile

KINDS = {
    one.name: type(getattr(DEFAULT_PROFILE, one.name))
    for one in fields(Profile)
    if one.name != "name"
}
"""What each key of a table has to be."""

TITLES = {float: "a number", int: "a whole number", bool: "true or false"}
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


class ProfilesInvalid(Exception):
    """
    A file of profiles is not what it has to be; names file, profile and key, and the remedy.
    """

    def __init__(self, path: Path, profile: str, problem: str) -> None:
        where = f"profile {profile!r}: " if profile else ""
        super().__init__(f"{path}: {where}{problem}")


def read_profiles(path: Path | None) -> Mapping[str, Profile]:
    """
    Return the built-in profiles and those of a file, which take the place of equal names.

    What a table leaves out is as in the built-in profile of its name, or else in the default one.

    Raises:
        ProfilesInvalid: The file cannot be read, or a table is not a profile.
    """
    if path is None:
        return PROFILES
    try:
        tables = tomllib.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise ProfilesInvalid(path, "", f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ProfilesInvalid(path, "", f"is not TOML: {error}") from error
    return {**PROFILES, **{name: _profile(path, name, one) for name, one in tables.items()}}


def add_profile(path: Path, profile: Profile) -> None:
    """
    Add a profile to a file of profiles, which is made where it is missing.

    Raises:
        ProfilesInvalid: The file is wrong, or has a profile of this name already.
    """
    check_addition(path, profile.name)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    joint = "\n" if before.endswith("\n") else "\n\n" if before else ""
    path.parent.mkdir(parents=True, exist_ok=True)
    written = path.with_name(f"{path.name}.new")
    written.write_text(before + joint + as_table(profile), encoding="utf-8")
    written.replace(path)


def check_addition(path: Path, name: str) -> None:
    """
    Check that a profile of this name can be added to a file, before work is spent on it.

    Raises:
        ProfilesInvalid: The file is wrong, or has a profile of this name already.
    """
    _check_name(path, name)
    if path.exists():
        read_profiles(path)
        if name in tomllib.loads(path.read_text(encoding="utf-8")):
            raise ProfilesInvalid(path, name, "is there already; choose another name")


def as_table(profile: Profile) -> str:
    """
    Return every number of a profile as a TOML table.
    """
    lines = [f"{key} = {str(getattr(profile, key)).lower()}" for key in KINDS]
    return "\n".join([f"[{profile.name}]", *lines]) + "\n"


def _check_name(path: Path, name: str) -> None:
    if not NAME.fullmatch(name):
        raise ProfilesInvalid(path, name, f"must be named as {NAME.pattern} says")


def _profile(path: Path, name: str, table: Any) -> Profile:
    if not isinstance(table, Mapping):
        raise ProfilesInvalid(
            path, name, f"is {table!r}, not a table; write [{name}] on a line of its own above"
        )
    _check_name(path, name)
    given: dict[str, Any] = {}
    for key, value in table.items():
        kind = KINDS.get(key)
        if kind is None:
            raise ProfilesInvalid(
                path, name, f"{key!r} is not a key of a profile; there are: {', '.join(KINDS)}"
            )
        is_number = kind is float and type(value) is int
        if type(value) is not kind and not is_number:
            raise ProfilesInvalid(path, name, f"{key} must be {TITLES[kind]}, got {value!r}")
        given[key] = value
    try:
        numbers = {key: KINDS[key](value) for key, value in given.items()}
        return replace(PROFILES.get(name, DEFAULT_PROFILE), name=name, **numbers)
    except (ValueError, OverflowError) as error:
        raise ProfilesInvalid(path, name, f"{error}; correct it or leave it out") from error
