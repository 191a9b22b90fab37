"""
`context-assembler serve`.
"""

from __future__ import annotations

import asyncio

from adapters.attachment import AttachedInvalid
from assembler.errors import ContextAssemblerError
from server.callers import CallersInvalid
from server.lifecycle import serve as run_server
from server.profiles import ProfilesInvalid
from server.setting_rules import SettingUnusable
from server.settings import Settings
from server.tls import TlsInvalid
from server.traces import TracesUnavailable

FAILURES = (
    AttachedInvalid,
    CallersInvalid,
    ContextAssemblerError,
    OSError,
    ProfilesInvalid,
    SettingUnusable,
    TlsInvalid,
    TracesUnavailable,
)
"""Why a service does not start, for a person to act on."""


def serve() -> None:
    """
    Serve until SIGTERM.
    """
    asyncio.run(run_server(Settings()))
