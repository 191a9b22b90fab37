"""
The test server in a process of its own, which can be stopped, killed and started again.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Self

from tests.qdrant_server.server import MEMORY

ROOT = Path(__file__).parents[2]


class ServerProcess:
    """
    A running server in another process. Its collections outlive its death, and go with this object.
    """

    def __init__(self, *arguments: str) -> None:
        """
        Choose how it is started; see `python -m tests.qdrant_server --help`.
        """
        self._folder = tempfile.mkdtemp(prefix="qdrant-", dir=MEMORY)
        self._arguments = ("--folder", self._folder, *arguments)
        self._process: subprocess.Popen[str] | None = None
        self.port = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self.resume()
            assert self._process.stdin
            self._process.stdin.close()
            self._process.wait(timeout=30)
            assert self._process.stdout
            self._process.stdout.close()
        shutil.rmtree(self._folder)

    def start(self) -> None:
        """
        Start it, on the port that it had before.
        """
        command = [sys.executable, "-m", "tests.qdrant_server", "--port", str(self.port)]
        self._process = subprocess.Popen(
            [*command, *self._arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.port = self._answer()

    def tell(self, *what: Any) -> Any:
        """
        Call a method, or `set` an attribute, and return what came of it.
        """
        assert self._process
        assert self._process.stdin
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def kill(self) -> None:
        """
        End it as a crash would.
        """
        assert self._process
        self._process.kill()
        self._process.wait(timeout=30)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe
            pipe.close()
        self._process = None

    def pause(self) -> None:
        """
        Let it hang: connections stay, nothing is answered.
        """
        assert self._process
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """
        Let it go on.
        """
        assert self._process
        self._process.send_signal(signal.SIGCONT)

    def _answer(self) -> Any:
        assert self._process
        assert self._process.stdout
        return json.loads(self._process.stdout.readline())
