"""
Making keys, and the file of callers that they are added to.
"""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from assembler.errors import InvalidRequest
from cli.commands import app
from server.callers import CallersInvalid, key_sha256, parse_callers

LONG = "an-old-key-of-more-than-32-characters"


def test_a_new_key_is_shown_once_and_kept_as_its_hash() -> None:
    shown = CliRunner().invoke(app, ["keys", "new", "--name", "chat", "--tenant", "acme"])

    key, _, entry = shown.output.partition("\n")
    assert shown.exit_code == 0
    assert len(key) == len("ctxa_") + 43
    assert json.loads(entry) == {
        "name": "chat",
        "key_sha256": key_sha256(key),
        "tenants": ["acme"],
        "may_set_principals": False,
    }


def test_two_keys_differ() -> None:
    asked = ["keys", "new", "--name", "chat", "--tenant", "*"]

    assert CliRunner().invoke(app, asked).output != CliRunner().invoke(app, asked).output


def test_entries_are_added_to_a_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    path = tmp_path / "callers.json"
    run = CliRunner().invoke

    first = run(app, ["keys", "new", "--name", "a", "--tenant", "", "--file", str(path)])
    second = run(
        app,
        [
            *("keys", "hash", "--name", "b", "--tenant", "x", "--tenant", "y"),
            *("--may-set-principals", "--file", str(path)),
        ],
        input=LONG + "\n",
    )

    callers = parse_callers(path, path.read_bytes()).by_key
    assert callers[key_sha256(first.output.strip())].tenants == {""}
    assert callers[key_sha256(LONG)].tenants == {"x", "y"}
    assert callers[key_sha256(LONG)].may_set_principals
    assert second.output == ""
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_key_that_could_be_guessed_is_not_hashed() -> None:
    for short in ("secret", "x" * 31, "several words that are long enough"):
        run = CliRunner().invoke(app, ["keys", "hash", "--name", "a", "--tenant", "x"], input=short)
        assert isinstance(run.exception, InvalidRequest)
        assert short not in str(run.exception)


def test_a_key_names_what_it_reads() -> None:
    run = CliRunner().invoke(app, ["keys", "new", "--name", "a"])

    assert isinstance(run.exception, InvalidRequest)
    assert "tenant" in str(run.exception)


def test_a_file_is_left_alone_when_the_entry_cannot_be_added(tmp_path: Path) -> None:
    path = tmp_path / "callers.json"
    asked = ["keys", "hash", "--name", "a", "--tenant", "x", "--file", str(path)]
    CliRunner().invoke(app, asked, input=LONG)
    before = path.read_bytes()

    twice = CliRunner().invoke(app, asked, input=LONG)

    assert isinstance(twice.exception, CallersInvalid)
    assert path.read_bytes() == before


def test_a_key_that_cannot_be_stored_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "callers.json"
    path.write_text("no JSON")
    asked = ["keys", "new", "--name", "a", "--tenant", "x", "--file"]

    broken = CliRunner().invoke(app, [*asked, str(path)])
    no_folder = CliRunner().invoke(app, [*asked, str(tmp_path / "nowhere" / "callers.json")])
    no_file = CliRunner().invoke(app, [*asked, "/proc/callers.json"])

    assert isinstance(broken.exception, CallersInvalid)
    assert isinstance(no_folder.exception, InvalidRequest)
    assert no_folder.exception.field == "file"
    assert f"{tmp_path / 'nowhere'} is no folder" in str(no_folder.exception)
    assert isinstance(no_file.exception, InvalidRequest)
    assert "/proc takes no file" in str(no_file.exception)
    assert broken.output == no_folder.output == no_file.output == ""


def test_a_caller_without_a_name_is_refused_by_its_option() -> None:
    for name in ("", "x" * 101):
        run = CliRunner().invoke(app, ["keys", "new", "--name", name, "--tenant", "x"])
        assert isinstance(run.exception, InvalidRequest)
        assert run.exception.field == "name"
        assert run.output == ""
