"""
What is odd about the configuration and no error: told once, at the start.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from server.qdrant_settings import QdrantSettings
from server.setting_rules import PREFIX
from server.settings import Settings

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

CLIENT_PREFIX = f"{PREFIX}CLIENT_"
"""What the variables of the commands that call a service begin with; they are no settings."""

_KUBERNETES = re.compile(r".*_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)")
_KUBERNETES_PORT = re.compile(r"(tcp|udp|sctp)://")


def warn_of(
    settings: Settings, environment: Mapping[str, str], logger: FilteringBoundLogger
) -> None:
    """
    Log the settings that have no effect, and the key that is sent in plaintext.

    Args:
        settings: The configuration.
        environment: The variables that it was read from.
        logger: Where each oddity is one line.
    """
    for name in unknown_variables(environment):
        closest = get_close_matches(_setting(name), Settings.model_fields, n=1)
        known = [f"did you mean {PREFIX}{one.upper()}?" for one in closest]
        remedy = next(iter(known), "`serve --help` lists all settings")
        logger.warning("a variable names no setting, and has no effect", variable=name, hint=remedy)
    if idle := settings_without_server(settings):
        logger.warning("settings have no effect without qdrant_url", settings=idle)
    if settings.qdrant_api_key and urlsplit(settings.qdrant_url or "").scheme == "http":
        logger.warning(
            "qdrant_api_key is sent in plaintext: "
            "qdrant_url should be https, unless nobody else reads that network"
        )


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """
    Return the variables with the prefix of settings that are none.

    What the client commands read, and what Kubernetes sets for a Service named
    `context-assembler…`, is left out.
    """
    return sorted(
        name
        for name, value in environment.items()
        if name.upper().startswith(PREFIX)
        and _setting(name) not in Settings.model_fields
        and not name.upper().startswith(CLIENT_PREFIX)
        and not _KUBERNETES.fullmatch(name)
        and not (name.endswith("_PORT") and _KUBERNETES_PORT.match(value))
    )


def _setting(variable: str) -> str:
    return variable.upper().removeprefix(PREFIX).lower()


def settings_without_server(settings: Settings) -> list[str]:
    """
    Return the variables about a Qdrant server that are given where none is named.
    """
    if settings.qdrant_url is not None:
        return []
    given = settings.model_fields_set & QdrantSettings.model_fields.keys()
    return sorted(f"{PREFIX}{name}".upper() for name in given if name != "qdrant_url")
