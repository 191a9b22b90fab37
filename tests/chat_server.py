"""
A small real HTTP server that speaks `/v1/chat/completions`, well or badly, as a test says.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Said:
    """
    One answer of the server, given as it stands.
    """

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    is_late: bool = False


def saying(text: object) -> Said:
    """
    Return an answer in the right form.
    """
    return Said(json.dumps({"choices": [{"message": {"content": text}}]}).encode())


class ChatServer:
    """
    Answers by a function of the request's body, and remembers what it was asked.
    """

    def __init__(self, answer: Callable[[dict[str, Any]], Said]) -> None:
        self.answer = answer
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.url = ""
        self.over = threading.Event()

    @property
    def prompts(self) -> list[str]:
        """
        Return what was asked, in the order of its coming.
        """
        return [one["messages"][1]["content"] for one in self.asked]


@contextmanager
def chat_server(answer: Callable[[dict[str, Any]], Said]) -> Iterator[ChatServer]:
    """
    Serve on a port of this machine until the test ends.
    """
    state = ChatServer(answer)
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with lock:
                state.asked.append(body)
                state.keys.append(self.headers["authorization"])
                said = state.answer(body)
            if self.path != "/v1/chat/completions":
                said = Said(b"no such path", 404)
            if said.is_late:
                state.over.wait()
                return
            self.send_response(said.status)
            for name, value in said.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(said.body)))
            self.end_headers()
            self.wfile.write(said.body)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
