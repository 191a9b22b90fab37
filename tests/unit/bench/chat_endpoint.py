"""
A chat endpoint that is told what to reply.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Endpoint:
    """
    A chat endpoint that is told what to reply.

    Attributes:
        say: From the body to a status and either a text or a whole answer.
        asked: The bodies and headers that came.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[dict[str, Any], Mapping[str, str]]] = []
        self.say: Callable[[dict[str, Any]], tuple[int, Any]] = lambda _: (200, "yes")
        self._lock = threading.Lock()
        place = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with place._lock:
                    place.asked.append((body, {**self.headers, "path": self.path}))
                    status, said = place.say(body)
                if isinstance(said, str):
                    usage = {"prompt_tokens": 10, "completion_tokens": 2}
                    said = {"choices": [{"message": {"content": said}}], "usage": usage}
                sent = json.dumps(said).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *values: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
