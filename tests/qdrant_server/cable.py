"""
A network cable to a server, which can be cut, be dead without a sign, or lead nowhere.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Self

_BYTES = 65536


class Cable:
    """
    Forwards TCP connections to a port of this machine.

    Attributes:
        port: Where it is connected to.
        is_dead: Whether bytes vanish, in both directions, while connections stay.
    """

    def __init__(self, to: int) -> None:
        self._to = to
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._threads: list[threading.Thread] = []
        self._listener = self._listen(0)
        self.port: int = self._listener.getsockname()[1]
        self.is_dead = False

    def __enter__(self) -> Self:
        self._start(self._accept, self._listener)
        return self

    def __exit__(self, *_: object) -> None:
        self.unplug()
        for thread in self._threads:
            thread.join()

    def cut(self) -> None:
        """
        Close every connection; new ones are forwarded.
        """
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for end in pair:
                _close(end)

    def unplug(self) -> None:
        """
        Close every connection and refuse new ones.
        """
        _close(self._listener)
        self.cut()

    def plug(self) -> None:
        """
        Take new connections again.
        """
        self._listener = self._listen(self.port)
        self._start(self._accept, self._listener)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self._to))
            except OSError:
                _close(near)
                continue
            self._pairs.append((near, far))
            self._start(self._forward, near, far)
            self._start(self._forward, far, near)

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        is_lost = False
        with contextlib.suppress(OSError):
            while received := source.recv(_BYTES):
                # What was lost stays lost, and so does what would come after it.
                is_lost = is_lost or self.is_dead
                if not is_lost:
                    target.sendall(received)
        if not is_lost:
            _close(target)

    def _start(self, work: object, *sockets: socket.socket) -> None:
        thread = threading.Thread(target=work, args=sockets, daemon=True)  # type: ignore[arg-type]
        thread.start()
        self._threads.append(thread)

    def _listen(self, port: int) -> socket.socket:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen()
        return listener


def _close(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
