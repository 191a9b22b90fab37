"""
What a service says at its start about settings that have no effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs
from typer.main import get_command

from cli.commands import app
from server.settings import Settings
from server.start_warnings import settings_without_server, unknown_variables, warn_of


def warnings_of(settings: Settings, environment: Mapping[str, str]) -> list[dict[str, Any]]:
    with capture_logs() as logs:
        warn_of(settings, environment, structlog.get_logger())
    assert {one.pop("log_level") for one in logs} <= {"warning"}
    return [dict(one) for one in logs]


def variables_of(command: Any) -> Iterator[str]:
    """
    Return the variables that a command and those below it read.
    """
    for parameter in command.params:
        if isinstance(parameter.envvar, str):
            yield parameter.envvar
    for below in getattr(command, "commands", {}).values():
        yield from variables_of(below)


def test_a_misspelt_setting_is_told_with_the_closest() -> None:
    told = warnings_of(
        Settings(), {"CONTEXT_ASSEMBLER_MAX_INFLITE": "3", "context_assembler_xyz": ""}
    )

    event = "a variable names no setting, and has no effect"
    assert told == [
        {
            "event": event,
            "variable": "CONTEXT_ASSEMBLER_MAX_INFLITE",
            "hint": "did you mean CONTEXT_ASSEMBLER_MAX_INFLIGHT?",
        },
        {
            "event": event,
            "variable": "context_assembler_xyz",
            "hint": "`serve --help` lists all settings",
        },
    ]


def test_every_setting_in_either_case_is_known() -> None:
    names = [f"CONTEXT_ASSEMBLER_{name}" for name in Settings.model_fields]

    assert unknown_variables({one: "" for name in names for one in (name.upper(), name)}) == []
    assert unknown_variables({"PATH": "", "CONTEXT_ASSEMBLER": ""}) == []


def test_what_the_commands_read_is_known() -> None:
    read = set(variables_of(get_command(app)))

    assert "CONTEXT_ASSEMBLER_CLIENT_KEY" in read
    assert unknown_variables(dict.fromkeys(read, "x")) == []


def test_what_kubernetes_sets_for_a_service_is_known() -> None:
    address = "tcp://10.0.0.7:6334"
    prefix = "CONTEXT_ASSEMBLER_QDRANT"
    made = {
        f"{prefix}_PORT": address,
        f"{prefix}_PORT_6334_TCP": address,
        f"{prefix}_PORT_6334_TCP_PROTO": "tcp",
        f"{prefix}_PORT_6334_TCP_ADDR": "10.0.0.7",
        f"{prefix}_SERVICE_HOST": "10.0.0.7",
        f"{prefix}_SERVICE_PORT": "6334",
        f"{prefix}_SERVICE_PORT_GRPC": "6334",
        "CONTEXT_ASSEMBLER_SERVICE_HOST": "10.0.0.8",
    }

    assert unknown_variables(made) == []
    assert unknown_variables({f"{prefix}_PORT": "6334"}) == [f"{prefix}_PORT"]


def test_settings_of_a_server_that_nobody_names_are_told() -> None:
    settings = Settings(qdrant_api_key="key", qdrant_shards=3)

    assert warnings_of(settings, {}) == [
        {
            "event": "settings have no effect without qdrant_url",
            "settings": ["CONTEXT_ASSEMBLER_QDRANT_API_KEY", "CONTEXT_ASSEMBLER_QDRANT_SHARDS"],
        }
    ]
    assert settings_without_server(Settings(qdrant_url="http://h", qdrant_shards=3)) == []


@pytest.mark.parametrize(
    ("given", "is_told"),
    [
        ({"qdrant_url": "http://h", "qdrant_api_key": "key"}, True),
        ({"qdrant_url": "https://h", "qdrant_api_key": "key"}, False),
        ({"qdrant_url": "http://h"}, False),
        ({}, False),
    ],
)
def test_a_key_in_plaintext_is_told(given: dict[str, Any], *, is_told: bool) -> None:
    told = warnings_of(Settings(**given), {})

    assert any("sent in plaintext" in one["event"] for one in told) is is_told
    assert "key" not in [value for one in told for value in one.values()]
    assert len(told) == is_told
