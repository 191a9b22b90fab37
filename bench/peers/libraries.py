"""
Load the peers' libraries, which are optional, and keep them quiet and offline.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Iterable
from typing import Any

GROUP = "peers"

SWITCHES = {
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
}
"""The libraries read them when they are imported."""


class PeerMissing(Exception):
    """
    A library that a peer needs is not installed.
    """

    def __init__(self, module: str, reason: str) -> None:
        super().__init__(
            f"the peers need {module} ({reason}); "
            f"install the dependency group {GROUP}: pip install --group {GROUP}"
        )
        self.module = module


def require(modules: Iterable[str]) -> None:
    """
    Look whether modules are installed, without importing them.

    Raises:
        PeerMissing: One is not.
    """
    for module in modules:
        try:
            is_there = importlib.util.find_spec(module) is not None
        except ModuleNotFoundError:  # of the package around it
            is_there = False
        if not is_there:
            raise PeerMissing(module, "not installed")


def library(module: str) -> Any:
    """
    Return a module of an optional library.

    Raises:
        PeerMissing: It cannot be imported.
    """
    os.environ.update(SWITCHES)
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise PeerMissing(module, str(error)) from error
