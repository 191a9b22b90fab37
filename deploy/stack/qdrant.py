"""
The stack's Qdrant: the test server, which speaks Qdrant's protocol before the real engine.
"""

from __future__ import annotations

import contextlib

from tests.qdrant_server.cable import Cable
from tests.qdrant_server.process import ServerProcess


class Qdrant:
    """
    A server in a process of its own, behind a cable that can be cut.
    """

    def __init__(self) -> None:
        with contextlib.ExitStack() as parts:
            server = parts.enter_context(ServerProcess())
            self._cable = parts.enter_context(Cable(server.port))
            self._parts = parts.pop_all()

    @property
    def url(self) -> str:
        """
        Return where replicas reach it.
        """
        return f"http://127.0.0.1:{self._cable.port}"

    def cut(self) -> None:
        """
        Close every connection and refuse new ones.
        """
        self._cable.unplug()

    def mend(self) -> None:
        """
        Take connections again.
        """
        self._cable.plug()

    def end(self) -> None:
        """
        End it, with all that it holds.
        """
        self._parts.close()
